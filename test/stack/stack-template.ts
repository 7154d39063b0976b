import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { addStack } from '../../lib/app.ts';
import type { StageSettingsInput } from '../../lib/settings/stage-settings.ts';
import { parseStageSettings } from '../../lib/settings/stages.ts';

/** The context from cdk.json, as the CDK's command line reads it, without bundling: templates do not need it. */
export function testContext(): Record<string, unknown> {
  const { context } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));
  return { ...context, 'aws:cdk:bundling-stacks': [] };
}

const templates = new Map<string, Template>();

/** The template of a stage with these settings. It's made once in a process, so nobody may change what it holds. */
export function templateOf(settings: StageSettingsInput = {}, stage = 'test'): Template {
  const key = JSON.stringify([settings, stage]);
  const known = templates.get(key) ?? synthesized(settings, stage);
  templates.set(key, known);
  return known;
}

function synthesized(settings: StageSettingsInput, stage: string): Template {
  const app = new App({ analyticsReporting: false, context: testContext() });
  return Template.fromStack(addStack(app, stage, parseStageSettings(stage, settings)));
}
