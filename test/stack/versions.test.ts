import { describe, expect, it } from 'vitest';
import { deployed } from './deployed-stack.ts';
import { templateOf } from './stack-template.ts';
import { fixtures } from './stage-fixtures.ts';

interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: the properties of any type of resource.
  readonly Properties: Readonly<Record<string, any>>;
  readonly UpdatePolicy?: object;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

const resourcesOf = (settings: Parameters<typeof templateOf>[0]): [string, Resource][] =>
  Object.entries(templateOf(settings).toJSON()['Resources']);
const ofType = (resources: readonly [string, Resource][], type: string) =>
  resources.filter(([, { Type }]) => Type === type);

/** The logical ids that a value refers to. */
function* referredBy(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, argument] of Object.entries(value)) {
    if (name === 'Ref') yield String(argument);
    else if (name === 'Fn::GetAtt') yield String(argument[0]);
    else if (name === 'Fn::Sub') {
      for (const [, id = ''] of String(argument).matchAll(/\$\{(\w+)/g)) yield id;
    } else yield* referredBy(argument);
  }
}

const place = { partition: 'aws', region: 'eu-central-1', urlSuffix: 'amazonaws.com' };

describe.each(fixtures.map(({ name, settings }) => [name, settings] as const))('%s', (_name, settings) => {
  const resources = () => resourcesOf(settings);

  it('has of each function one published version, and the alias live of it', () => {
    const functions = ofType(resources(), 'AWS::Lambda::Function').map(([id]) => id);
    expect(functions.length).toBeGreaterThan(10);
    const versions = ofType(resources(), 'AWS::Lambda::Version');
    const aliases = ofType(resources(), 'AWS::Lambda::Alias');
    const functionOf = new Map(versions.map(([id, { Properties }]) => [id, Properties['FunctionName'].Ref]));
    expect([...functionOf.values()].sort()).toEqual([...functions].sort());
    expect(aliases.map(([, { Properties }]) => Properties['FunctionName'].Ref).sort()).toEqual(
      functions.sort(),
    );
    for (const [, { Properties }] of aliases) {
      const [version, attribute] = Properties['FunctionVersion']['Fn::GetAtt'];
      expect([Properties['Name'], attribute]).toEqual(['live', 'Version']);
      expect(functionOf.get(version)).toBe(Properties['FunctionName'].Ref);
    }
  });

  it('keeps earlier versions, so that an alias can go back, but none that a failed deployment published', () => {
    for (const [, version] of ofType(resources(), 'AWS::Lambda::Version'))
      expect(version).toMatchObject({
        DeletionPolicy: 'RetainExceptOnCreate',
        UpdateReplacePolicy: 'Retain',
      });
  });

  it('invokes each function, by its alias alone', () => {
    const isOf = (type: string) => new Set(ofType(resources(), type).map(([id]) => id));
    const [functions, aliases] = [isOf('AWS::Lambda::Function'), isOf('AWS::Lambda::Alias')];
    // What counts all runs of a function, and CodeDeploy, which moves aliases of it.
    const ofAllVersions = ['Version', 'Alias'].map((each) => `AWS::Lambda::${each}`);
    ofAllVersions.push('AWS::CloudWatch::Alarm', 'AWS::CloudWatch::Dashboard');
    // It names the alias beside the function.
    ofAllVersions.push('AWS::Lambda::EventInvokeConfig');
    const referring = resources().filter(([, { Type }]) => !ofAllVersions.includes(Type));
    const bare = referring.filter(([, resource]) =>
      [...referredBy(resource)].some((id) => functions.has(id)),
    );
    expect(bare.map(([id]) => id.replace(/[0-9A-F]{8}$/, ''))).toEqual(
      settings.canary === false || settings.monitoring === 'none' ? [] : ['CanaryRole'],
    );
    const invoked = referring.flatMap(([, resource]) => [...referredBy(resource)]);
    expect(new Set(invoked.filter((id) => aliases.has(id)))).toEqual(aliases);
    expect(JSON.stringify(resources())).not.toContain('$LATEST');
  });

  it('has no integration, permission, event source or schedule of anything but an alias', () => {
    const targets: Readonly<Record<string, (properties: Resource['Properties']) => unknown>> = {
      'AWS::ApiGatewayV2::Integration': ({ IntegrationUri }) => IntegrationUri,
      'AWS::Lambda::EventSourceMapping': ({ FunctionName }) => FunctionName,
      'AWS::Lambda::Permission': ({ FunctionName }) => FunctionName,
      'AWS::Scheduler::Schedule': ({ Target }) => Target.Arn,
    };
    const stack = deployed(templateOf(settings).toJSON(), 'lfs-quota-test', place);
    const found = stack.resources.flatMap(({ type, properties }) => {
      const target = targets[type]?.(properties);
      return target === undefined ? [] : [[type, String(target)] as const];
    });
    expect(new Set(found.map(([type]) => type))).toEqual(new Set(Object.keys(targets)));
    for (const [type, target] of found)
      expect(target, type).toMatch(
        /^(arn:aws:lambda:eu-central-1:111122223333:function:)?[A-Za-z0-9-]{1,64}:live$/,
      );
  });
});

describe('a version', () => {
  const versionsOf = (settings: Parameters<typeof templateOf>[0]) =>
    ofType(resourcesOf(settings), 'AWS::Lambda::Version').map(([id]) => id);

  it('is a new one if a variable, the memory or the code changes, and only then', () => {
    const before = versionsOf({});
    const changedBy = (settings: Parameters<typeof templateOf>[0]) =>
      versionsOf(settings).filter((id) => !before.includes(id));
    expect(changedBy({ logLevel: 'DEBUG' })).toHaveLength(before.length);
    expect(changedBy({ memoryMb: { lfsBatch: 2_048 } })).toEqual([
      expect.stringMatching(/^FunctionslfsBatchFunctionCurrentVersion/),
    ]);
    expect(changedBy({ reservedConcurrency: { lfsBatch: 50 } })).toEqual([]);
  });
});

describe('a canary', () => {
  const canary = resourcesOf({});

  it('gives a new version of lfsBatch and lfsVerify a tenth of requests for five minutes, until an alarm', () => {
    const groups = ofType(canary, 'AWS::CodeDeploy::DeploymentGroup');
    expect(groups).toHaveLength(2);
    for (const [id, { Properties }] of groups) {
      const [, name] = /^Canary(lfsBatch|lfsVerify)/.exec(id) ?? [];
      // The same of both: if an alarm stopped one alone, the rollback would find the other in progress.
      const alarm = (its: string) => ({ Name: { Ref: expect.stringMatching(`^Alarms${its}[0-9A-F]{8}$`) } });
      expect(Properties).toMatchObject({
        DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent5Minutes',
        AlarmConfiguration: {
          Enabled: true,
          Alarms: ['ApiErrors', 'lfsBatchErrors', 'lfsVerifyErrors'].map(alarm),
        },
        AutoRollbackConfiguration: {
          Enabled: true,
          Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM'],
        },
      });
      const [, alias] = canary.find(([each]) => each.startsWith(`Functions${name}FunctionAliaslive`)) ?? [];
      expect(alias?.UpdatePolicy).toMatchObject({
        CodeDeployLambdaAliasUpdate: { DeploymentGroupName: { Ref: id } },
      });
    }
    const others = ofType(canary, 'AWS::Lambda::Alias').filter(([, { UpdatePolicy }]) => UpdatePolicy);
    expect(others).toHaveLength(2);
  });

  it('looks at the responses of the API alone if functions have no alarms', () => {
    const groups = ofType(resourcesOf({ monitoring: 'basic' }), 'AWS::CodeDeploy::DeploymentGroup');
    expect(groups).toHaveLength(2);
    for (const [, { Properties }] of groups)
      expect(Properties['AlarmConfiguration'].Alarms).toEqual([
        { Name: { Ref: expect.stringMatching(/^AlarmsApiErrors/) } },
      ]);
  });

  it.each([{ canary: false }, { monitoring: 'none' as const }])('is left out with %o', (settings) => {
    const without = resourcesOf(settings);
    expect(without.filter(([id]) => id.startsWith('Canary'))).toEqual([]);
    expect(without.filter(([, { UpdatePolicy }]) => UpdatePolicy)).toEqual([]);
  });
});
