import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { afterAll, expect } from 'vitest';
import { defaultRouteFunction, type FunctionName, functionSpecs } from '../../lambda/routes.ts';
import { addStack } from '../../lib/app.ts';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import { DeploymentSettingsError, parseDeploymentSettings } from '../../lib/settings/stages.ts';

/** The context from cdk.json, as the CDK's command line reads it, without bundling: templates do not need it. */
export function testContext(): Record<string, unknown> {
  const { context } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));
  return { ...context, 'aws:cdk:bundling-stacks': [] };
}

const templates = new Map<string, Template>();

/** The template of a stage with these settings. It's made once in a process, so nobody may change what it holds. */
export function templateOf(settings: DeploymentSettingsInput = {}, stage = 'test'): Template {
  const key = JSON.stringify([settings, stage]);
  const known = templates.get(key) ?? synthesized(settings, stage);
  templates.set(key, known);
  return known;
}

function synthesized(settings: DeploymentSettingsInput, stage: string): Template {
  const app = new App({ analyticsReporting: false, context: testContext() });
  return Template.fromStack(addStack(app, stage, parseDeploymentSettings(stage, settings)));
}

/** That settings are refused with this message. */
export function expectRefused(settings: unknown, message: string | RegExp): void {
  const parse = () => parseDeploymentSettings('prod', settings as DeploymentSettingsInput);
  expect(parse).toThrow(DeploymentSettingsError);
  expect(parse).toThrow(message);
}

/** A store that is none of AWS's. */
export const externalStore = {
  kind: 'external',
  endpoint: 'https://store.example.com',
  region: 'auto',
  bucket: 'lfs-objects',
  credentialsSecretArn: 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:r2-AbCdEf',
} as const;

/** @returns a folder for the tests of a file, and what writes a file into it and tells its path. */
export function useFolder(): { folder: string; write: (name: string, content: unknown) => string } {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-stages-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (name: string, content: unknown) => {
    const path = join(folder, name);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };
  return { folder, write };
}

/** The ARN of a resource whose logical id begins so. */
export const arnOf = (id: string) => ({ 'Fn::GetAtt': [Match.stringLikeRegexp(`^${id}`), 'Arn'] });

/** What an event source invokes: the alias of a function. */
export const liveOf = (name: string) => ({
  'Fn::Join': [
    '',
    [
      {
        'Fn::Select': [
          6,
          { 'Fn::Split': [':', { Ref: Match.stringLikeRegexp(`^Functions${name}FunctionAliaslive`) }] },
        ],
      },
      ':live',
    ],
  ],
});

/** That a queue gives up a message after 20 deliveries, and leaves it to a queue whose logical id begins so. */
export const givesUpTo = (id: string) => ({ maxReceiveCount: 20, deadLetterTargetArn: arnOf(id) });

/** Functions that no request waits for, of a stage that has all of them. */
export const backgroundFunctions: readonly FunctionName[] = (
  Object.keys(functionSpecs) as FunctionName[]
).filter((name) => name !== defaultRouteFunction && functionSpecs[name].routes === undefined);
