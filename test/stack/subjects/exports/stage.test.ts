import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { functionNamesOf } from '../../../../lib/functions/functions.ts';
import { workersOf } from '../../../../lib/settings/concurrency.ts';
import type { DeploymentSettingsInput } from '../../../../lib/settings/deployment-settings.ts';
import { parseDeploymentSettings } from '../../../../lib/settings/stages.ts';
import { grantsOf } from '../../grants-of.ts';
import { arnOf, givesUpTo, templateOf } from '../../stack-template.ts';

const newAccount = { accountConcurrency: 10 };
const usual = functionNamesOf(parseDeploymentSettings('dev', {}));

function functionsOf(template: Template) {
  const found = Object.entries(template.findResources('AWS::Lambda::Function'));
  return new Map(
    found.map(([id, resource]) => [
      /^Functions(\w+?)Function[0-9A-F]{8}$/.exec(id)?.[1] ?? id,
      resource['Properties'],
    ]),
  );
}

describe('the queue of exports', () => {
  it('brings a step that was killed back a minute after the longest run, for more than two hours', () => {
    const [consumer] = Object.entries(templateOf().findResources('AWS::Lambda::Function')).filter(([id]) =>
      id.startsWith('FunctionsexportArchiveFunction'),
    );
    expect(consumer?.[1]['Properties'].Timeout).toBe(300);
    templateOf().hasResourceProperties('AWS::SQS::Queue', {
      FifoQueue: Match.absent(),
      VisibilityTimeout: 360,
      RedrivePolicy: givesUpTo('ExportWorkDeadLetterQueue'),
    });
  });

  it.each([2, 8, 1_000])('delivers one step to a run, to %i at a time', (workers) => {
    templateOf({ exports: { workers }, accountConcurrency: 10_000 }).hasResourceProperties(
      'AWS::Lambda::EventSourceMapping',
      {
        BatchSize: 1,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ScalingConfig: { MaximumConcurrency: workers },
        EventSourceArn: arnOf('ExportWorkQueue'),
      },
    );
  });

  it('is there only if the stage makes exports', () => {
    const without = templateOf({ exports: { workers: 0 } });
    expect(
      Object.keys(without.toJSON()['Resources']).filter((id) => /^(?!ApiHttpApi).*export/i.test(id)),
    ).toEqual([]);
  });
});

it('an export takes two functions of a new account, and forty of a usual one', () => {
  const exportsOf = (settings: DeploymentSettingsInput) =>
    workersOf(parseDeploymentSettings('test', settings)).exports;
  expect([newAccount, { accountConcurrency: 500 }, {}].map(exportsOf)).toEqual([2, 20, 40]);
  // More than the usual number makes nothing faster unasked.
  expect(exportsOf({ accountConcurrency: 10_000 })).toBe(40);
  expect(exportsOf({ ...newAccount, exports: { workers: 0 } })).toBeUndefined();
});

it('tells the functions how many workers make exports', () => {
  const told = (settings: DeploymentSettingsInput) =>
    new Set(
      Object.values(templateOf(settings).findResources('AWS::Lambda::Function')).flatMap(
        ({ Properties }) => Properties.Environment.Variables.LFS_QUOTA_EXPORT_WORKERS ?? [],
      ),
    );
  expect(told({})).toEqual(new Set(['40']));
  expect(told(newAccount)).toEqual(new Set(['2']));
});

describe('the functions', () => {
  it('include exportArchive unless the stage makes no exports', () => {
    const without = functionsOf(templateOf({ exports: { workers: 0 } }));
    expect([...without.keys()].sort()).toEqual(usual.filter((name) => name !== 'exportArchive').sort());
    const variables = [...without.values()].flatMap((built) => Object.keys(built.Environment.Variables));
    expect(variables.filter((variable) => variable.startsWith('LFS_QUOTA_EXPORT_'))).toEqual([]);
  });

  it('make exports as the stage says', () => {
    const built = functionsOf(templateOf({ exports: { workers: 20, perTenant: 9, keepDays: 2 } }));
    for (const name of ['management', 'exportArchive'])
      expect(built.get(name)?.Environment.Variables).toMatchObject({
        LFS_QUOTA_EXPORT_QUEUE_URL: { Ref: expect.stringMatching(/^ExportWorkQueue/) },
        LFS_QUOTA_EXPORT_STORE: 's3',
        LFS_QUOTA_EXPORT_WORKERS: '20',
        LFS_QUOTA_EXPORT_PER_TENANT: '9',
        LFS_QUOTA_EXPORT_KEEP_DAYS: '2',
      });
  });
});

describe('the grants', () => {
  it('without exports leave out exportArchive, and all that is about archives but the index of unfinished ones', () => {
    const without = grantsOf(templateOf({ exports: { workers: 0 } }));
    expect(without.has('exportArchive')).toBe(false);
    expect([...without.values()].flat().filter((line) => /_exports|ExportWork/.test(line))).toEqual([]);
  });
});
