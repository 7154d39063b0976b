import { App, type AppProps, Tags, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { LfsQuotaStack } from './lfs-quota-stack.ts';
import { acknowledgeFindings } from './nag-acknowledgements.ts';
import type { StageSettings } from './settings/stage-settings.ts';
import { stageSettings } from './settings/stages.ts';

/**
 * The CDK app. Context `stage` names the stage (default: `dev`), context `settings` a file with its settings.
 * @throws {StageSettingsError} when the settings are invalid.
 */
export function buildApp(props?: AppProps): App {
  const app = new App({ analyticsReporting: false, ...props });
  const stage = contextString(app, 'stage') ?? 'dev';
  const stack = addStack(app, stage, stageSettings(stage, contextString(app, 'settings')));
  acknowledgeFindings(stack);
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  return app;
}

export function addStack(app: App, stage: string, settings: StageSettings): LfsQuotaStack {
  const tag = { name: 'lfs-quota-stage', value: stage };
  const stack = new LfsQuotaStack(app, `lfs-quota-${stage}`, {
    description: `Git LFS quota backend, stage ${stage}`,
    // CloudFormation hands it on to what the CDK does not tag.
    tags: { [tag.name]: tag.value },
    env: {
      ...(settings.account && { account: settings.account }),
      ...(settings.region && { region: settings.region }),
    },
    terminationProtection: settings.keepData,
    settings,
  });
  Tags.of(stack).add(tag.name, tag.value);
  return stack;
}

function contextString(app: App, key: string): string | undefined {
  const value: unknown = app.node.tryGetContext(key);
  return typeof value === 'string' ? value : undefined;
}
