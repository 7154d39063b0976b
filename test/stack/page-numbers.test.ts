import { readFileSync } from 'node:fs';
import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { defaultWorkload, monthOf, standing, sumOf, totalOf } from '../../cost/operations.ts';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { deploymentSettings } from '../../lib/settings/stages.ts';
import { pageNames } from '../support/doc-blocks.ts';
import { alarmsOf } from './alarms/alarm-evaluation.ts';
import { templateOf } from './stack-template.ts';
import { trusting } from './trusting.ts';

/** The text of a page, without code blocks and line breaks. */
const proseOf = (page: string) =>
  readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
    .replaceAll(/^ *```.*\n(?:.*\n)*?^ *```$/gm, '')
    .replaceAll(/\s+/g, ' ');

/** Those that a test generates have their numbers from the code. */
const generated = ['api', 'command-line', 'limits', 'settings'].map((name) => `docs/${name}.md`);
const prose = new Map(
  pageNames.filter((page) => !generated.includes(page)).map((page) => [page, proseOf(page)]),
);

const numberWords = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ');
const word = (count: number) => numberWords[count] ?? String(count);
const inThousands = (count: number) => count.toLocaleString('en');

const [dev, prod] = ['dev', 'prod'].map((stage) => templateOf(deploymentSettings(stage), stage)) as [
  Template,
  Template,
];
const full = templateOf({
  storeEvents: true,
  email: { from: 'quota@example.com' },
  ...trusting,
});

const propertiesOf = (template: Template, type: string) =>
  Object.values(template.findResources(type)).map(({ Properties }) => Properties);
const countOf = (template: Template, type: string) => propertiesOf(template, type).length;
const alarmsIn = (template: Template) => countOf(template, 'AWS::CloudWatch::Alarm');

/** Functions that can run without a request: what queues start, and the schedule. */
const inBackground = (template: Template): number =>
  propertiesOf(template, 'AWS::Lambda::EventSourceMapping').reduce(
    (sum, { ScalingConfig }) => sum + ScalingConfig.MaximumConcurrency,
    countOf(template, 'AWS::Scheduler::Schedule'),
  );

const [exportWorkers = 0] = Object.entries(prod.findResources('AWS::Lambda::EventSourceMapping')).flatMap(
  ([id, { Properties }]) =>
    id.startsWith('ExportWork') ? [Properties.ScalingConfig.MaximumConcurrency] : [],
);

const idleDollars = (monitoring: 'none' | 'basic' | 'full') => {
  const idle = { ...defaultWorkload, tenants: 0, pushes: 0, fetches: 0, monitoring };
  return `$${totalOf(sumOf(monthOf(idle, 's3'))).toFixed(2)}`;
};
/** Of metrics that are sent only while a deployment is used. */
const metricDollars = `$${(0.3 * (standing.metrics - standing.metricsWhileIdle)).toFixed(2)}`;

const [stage] = propertiesOf(prod, 'AWS::ApiGatewayV2::Stage');
const lfsRoute = Object.entries<{ ThrottlingRateLimit: number }>(stage?.['RouteSettings']).find(([key]) =>
  key.endsWith('/info/lfs/objects/batch'),
);

const [bucket] = propertiesOf(prod, 'AWS::S3::Bucket');
const rules: readonly Record<string, unknown>[] = bucket?.['LifecycleConfiguration'].Rules;
const daysOf = (prefix: string) => rules.find(({ Prefix }) => Prefix === prefix)?.['ExpirationInDays'];
const abortDays = rules.flatMap(({ AbortIncompleteMultipartUpload: abort }) =>
  abort === undefined ? [] : [(abort as { DaysAfterInitiation: number }).DaysAfterInitiation],
)[0];

const [canary] = propertiesOf(prod, 'AWS::CodeDeploy::DeploymentGroup');
const [, canaryPercent, canaryMinutes] =
  /LambdaCanary(\d+)Percent(\d+)Minutes/.exec(canary?.['DeploymentConfigName']) ?? [];

/** Sentences with a number of the template, as they must be. */
const facts: readonly (readonly [page: string, text: string])[] = [
  ['docs/deploy.md', `an HTTP API, ${countOf(prod, 'AWS::Lambda::Function')} Lambda functions, one table`],
  [
    'docs/deploy.md',
    `runs up to ${inBackground(dev)} functions at once in \`dev\`, and up to ${inBackground(prod)} in \`prod\``,
  ],
  ['docs/deploy.md', `${lfsRoute?.[1].ThrottlingRateLimit} of each LFS route by default`],
  ['docs/deploy.md', `gets ${canaryPercent}% of pushes and pulls for ${canaryMinutes} minutes first`],
  ['CHANGELOG.md', `after ${canaryPercent}% of pushes and pulls have tried it`],
  [
    'docs/deploy.md',
    `costs ${idleDollars('full')} with \`full\`: ${alarmsIn(prod)} alarms and a dashboard, queues and the schedule`,
  ],
  [
    'docs/deploy.md',
    `it's ${idleDollars('basic')}: ${word(alarmsIn(dev))} alarms, and no dashboard. With \`none\`, it's ${idleDollars('none')}. Up to ${metricDollars} of metrics`,
  ],
  [
    'docs/deploy.md',
    `abort multipart uploads after ${abortDays} days. lfs-quota removes its own files. For those of a crash, expire ` +
      `\`_exports/\` after ${daysOf('_exports/')} days (\`exports.keepDays\` and 2), \`_parts/\` after ${daysOf('_parts/')}, \`_gc/\` after ${daysOf('_gc/')}, and \`_usage/\` and \`_names/\` after ${daysOf('_usage/')}`,
  ],
  ['docs/security.md', `The bucket aborts multipart uploads after ${abortDays} days`],
  ['docs/security.md', `parts of an export that a killed worker left, ${daysOf('_exports/')} days`],
  ['docs/decisions.md', `${exportWorkers / 10}% of an account's 1,000 concurrent functions`],
];

/** Numbers next to a part of the stack that are none of the template's. */
const others: readonly (readonly [page: string, text: string, why: string])[] = [
  ['docs/deploy.md', '10 functions', "of AWS: a new account's limit"],
  ['docs/decisions.md', '507 although the bucket', 'an HTTP status'],
  ['docs/measured.md', '200 exports with functions', 'a measurement'],
  ['docs/security.md', '1.2 for the bucket', 'a version of TLS'],
];

const number = `\\$?\\d[\\d,.]*\\d|\\d|${numberWords.slice(2).join('|')}`;
const parts =
  'functions?|executions?|alarms?|dashboards?|queues?|topics?|roles?|permissions?|routes?|resources?|outputs?|secrets?|buckets?|indexes|metrics?|log groups?|integrations?|event sources?';
const claim = new RegExp(
  `(?<![\\w.,$-])(?:(?:${number})(?:-|(?: [^\\s.:;|]+){0,2}? )(?:${parts})\\b|(?:${number}) in \`(?:dev|prod)\`)`,
  'gi',
);
const claims = [...prose].flatMap(([page, text]) =>
  [...text.matchAll(claim)].map(([found]) => ({ page, found })),
);

describe('numbers of the pages', () => {
  it.each(facts)('%s: %s', (page, text) => {
    expect(prose.get(page)).toContain(text);
  });

  it('next to a part of the stack are all compared with the template', () => {
    const known = ({ page, found }: { page: string; found: string }) =>
      facts.some(([where, text]) => where === page && text.includes(found)) ||
      others.some(([where, text]) => where === page && text === found);
    expect(claims.length).toBeGreaterThan(5);
    expect(claims.filter((each) => !known(each))).toEqual([]);
  });

  it('that are not of the template are there', () => {
    const unused = others.filter(
      ([where, text]) => !claims.some(({ page, found }) => page === where && found === text),
    );
    expect(unused).toEqual([]);
  });

  it.each([
    ['It has 13 Lambda functions.', '13 Lambda functions'],
    ['The ten alarms of `basic`', 'ten alarms'],
    ['up to 16 in `prod`', '16 in `prod`'],
    ['It has 284 resources', '284 resources'],
  ])('are found: %s', (text, found) => {
    expect(text.match(claim)).toEqual([found]);
  });
});

it('docs/deploy.md says what the emulator lacks', () => {
  const deployment = readFileSync(new URL('../deployed/deployment.ts', import.meta.url), 'utf8');
  expect(deployment).toContain("const leftOut = { monitoring: 'basic', canary: false }");
  expect(prose.get('docs/deploy.md')).toContain(
    'without the canary, the dashboard and the alarms of `monitoring: full`',
  );
});

describe('the alarms of docs/runbook.md', () => {
  const alarms = alarmsOf(full);
  const alarmNamed = (name: string) => {
    const found = alarms.get(name);
    if (found === undefined) throw new Error(`There is no alarm ${name}.`);
    const minutes = found.Period / 60;
    const windowMinutes = minutes * found.EvaluationPeriods;
    return { ...found, minutes, windowMinutes, least: found.DatapointsToAlarm ?? found.EvaluationPeriods };
  };
  const hoursOf = (name: string) => alarmNamed(name).Threshold / 3_600;
  const counted = (name: string, what: string) => {
    const { Threshold, minutes } = alarmNamed(name);
    return `${inThousands(Threshold)} ${what} in ${minutes} minutes`;
  };
  const queueOf = (id: string) => {
    const [queue] = Object.entries(full.findResources('AWS::SQS::Queue')).filter(([each]) =>
      new RegExp(`^${id}[0-9A-F]{8}$`).test(each),
    );
    return queue?.[1]?.['Properties'];
  };
  const triesOf = (id: string): number => queueOf(id)?.RedrivePolicy.maxReceiveCount;

  const table = alarmNamed('TableReadThrottles');
  const background = alarmNamed('reconcileErrors');
  const failed = alarmNamed('ReconcilesFailed');
  const slow = alarmNamed('BatchSlow');
  const ageHours = alarmNamed('ReconcileAgeHigh').Threshold / 3_600_000;
  const eventTries = triesOf('StoreEventsQueue');
  const eventHours = Math.floor((eventTries * queueOf('StoreEventsQueue')?.VisibilityTimeout) / 3_600);

  /** The row's first name → what its second column says. */
  const means: Readonly<Record<string, string>> = {
    ApiErrors: counted('ApiErrors', 'responses with 5xx'),
    ClientErrors: counted('ClientErrors', 'responses with 4xx'),
    RequestFlood: counted('RequestFlood', 'requests'),
    'Table…Throttles':
      `${table.Threshold} reads or writes in ${table.minutes} minutes, ` +
      `${table.least === 2 ? 'twice' : table.least} in ${table.windowMinutes}`,
    '…Errors': `${word(background.least)} times in ${word(background.windowMinutes / 60)} hours`,
    DeadLetters: `failed ${triesOf('ReconcileQueue')} times`,
    ExportDeadLetters: `failed ${triesOf('ExportWorkQueue')} times`,
    StoreEventsDeadLetters: `in ${eventTries} tries, for ${word(eventHours)} hours`,
    // SQS leaves out of a queue's age what was received more than three times.
    ReconcilesLate: `waited for ${hoursOf('ReconcilesLate') === 1 ? 'an hour' : hoursOf('ReconcilesLate')}. Messages that failed three times don't count`,
    '…QueueLate': `Exports: ${hoursOf('ExportQueueLate')} hours`,
    ReconcilesFailed: `in ${failed.least} of the ${failed.EvaluationPeriods} ${word(failed.minutes)}-minute periods of an hour`,
    Drift: `found ${alarmNamed('Drift').Threshold / 1024 ** 3} GiB more`,
    ReconcileAgeHigh: `was ${ageHours} h old when it was updated, or an idle tenant ${ageHours - defaultSettings.maxAgeMs / 3_600_000} h overdue`,
    BatchSlow: `${100 - Number(slow.Statistic.slice(1))}% of LFS batches took ${slow.Threshold / 1000} s or more, for ${slow.windowMinutes} minutes`,
  };

  const page = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');
  const rows = new Map(
    [...page.matchAll(/^\| \*\*(.+?)\*\* \| (?:page|ticket) \| (.+?) \|/gm)].map(
      ([, names = '', text = '']) => [names.split(', ')[0] ?? '', text],
    ),
  );
  const numbersIn = (text: string): readonly string[] =>
    text
      .replaceAll(/\b[45](?:xx|\d\d)\b/g, '')
      .match(new RegExp(`(?<![\\w.,])(?:${number}|twice)(?!\\w)`, 'gi')) ?? [];

  it.each(Object.entries(means))('%s: %s', (name, text) => {
    expect(rows.get(name)).toContain(text);
  });

  it('have no other number', () => {
    const unknown = [...rows].flatMap(([name, text]) =>
      numbersIn(text)
        .filter((each) => !numbersIn(means[name] ?? '').includes(each))
        .map((each) => `${name}: ${each}`),
    );
    expect(unknown).toEqual([]);
  });

  it('exportArchive and assembleUpload give up after as many', () => {
    expect(triesOf('ChunkWorkQueue')).toBe(triesOf('ExportWorkQueue'));
    expect(alarmNamed('ClientErrors').EvaluationPeriods).toBe(1);
  });

  it('reconcileErrors fires as often as its sentence says', () => {
    expect(page.replaceAll(/\s+/g, ' ')).toContain(
      `the alarm *reconcileErrors* fires instead, after ${word(background.least)} crashes`,
    );
  });
});
