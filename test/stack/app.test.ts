import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { describe, expect, it } from 'vitest';
import { buildApp } from '../../lib/app.ts';
import { DeploymentSettingsError, deploymentSettings } from '../../lib/settings/stages.ts';
import { newCdnKey } from '../support/cdn.ts';
import { testContext, useFolder } from './stack-template.ts';

const { folder, write } = useFolder();
const appWith = (context: { stage: string; settings?: string }) =>
  buildApp({ outdir: join(folder, 'cdk.out'), context: { ...testContext(), ...context } });

describe('the app', () => {
  it.each(['dev', 'prod'])('synthesises stage %s without a finding of cdk-nag', (stage) => {
    const assembly = appWith({ stage }).synth();
    expect(assembly.stacks.map((stack) => stack.stackName)).toEqual([`lfs-quota-${stage}`]);
  });

  it('synthesises a stage with store events without a finding', () => {
    const settings = write('events.json', { storeEvents: true });
    expect(appWith({ stage: 'trial', settings }).synth().stacks).toHaveLength(1);
  });

  it('synthesises a stage with CloudFront without a finding', () => {
    const privateKeyArn = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:cdn-AbCdEf';
    const cdn = { publicKeys: [newCdnKey().publicKey], privateKeyArn };
    const settings = write('cdn.json', { objectStore: { kind: 'bucket', cdn } });
    const assembly = appWith({ stage: 'trial', settings }).synth();
    // Warnings fail no synth.
    const report = readFileSync(join(assembly.directory, 'validation-report.json'), 'utf8');
    expect(JSON.parse(report).pluginReports).toMatchObject([{ violations: [] }]);
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

  it('leaves one of the ten functions that a new account runs at once to the API, in stage dev', () => {
    const { Resources } = appWith({ stage: 'dev' }).synth().getStackByName('lfs-quota-dev').template;
    const sources = Object.values<{
      Type: string;
      Properties: { ScalingConfig: { MaximumConcurrency: number } };
    }>(Resources).filter(({ Type }) => Type === 'AWS::Lambda::EventSourceMapping');
    const fromQueues = sources.map(({ Properties }) => Properties.ScalingConfig.MaximumConcurrency);
    // Reconciles, exports, chunks and webhooks, of which SQS runs two at least, and the schedule.
    expect(fromQueues).toEqual([2, 2, 2, 2]);
    expect(deploymentSettings('dev').accountConcurrency).toBe(10);
  });

  it('costs little while nobody uses it, in stage dev', () => {
    expect(['dev', 'prod'].map((stage) => deploymentSettings(stage).monitoring)).toEqual(['basic', 'full']);
  });

  it('keeps for a week what is deleted, in stage prod', () => {
    expect(deploymentSettings('prod').objectStore).toEqual({ kind: 'bucket', keepDeletedDays: 7 });
    expect(deploymentSettings('dev').objectStore).toEqual({ kind: 'bucket', keepDeletedDays: 0 });
  });

  it('tries a new version on some requests first, but in stage dev', () => {
    expect(['prod', 'dev'].map((stage) => deploymentSettings(stage).canary)).toEqual([true, false]);
  });

  it('reads the settings of a stage from a file', () => {
    const settings = write('settings.json', { region: 'eu-central-1', account: '111122223333' });
    const [stack] = appWith({ stage: 'trial', settings }).synth().stacks;
    expect(stack?.environment).toMatchObject({ region: 'eu-central-1', account: '111122223333' });
  });

  it('takes the table and the bucket of an earlier stack', () => {
    const objectStore = { kind: 'bucket', existingBucket: 'kept-bucket' };
    const settings = write('kept.json', { objectStore, restoredTableName: 'kept-table' });
    const { template } = appWith({ stage: 'trial', settings }).synth().getStackByName('lfs-quota-trial');
    expect(template.Outputs).toMatchObject({
      TableName: { Value: 'kept-table' },
      BucketName: { Value: 'kept-bucket' },
    });
  });

  it.each([
    [{ stage: 'nope' }, '"nope" isn\'t defined. Known: dev, prod.'],
    [{ stage: 'x', settings: '/nowhere.json' }, "The settings file /nowhere.json can't be read"],
    [{ stage: 'x', settings: write('broken.json', '{') }, "can't be read as JSON"],
    [{ stage: 'Prod!', settings: write('empty.json', '{}') }, '"Prod!" isn\'t a valid name'],
  ])('explains what is wrong with $stage $settings', (context, message) => {
    const wrong = () => appWith(context);
    expect(wrong).toThrow(DeploymentSettingsError);
    expect(wrong).toThrow(message);
  });
});
