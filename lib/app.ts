import {
  App,
  type AppProps,
  CfnElement,
  CfnOutput,
  Stack,
  type StackProps,
  Tags,
  Validations,
} from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import type { Construct, IConstruct } from 'constructs';
import { releaseText } from '../lambda/core/rules/release.ts';
import { consumerOf, functionSpecs, queueNames } from '../lambda/routes.ts';
import { Api } from './api.ts';
import { Background, EmailFeedback, notify, workQueues } from './background.ts';
import { Canary, tried } from './canary.ts';
import { Cdn } from './cdn.ts';
import { AdminToken, Data, ObjectStorage } from './data.ts';
import { DataInUse } from './data-in-use.ts';
import { Functions, functionNamesOf, objectsBelow, ownScopesOf } from './functions/functions.ts';
import { Alarms } from './monitoring/alarms.ts';
import { Dashboard } from './monitoring/dashboard.ts';
import { ownRelease } from './release.ts';
import { workersOf } from './settings/concurrency.ts';
import { type DeploymentSettings, settingsOfSubjects } from './settings/deployment-settings.ts';
import { deploymentSettings, exportStoreOf } from './settings/stages.ts';

interface LfsQuotaStackProps extends StackProps {
  readonly settings: DeploymentSettings;
}

/** Everything of one stage. Construct ids are a contract: renaming one replaces its resources, data included. */
class LfsQuotaStack extends Stack {
  readonly storage: ObjectStorage;
  /** Undefined if objects are downloaded from the store itself. */
  readonly cdn: Cdn | undefined;
  readonly adminToken: AdminToken;
  readonly functions: Functions;
  readonly api: Api;
  /** Undefined if the stage gives a new version all requests from the start. */
  readonly canary: Canary | undefined;

  constructor(scope: Construct, id: string, { settings, ...props }: LfsQuotaStackProps) {
    super(scope, id, props);
    const { keepData, objectStore, restoredTableName, exports, refreshEveryMinutes } = settings;
    new DataInUse(this, 'DataInUse', settings);
    const data = new Data(this, 'Data', { keepData, restoredTableName, limits: settings.table });
    this.storage = new ObjectStorage(this, 'ObjectStorage', {
      keepData,
      objectStore,
      archiveDays: exports.keepDays,
      corsOrigins: settings.corsOrigins,
    });
    this.cdn =
      objectStore.kind === 'bucket' && objectStore.cdn && this.storage.bucket
        ? new Cdn(this, 'Cdn', { bucket: this.storage.bucket, settings: objectStore.cdn })
        : undefined;
    this.adminToken = new AdminToken(this, 'AdminToken', { keepData });
    const workers: Partial<Record<string, number>> = workersOf(settings);
    const queues = workQueues(this, settings);
    const { reconciles, ...delivered } = queues;
    if (queues['store-events'] && this.storage.bucket)
      notify(queues['store-events'].queue, this.storage.bucket);
    const sender = functionNamesOf(settings).find((name) => functionSpecs[name].sendsEmail);
    const emails = queueNames.find((name) => consumerOf(name) === sender);
    const toSend = emails && queues[emails];
    const feedback = toSend && new EmailFeedback(this, 'EmailFeedback', toSend);

    this.functions = new Functions(this, 'Functions', {
      settings,
      resources: {
        table: data.table,
        storage: this.storage,
        cdn: this.cdn,
        queues,
        email: settings.email &&
          feedback && { ...settings.email, configurationSet: feedback.configurationSet },
        exports: workers['exports']
          ? { store: exportStoreOf(objectStore), settings: { ...exports, workers: workers['exports'] } }
          : undefined,
        adminSecretArn: this.adminToken.secretArn,
        signInSecretArns: settingsOfSubjects.flatMap(
          ([name, { secretsOf }]) => secretsOf?.(settings[name] as never) ?? [],
        ),
        adoptedRepos: settings.adoptedRepos,
        eventBusArn: settings.alerts.eventBus
          ? this.formatArn({ service: 'events', resource: 'event-bus', resourceName: 'default' })
          : undefined,
        publicUrl: settings.publicUrl,
      },
    });
    const { functions } = this;
    this.api = new Api(this, 'Api', { settings, functions });
    new Background(this, 'Background', { refreshEveryMinutes, functions, reconciles });
    // Its e-mails lead to the API. No route leads to this function, so the API can come first.
    if (sender && feedback)
      functions.get(sender).function.addEnvironment('LFS_QUOTA_PUBLIC_URL', this.api.url);
    for (const work of Object.values(delivered)) work.deliverTo(functions);

    const { api } = this;
    new CfnOutput(this, 'QueueUrl', { value: reconciles.queue.queueUrl });
    new CfnOutput(this, 'Version', { value: releaseText(ownRelease()) });
    const watched = { settings, functions, queues, api, table: data.table };
    const alarms = settings.monitoring === 'none' ? undefined : new Alarms(this, 'Alarms', watched);
    const isTried = settings.canary && tried.length > 0;
    this.canary = alarms && isTried ? new Canary(this, 'Canary', { functions, alarms }) : undefined;
    if (alarms && settings.monitoring === 'full') new Dashboard(this, 'Dashboard', { ...watched, alarms });
  }
}

/** Every finding of cdk-nag's AwsSolutions that is accepted, and why. Any other finding fails the synth. */
function acknowledgeFindings(stack: LfsQuotaStack): void {
  acknowledge(stack.adminToken, 'SMG4', [
    'Operators and their tools hold the admin token: an automatic rotation would lock them out.',
    'docs/runbook.md says how to rotate it.',
  ]);
  acknowledge(stack.api, 'APIG4', [
    'The handlers check the credential of every request except health checks. An authorizer of an HTTP API',
    'cannot send the LFS-Authenticate header that makes git ask for a credential.',
  ]);
  if (stack.canary)
    acknowledge(stack.canary, 'IAM5[Resource::*]', [
      'CloudWatch has no narrower resource for the states of alarms that CodeDeploy asks for.',
    ]);
  if (stack.cdn) {
    acknowledge(stack.cdn, 'CFR1', ['A signature says who may download, wherever they are.']);
    acknowledge(stack.cdn, 'CFR2', ['CloudFront itself rejects what has no signature.']);
    acknowledge(stack.cdn, 'CFR3', ['As those of the bucket, access logs would record signed URLs.']);
    acknowledge(stack.cdn, 'CFR4', ["CloudFront's own domain has a fixed policy. Clients choose new TLS."]);
  }
  const { bucket } = stack.storage;
  if (bucket === undefined) return;
  acknowledge(bucket, 'S1', [
    'Server access logs would record the query strings of presigned URLs, which are credentials until they expire.',
  ]);
  const { defaultChild } = bucket.node;
  const arn =
    defaultChild && CfnElement.isCfnElement(defaultChild)
      ? `<${stack.getLogicalId(defaultChild)}.Arn>`
      : `arn:<AWS::Partition>:s3:::${bucket.bucketName}`;
  for (const [name, handler] of stack.functions.entries()) {
    const spec = functionSpecs[name];
    const scopes = [
      ...[...new Set(spec.objects?.map(objectsBelow))].map((below) => ({ below, why: objectKeys })),
      ...ownScopesOf(spec),
    ];
    for (const { below, why } of scopes) acknowledge(handler, `IAM5[Resource::${arn}${below}]`, [why]);
  }
}

const objectKeys =
  'Keys are {tenant}/{repo}/{oid}, and tenants come and go: no narrower wildcard covers them.';

function acknowledge(scope: IConstruct, rule: string, reason: readonly string[]): void {
  Validations.of(scope).acknowledge({
    id: `AwsSolutions::AwsSolutions-${rule}`,
    reason: reason.join(' '),
  });
}

/**
 * The CDK app. Context `stage` names the stage (default: `dev`), context `settings` a file with its settings.
 * @throws {DeploymentSettingsError} when the settings are invalid.
 */
export function buildApp(props?: AppProps): App {
  const app = new App({ analyticsReporting: false, ...props });
  const stage = contextString(app, 'stage') ?? 'dev';
  const stack = addStack(app, stage, deploymentSettings(stage, contextString(app, 'settings')));
  acknowledgeFindings(stack);
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  return app;
}

export function addStack(app: App, stage: string, settings: DeploymentSettings): LfsQuotaStack {
  const tag = { name: 'lfs-quota-stage', value: stage };
  const stack = new LfsQuotaStack(app, `lfs-quota-${stage}`, {
    description: `Git LFS quota backend ${releaseText(ownRelease())}, stage ${stage}`,
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
