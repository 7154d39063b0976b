import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { afterAll, describe, expect, it } from 'vitest';
import { buildApp } from '../../lib/app.ts';
import { parseStageSettings, StageSettingsError, stageSettings } from '../../lib/settings/stages.ts';
import { deployed } from './deployed-stack.ts';
import { templateOf, testContext } from './stack-template.ts';

const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-stages-'));
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const appWith = (context: Record<string, string>) =>
  buildApp({ outdir: join(folder, 'cdk.out'), context: { ...testContext(), ...context } });

describe('the app', () => {
  it.each(['dev', 'prod'])('synthesises stage %s without a finding of cdk-nag', (stage) => {
    const assembly = appWith({ stage }).synth();
    expect(assembly.stacks.map((stack) => stack.stackName)).toEqual([`lfs-quota-${stage}`]);
  });

  it('synthesises a stage with store events without a finding', () => {
    const settings = file('events.json', JSON.stringify({ storeEvents: true }));
    expect(appWith({ stage: 'trial', settings }).synth().stacks).toHaveLength(1);
  });

  it('has each feature flag that the CDK recommends, because a flag that is set later changes resources', () => {
    const require = createRequire(import.meta.url);
    const recommended = require('aws-cdk-lib/recommended-feature-flags.json');
    expect(testContext()).toMatchObject(recommended);
  });

  it('tags the stack, so that CloudFormation tags each resource with the stage', () => {
    const [stack] = appWith({ stage: 'dev' }).synth().stacks;
    expect(stack?.tags).toEqual({ 'lfs-quota-stage': 'dev' });
  });

  it('fails the synth on a finding that is not acknowledged', () => {
    const app = appWith({ stage: 'dev' });
    const stack = app.node.findChild('lfs-quota-dev');
    new Bucket(stack, 'OpenBucket');
    expect(() => app.synth()).toThrow(/AwsSolutions-S10/);
  });

  it('protects a stack from deletion if it keeps data', () => {
    const [dev, prod] = ['dev', 'prod'].map((stage) => appWith({ stage }).synth().stacks[0]);
    expect(dev?.terminationProtection).toBeFalsy();
    expect(prod?.terminationProtection).toBe(true);
  });

  it('leaves three of the ten functions that a new account runs at once to the API, in stage dev', () => {
    const { Resources } = appWith({ stage: 'dev' }).synth().getStackByName('lfs-quota-dev').template;
    const sources = Object.values<{
      Type: string;
      Properties: { ScalingConfig: { MaximumConcurrency: number } };
    }>(Resources).filter(({ Type }) => Type === 'AWS::Lambda::EventSourceMapping');
    const fromQueues = sources.map(({ Properties }) => Properties.ScalingConfig.MaximumConcurrency);
    // Recounts, exports and webhooks, of which SQS runs two at least, and the schedule.
    expect(fromQueues).toEqual([2, 2, 2]);
    expect(Object.keys(Resources).filter((id) => id.includes('scanShard'))).toEqual([]);
  });

  it('keeps for a week what is deleted, in stage prod', () => {
    expect(stageSettings('prod').objectStore).toEqual({ kind: 'bucket', keepDeletedDays: 7 });
    expect(stageSettings('dev').objectStore).toEqual({ kind: 'bucket', keepDeletedDays: 0 });
  });

  it('reads the settings of a stage from a file', () => {
    const settings = file(
      'settings.json',
      JSON.stringify({ region: 'eu-central-1', account: '111122223333' }),
    );
    const [stack] = appWith({ stage: 'trial', settings }).synth().stacks;
    expect(stack?.environment).toMatchObject({ region: 'eu-central-1', account: '111122223333' });
  });

  it.each([
    [{ stage: 'nope' }, 'There is no stage "nope". Known: dev, prod.'],
    [{ stage: 'x', settings: '/nowhere.json' }, "The settings file /nowhere.json can't be read"],
    [{ stage: 'x', settings: () => file('broken.json', '{') }, "can't be read as JSON"],
    [{ stage: 'Prod!', settings: () => file('empty.json', '{}') }, '"Prod!" is not a stage name'],
  ])('explains what is wrong with %j', (context, message) => {
    const { stage, settings } = context as { stage: string; settings?: string | (() => string) };
    const path = typeof settings === 'function' ? settings() : settings;
    const wrong = () => appWith({ stage, ...(path !== undefined && { settings: path }) });
    expect(wrong).toThrow(StageSettingsError);
    expect(wrong).toThrow(message);
  });
});

const gitHost = { id: 'github', kind: 'github', url: 'https://api.github.com' };

describe('the settings of a stage', () => {
  it('all have defaults', () => {
    expect(parseStageSettings('prod', {})).toMatchObject({
      keepData: true,
      objectStore: { kind: 'bucket', keepDeletedDays: 0 },
      corsOrigins: [],
      refreshEveryMinutes: 1,
      reconcile: { timeoutMinutes: 5, concurrency: 5, delaySeconds: 35, attemptsMax: 20 },
    });
  });

  it.each([
    [{ account: '1234' }, 'account: is not an account id'],
    [{ region: 'europe' }, 'region: is not an AWS region'],
    [{ keepdata: true }, 'Unrecognized key: "keepdata"'],
    [{ refreshEveryMinutes: 0 }, 'refreshEveryMinutes: Too small'],
    [{ reconcile: { timeoutMinutes: 16 } }, 'reconcile.timeoutMinutes: Too big'],
    [{ reconcile: { delaySeconds: 30 } }, 'reconcile.delaySeconds: Too small'],
    [{ exports: { workers: 1 } }, 'exports.workers: must be 0, or 2 or more'],
    [{ exports: { keepDays: 0 } }, 'exports.keepDays: Too small'],
    [{ throttle: { burst: 0 } }, 'throttle.burst: must be 0 if throttle.requestsPerSecond is 0'],
    [{ throttle: { otherRequestsPerSecond: 0 } }, 'throttle.otherBurst: must be 0 if'],
    [{ memoryMb: { lfsBatch: 64 } }, 'memoryMb.lfsBatch: Too small'],
    [{ memoryMb: { lfsbatch: 256 } }, 'memoryMb: Unrecognized key: "lfsbatch"'],
    [{ corsOrigins: ['https://example.com/'] }, 'corsOrigins.0: is not an origin'],
    [{ corsOrigins: ['*'] }, 'corsOrigins.0: is not an origin'],
    [{ logRetentionDays: 31 }, 'logRetentionDays: Invalid option'],
    [{ domain: { name: 'lfs.example.com' } }, 'domain.certificateArn: Invalid input'],
    [{ alarms: { email: 'nobody' } }, 'alarms.email: Invalid email'],
    [{ objectStore: { kind: 'bucket', keepDeletedDays: -1 } }, 'objectStore.keepDeletedDays: Too small'],
    [
      { objectStore: { kind: 'external', keepDeletedDays: 7 } },
      'objectStore: Unrecognized key: "keepDeletedDays"',
    ],
    [{ gitHosts: [{ ...gitHost, id: 'Git Hub' }] }, 'gitHosts.0.id: must be 1 to 20 of'],
    [{ gitHosts: [{ ...gitHost, kind: 'bitbucket' }] }, 'gitHosts.0.kind: Invalid option'],
    [{ gitHosts: [{ ...gitHost, url: 'http://127.0.0.1:3000' }] }, 'gitHosts.0.url: must be an address'],
    [{ gitHosts: [{ ...gitHost, url: 'https://api.github.com/' }] }, 'gitHosts.0.url: must be an address'],
    [{ gitHosts: [gitHost, gitHost] }, 'gitHosts: names an id twice'],
    [{ gitHosts: Array.from({ length: 9 }, (_, at) => ({ ...gitHost, id: `h${at}` })) }, 'gitHosts: Too big'],
    [{ objectStore: { kind: 'minio' } }, 'objectStore.kind: Invalid'],
    [
      { objectStore: { kind: 'external', endpoint: 'r2.example.com' } },
      'objectStore.endpoint: is not an origin',
    ],
    [
      { objectStore: { kind: 'external', endpoint: 'http://r2.example.com' } },
      'endpoint: must begin with https',
    ],
    [
      { objectStore: { kind: 'external', credentialsSecretArn: 'arn:aws:secretsmanager:x:1:secret:r2' } },
      'objectStore.credentialsSecretArn: is not a complete secret ARN',
    ],
  ])('are rejected by name if they are invalid: %j', (settings, message) => {
    expect(() => parseStageSettings('prod', settings)).toThrow(StageSettingsError);
    expect(() => parseStageSettings('prod', settings)).toThrow(message);
  });

  const secretIn = (place: string) => `arn:aws:secretsmanager:${place}:secret:r2-AbCdEf`;
  const external = (change: object) => ({
    objectStore: {
      kind: 'external',
      endpoint: 'https://store.example.com',
      region: 'auto',
      bucket: 'lfs-objects',
      credentialsSecretArn: secretIn('eu-central-1:111122223333'),
      ...change,
    },
  });
  const certificateIn = (region: string) => ({
    domain: {
      name: 'lfs.example.com',
      certificateArn: `arn:aws:acm:${region}:111122223333:certificate/0a1b`,
    },
  });
  const here = { account: '111122223333', region: 'eu-central-1' };

  it.each([
    [external({ endpoint: 'https://s3.us-west-004.backblazeb2.com' }), /endpoint: .*Backblaze B2/],
    [{ ...here, ...certificateIn('us-east-1') }, /domain\.certificateArn: .*eu-central-1/],
    [
      { ...here, ...external({ credentialsSecretArn: secretIn('eu-west-1:111122223333') }) },
      /objectStore\.credentialsSecretArn: .*eu-central-1/,
    ],
    [
      { ...here, ...external({ credentialsSecretArn: secretIn('eu-central-1:999922223333') }) },
      /objectStore\.credentialsSecretArn: .*111122223333/,
    ],
    [{ publicUrl: 'http://lfs.example.com' }, /publicUrl: /],
    [{ publicUrl: 'https://lfs.example.com/' }, /publicUrl: /],
  ])('are rejected before a deployment that could not work: %j', (settings, message) => {
    expect(() => parseStageSettings('prod', settings)).toThrow(StageSettingsError);
    expect(() => parseStageSettings('prod', settings)).toThrow(message);
  });

  it.each([
    ['eu-central-1', 'aws', 'console.aws.amazon.com'],
    ['cn-north-1', 'aws-cn', 'console.amazonaws.cn'],
    ['us-gov-west-1', 'aws-us-gov', 'console.amazonaws-us-gov.com'],
    ['eusc-de-east-1', 'aws-eusc', 'console.amazonaws-eusc.eu'],
  ])('can be of region %s of %s, with a dashboard at %s', (region, partition, domain) => {
    for (const settings of [{ region }, {}]) {
      const place = { partition, region, urlSuffix: '' };
      const { outputs } = deployed(templateOf(settings).toJSON(), 'lfs-quota-test', place);
      expect(outputs['DashboardUrl']).toContain(
        `https://${region}.${domain}/cloudwatch/home?region=${region}#dashboards/dashboard/lfs-quota-test-`,
      );
    }
  });

  it('are accepted with a certificate and a secret of the stage, and without a place to compare them with', () => {
    const settings = { ...certificateIn('eu-central-1'), ...external({}) };
    for (const place of [here, {}])
      expect(() => parseStageSettings('prod', { ...place, ...settings })).not.toThrow();
  });

  it('are all named in one error if several are invalid', () => {
    expect(() => parseStageSettings('prod', { account: 'x', throttle: { burst: -1 } })).toThrow(
      /account: .*\n {2}throttle\.burst: /,
    );
  });
});
