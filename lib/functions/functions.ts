import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  type Alias,
  Architecture,
  type Code,
  type IFunction,
  Function as LambdaFunction,
  RecursiveLoop,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { settingsToJson } from '../../lambda/core/rules/settings.ts';
import { type AdoptedRepo, adoptedReposToJson } from '../../lambda/core/store/rules/adopted-repos.ts';
import { ownFolders } from '../../lambda/core/store/rules/own-folders.ts';
import type { StoreKind } from '../../lambda/core/store/rules/store-kind.ts';
import type { FunctionSpec, ItemGrant, ObjectAction, QueueUse } from '../../lambda/frame/spec.ts';
import {
  consumerOf,
  type FunctionName,
  functionSpecs,
  ownScopes,
  type QueueName,
  queueNames,
  queueSpecs,
  routeKeys,
} from '../../lambda/routes.ts';
import type { Cdn } from '../cdn.ts';
import type { ObjectStorage } from '../data.ts';
import { metricsNamespace } from '../monitoring/custom-metrics.ts';
import { ownRelease } from '../release.ts';
import { workersOf } from '../settings/concurrency.ts';
import { type DeploymentSettings, settingsOfSubjects } from '../settings/deployment-settings.ts';
import { settingsOf } from '../settings/protocol-settings.ts';
import { Bundles } from './bundles.ts';

/**
 * The settings of a stage that become part of its code: name → expression, for the bundler. `lambda/parts.ts` reads
 * them. A bundle has those that its function uses, and a change of one is a change of the code: Lambda never runs a
 * function with the code of one deployment and the settings of another.
 */
export function stageJson(settings: DeploymentSettings): Record<string, string> {
  const { objectStore } = settings;
  const ofSubjects = settingsOfSubjects.map(([name, { toJson }]) => [name, toJson(settings[name] as never)]);
  const json: Readonly<Record<string, string | undefined>> = {
    protocol: settingsToJson(settingsOf(settings.protocol)),
    adoptedRepos: adoptedReposToJson(settings.adoptedRepos),
    ...Object.fromEntries(ofSubjects),
    limitContactUrl: settings.limitContactUrl,
    // S3 has all of them.
    storageClasses: objectStore.kind === 'bucket' ? undefined : (objectStore.storageClasses ?? []).join(),
  };
  return Object.fromEntries(
    Object.entries(json).map(([name, text]) => [
      `stageJson.${name}`,
      text === undefined ? 'undefined' : JSON.stringify(text),
    ]),
  );
}

/** A role with one inline policy. It accepts no later grants, so there is no second place to look for them. */
export function fixedRole(
  scope: Construct,
  id: string,
  { service, statements }: { service: 'lambda' | 'scheduler' | 'codedeploy'; statements: PolicyStatement[] },
) {
  const conditions = { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } };
  // Lambda sends no account.
  const assumedBy = new ServicePrincipal(
    `${service}.amazonaws.com`,
    service === 'lambda' ? {} : { conditions },
  );
  const inlinePolicies = { grants: new PolicyDocument({ statements }) };
  return new Role(scope, id, { assumedBy, inlinePolicies }).withoutPolicyUpdates();
}

interface HandlerFunctionProps {
  /** Its handler is `handler` of index.mjs. */
  readonly code: Code;
  readonly description: string;
  readonly timeout: Duration;
  readonly memoryMb: number;
  /** Undefined: it shares the account's. */
  readonly reservedConcurrency: number | undefined;
  readonly environment: Record<string, string>;
  readonly statements: readonly PolicyStatement[];
  readonly logRetentionDays: RetentionDays;
  /** It sends, on purpose, to the queue that invokes it. */
  readonly sendsToOwnQueue?: boolean;
}

/** Its name is in each integration, event source and grant: renaming it replaces them. */
export const liveAlias = 'live';

/** One Lambda function with its own role and its own log group. */
export class HandlerFunction extends Construct {
  /** For what all versions have in common, as metrics and alarms. Never to invoke it. */
  readonly function: LambdaFunction;
  /**
   * What everything invokes: an alias of a published version. CloudFormation changes code and configuration of a function in
   * two calls. In between, no request gets the code of one deployment with the variables of another, because the alias
   * moves afterwards, in one step.
   */
  readonly live: Alias & IFunction;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: HandlerFunctionProps) {
    super(scope, id);
    this.logGroup = new LogGroup(this, 'Log', {
      retention: props.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.function = new LambdaFunction(this, 'Function', {
      code: props.code,
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      description: props.description,
      timeout: props.timeout,
      memorySize: props.memoryMb,
      ...(props.reservedConcurrency && { reservedConcurrentExecutions: props.reservedConcurrency }),
      environment: { NODE_OPTIONS: '--enable-source-maps', ...props.environment },
      role: fixedRole(this, 'Role', {
        service: 'lambda',
        statements: [
          new PolicyStatement({
            actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
            resources: [this.logGroup.logGroupArn],
          }),
          ...props.statements,
        ],
      }),
      logGroup: this.logGroup,
      ...(props.sendsToOwnQueue && { recursiveLoop: RecursiveLoop.ALLOW }),
      // An earlier version stays, so the alias can go back to it within seconds. Versions are free: all functions of a
      // deployment take about 5 MB of the 75 GB of code that an account has per region. What a failed deployment published
      // is deleted: Lambda publishes no second version of the same code, so the next try would fail.
      currentVersionOptions: { removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE },
    });
    this.live = this.function.addAlias(liveAlias) as Alias & IFunction;
  }
}

interface FunctionsProps {
  readonly settings: DeploymentSettings;
  readonly resources: FunctionResources;
}

/** The functions that a stage has: all, except those whose queues its settings switch off. */
export function functionNamesOf(settings: DeploymentSettings): FunctionName[] {
  const names = Object.keys(functionSpecs) as FunctionName[];
  const workers = workersOf(settings);
  const off = queueNames.filter((queue) => !workers[queue]).map(consumerOf);
  return names.filter((name) => !off.includes(name));
}

/** What a function may do in a stage. */
function specIn(settings: DeploymentSettings, name: FunctionName): FunctionSpec {
  const { storeOnlyWith: setting, ...spec } = functionSpecs[name];
  const isOff = setting !== undefined && !Reflect.get(settings, setting);
  return isOff ? { ...spec, objects: [], bucket: [], own: {} } : spec;
}

/** What sends to the queue that invokes it. */
const isSelfSending = ({ queues = {} }: FunctionSpec) =>
  Object.values(queues).some((uses) => uses.includes('send') && uses.includes('receive'));

/** The functions of a stage, by name. */
export class Functions extends Construct {
  readonly #byName: ReadonlyMap<FunctionName, HandlerFunction>;

  constructor(scope: Construct, id: string, props: FunctionsProps) {
    super(scope, id);
    const names = functionNamesOf(props.settings);
    const define = {
      ...stageJson(props.settings),
      builtFrom: JSON.stringify(ownRelease()),
      routeKeys: JSON.stringify(routeKeys),
    };
    const bundles = new Bundles(
      names.map((name) => functionSpecs[name].file),
      define,
    );
    this.#byName = new Map(names.map((name) => [name, this.#build(name, bundles, props)]));
  }

  get(name: FunctionName): HandlerFunction {
    const found = this.#byName.get(name);
    if (found === undefined) throw new Error(`The stage has no function ${name}.`);
    return found;
  }

  entries(): ReadonlyMap<FunctionName, HandlerFunction> {
    return this.#byName;
  }

  #build(name: FunctionName, bundles: Bundles, { settings, resources }: FunctionsProps): HandlerFunction {
    const spec = specIn(settings, name);
    return new HandlerFunction(this, name, {
      code: bundles.code(spec.file, spec),
      description: spec.description,
      timeout:
        spec.timeoutSeconds === undefined
          ? Duration.minutes(settings.reconcile.timeoutMinutes)
          : Duration.seconds(spec.timeoutSeconds),
      memoryMb: settings.memoryMb[name],
      reservedConcurrency: settings.reservedConcurrency[name],
      environment: {
        POWERTOOLS_LOG_LEVEL: settings.logLevel,
        POWERTOOLS_METRICS_NAMESPACE: metricsNamespace(this),
        ...environmentFor(spec, resources),
      },
      statements: statementsFor(spec, resources),
      logRetentionDays: settings.logRetentionDays,
      // A long reconcile continues with a new message in the queue that it came from. Lambda would stop that as a
      // runaway loop after 16 rounds. The queue bounds it: one message per tenant and delay. An export hands out its
      // work in the same way, and ends within a day. So does an upload that takes more than one run to assemble.
      ...(isSelfSending(spec) && { sendsToOwnQueue: true }),
    });
  }
}

type StageQueue = Readonly<
  Record<'queue' | 'deadLetterQueue', Pick<Queue, 'queueArn' | 'queueName' | 'queueUrl'>>
>;

/** The resources that functions are granted parts of. */
interface FunctionResources {
  readonly table: Pick<ITableV2, 'tableArn' | 'tableName'>;
  readonly storage: ObjectStorage;
  /** Undefined if objects are downloaded from the store itself. */
  readonly cdn: Cdn | undefined;
  /** Those that the stage has. */
  readonly queues: Partial<Readonly<Record<QueueName, StageQueue>>>;
  /** Undefined if the stage sends no e-mail. */
  readonly email: EmailResources | undefined;
  /** Undefined if the stage makes no exports. */
  readonly exports: ExportResources | undefined;
  readonly adminSecretArn: string;
  /** Of the apps by which users of git hosts sign in. */
  readonly signInSecretArns: readonly string[];
  /** Repos whose objects lie where another server put them. */
  readonly adoptedRepos: readonly AdoptedRepo[];
  /** The account's event bus. Undefined if the stage publishes nothing. */
  readonly eventBusArn: string | undefined;
  /** Where clients reach the API, if something stands before it. */
  readonly publicUrl: string | undefined;
}

interface ExportResources {
  readonly store: StoreKind;
  readonly settings: DeploymentSettings['exports'] & { readonly workers: number };
}

interface EmailResources {
  readonly from: string;
  readonly configurationSet: string;
}

const queueActions: Readonly<Record<QueueUse, readonly string[]>> = {
  send: ['sqs:SendMessage'],
  receive: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
  delay: ['sqs:ChangeMessageVisibility'],
  gauge: ['sqs:GetQueueAttributes'],
};

const reachesTable = ({ table, items, indexes }: FunctionSpec) =>
  [table, items, indexes].some((each) => each !== undefined);
const reachesStore = ({ objects = [], bucket = [] }: FunctionSpec) => objects.length > 0 || bucket.length > 0;

/** The environment variables that a function needs, and no others. */
function environmentFor(spec: FunctionSpec, resources: FunctionResources): Record<string, string> {
  return {
    ...(reachesTable(spec) && { LFS_QUOTA_TABLE: resources.table.tableName }),
    ...(spec.answersLinks && resources.publicUrl && { LFS_QUOTA_PUBLIC_URL: resources.publicUrl }),
    ...(reachesStore(spec) && resources.storage.environment),
    ...(spec.sendsEmail &&
      resources.email && {
        LFS_QUOTA_EMAIL_FROM: resources.email.from,
        LFS_QUOTA_EMAIL_CONFIGURATION_SET: resources.email.configurationSet,
      }),
    ...queueVariables(spec, resources),
    ...(spec.knowsExports && resources.exports && exportVariables(resources.exports)),
    ...(spec.publishesEvents && resources.eventBusArn && { LFS_QUOTA_EVENT_BUS: 'default' }),
    ...(spec.secrets?.includes('admin token') && { LFS_QUOTA_ADMIN_SECRET_ARN: resources.adminSecretArn }),
    ...(spec.secrets?.includes('CDN key') && resources.cdn?.environment),
  };
}

/** The queues that a function uses, of those that the stage has. */
const queuesOf = ({ queues: used = {} }: FunctionSpec, { queues }: FunctionResources) =>
  queueNames.flatMap((name) => {
    const [uses, work] = [used[name], queues[name]];
    return uses && work ? [{ name, uses, ...work }] : [];
  });

/** The URLs of the queues that a function sends to or delays, and those that it may look at, each with its dead letters. */
function queueVariables(spec: FunctionSpec, resources: FunctionResources): Record<string, string> {
  const variables: Record<string, string> = {};
  const gauged: Record<string, [string, string]> = {};
  for (const { name, uses, queue, deadLetterQueue } of queuesOf(spec, resources)) {
    const kind = queueSpecs[name].kind.toUpperCase();
    if (uses.includes('send') || uses.includes('delay'))
      variables[`LFS_QUOTA_${kind && `${kind}_`}QUEUE_URL`] = queue.queueUrl;
    if (uses.includes('gauge')) gauged[name] = [queue.queueName, deadLetterQueue.queueName];
  }
  if (Object.keys(gauged).length > 0) variables['LFS_QUOTA_GAUGED_QUEUES'] = JSON.stringify(gauged);
  return variables;
}

function exportVariables({ store, settings }: ExportResources) {
  return {
    LFS_QUOTA_EXPORT_STORE: store,
    LFS_QUOTA_EXPORT_WORKERS: String(settings.workers),
    LFS_QUOTA_EXPORT_PER_TENANT: String(settings.perTenant),
    LFS_QUOTA_EXPORT_KEEP_DAYS: String(settings.keepDays),
  };
}

/** The policy statements of a function: exact actions on exact resources. */
function statementsFor(spec: FunctionSpec, resources: FunctionResources): PolicyStatement[] {
  const { table, storage, adminSecretArn, signInSecretArns } = resources;
  const secretArns = [
    ...(spec.secrets?.includes('admin token') ? [adminSecretArn] : []),
    ...(spec.secrets?.includes('sign-in apps') ? signInSecretArns : []),
    ...(spec.secrets?.includes('CDN key') && resources.cdn ? [resources.cdn.secretArn] : []),
    ...(reachesStore(spec) && storage.credentialsSecretArn ? [storage.credentialsSecretArn] : []),
  ];
  const onTable = (actions: FunctionSpec['table'] = []) => actions.map((action) => `dynamodb:${action}`);
  const indexArns = (spec.indexes ?? []).map((index) => `${table.tableArn}/index/${index}`);
  return [
    ...allow(onTable(spec.table), [table.tableArn]),
    ...groupedItems(spec).flatMap((items) =>
      allow(onTable(items.actions), [table.tableArn], conditionOf(items)),
    ),
    ...allow(['dynamodb:Query'], indexArns),
    ...(storage.bucket ? bucketStatements(spec, storage.bucket.bucketArn, resources) : []),
    ...queueStatements(spec, resources),
    ...allow(['secretsmanager:GetSecretValue'], secretArns),
    ...(spec.sendsEmail && resources.email ? emailStatements(resources.email, storage) : []),
    ...allow(
      ['events:PutEvents'],
      spec.publishesEvents && resources.eventBusArn ? [resources.eventBusArn] : [],
    ),
  ];
}

/** One statement for the same actions, whoever adds to them: a policy has 10,240 bytes. */
function groupedItems({ items = [] }: FunctionSpec): ItemGrant[] {
  const byActions = new Map<string, ItemGrant>();
  for (const { partitions, ...grant } of items) {
    const key = JSON.stringify(grant);
    byActions.set(key, { ...grant, partitions: [...(byActions.get(key)?.partitions ?? []), ...partitions] });
  }
  return [...byActions.values()];
}

/** It sends from one address, as one of the two identities that SES can have verified for it. */
function emailStatements({ from, configurationSet }: EmailResources, scope: Construct): PolicyStatement[] {
  const stack = Stack.of(scope);
  const arnOf = (resource: string, resourceName: string) =>
    stack.formatArn({ service: 'ses', resource, resourceName });
  const identities = [from, from.replace(/^.*@/, '')];
  return allow(
    ['ses:SendEmail'],
    [
      ...identities.map((identity) => arnOf('identity', identity)),
      arnOf('configuration-set', configurationSet),
    ],
    { StringEquals: { 'ses:FromAddress': from } },
  );
}

/**
 * Which keys an action may reach. Keys are {tenant}/{repo}/{oid}, so no function reaches, or presigns, a key at the
 * bucket's root. Objects that were imported directly below a tenant are deleted with the tenant.
 */
export function objectsBelow(action: ObjectAction): string {
  return action === 'DeleteObject' ? '/*/*' : '/*/*/*';
}

/** Folders that a key has at least, to be matched by {@link objectsBelow}. */
const foldersBelow = (action: ObjectAction) => objectsBelow(action).split('/').length - 2;

/**
 * Objects of adopted repos that have fewer folders than tenants' keys: those whose names are oids, below a path of one
 * folder or none. All others are matched already.
 */
function adoptedStatements(
  { objects = [], notAdopted = [] }: FunctionSpec,
  bucketArn: string,
  repos: readonly AdoptedRepo[],
): PolicyStatement[] {
  const shallow = repos
    .filter(({ names }) => names === 'oid')
    .map(({ path }) => ({ folders: path.split('/').length - 1, arn: `${bucketArn}/${path}${anyOid}` }));
  const actions = objects.filter((action) => !notAdopted.includes(action));
  return actions.flatMap((action) => {
    const unmatched = shallow.filter(({ folders }) => folders < foldersBelow(action));
    return allow(
      [`s3:${action}`],
      unmatched.map(({ arn }) => arn),
    );
  });
}

/** Each ? stands for one character. */
const anyOid = '?'.repeat(64);

function bucketStatements(
  spec: FunctionSpec,
  bucketArn: string,
  { adoptedRepos, exports }: FunctionResources,
): PolicyStatement[] {
  const { objects = [], bucket = [], own = {} } = spec;
  const on = (actions: readonly string[], below: string) =>
    allow(
      actions.map((action) => `s3:${action}`),
      [`${bucketArn}${below}`],
    );
  return [
    ...[...new Set(objects.map(objectsBelow))].flatMap((below) =>
      on(
        objects.filter((action) => objectsBelow(action) === below),
        below,
      ),
    ),
    ...on(bucket, ''),
    ...adoptedStatements(spec, bucketArn, adoptedRepos),
    ...ownScopesOf({ own })
      .filter(({ below }) => exports || !below.startsWith(`/${ownFolders.exports}/`))
      .flatMap(({ actions, below }) => on(actions, below)),
  ];
}

/** Where a function reaches what the service stores beside objects. */
export const ownScopesOf = ({ own = {} }: Pick<FunctionSpec, 'own'>) =>
  Object.entries(ownScopes).flatMap(([name, scope]) => {
    const actions = own[name];
    return actions ? [{ actions, ...scope }] : [];
  });

/** One statement for each queue, so that the CDK merges those of queues that are used alike: a policy has 10,240 bytes. */
function queueStatements(spec: FunctionSpec, resources: FunctionResources): PolicyStatement[] {
  return queuesOf(spec, resources).flatMap(({ uses, queue, deadLetterQueue }) => [
    ...allow(
      uses.flatMap((use) => queueActions[use]),
      [queue.queueArn],
    ),
    ...allow(uses.includes('gauge') ? queueActions.gauge : [], [deadLetterQueue.queueArn]),
  ]);
}

/** One statement, or none if there is nothing to allow. */
function allow(
  actions: readonly string[],
  resources: readonly string[],
  conditions?: Record<string, unknown>,
): PolicyStatement[] {
  if (actions.length === 0 || resources.length === 0) return [];
  return [
    new PolicyStatement({
      actions: [...actions],
      resources: [...resources],
      ...(conditions && { conditions }),
    }),
  ];
}

/** Only items whose partition key is like one of these, and only these attributes of them. */
function conditionOf({ partitions, attributes }: ItemGrant): Record<string, unknown> {
  return {
    'ForAllValues:StringLike': {
      'dynamodb:LeadingKeys': partitions,
      ...(attributes && { 'dynamodb:Attributes': attributes }),
    },
    // Without keys in the request, "all of them" would hold as well.
    Null: { 'dynamodb:LeadingKeys': 'false', ...(attributes && { 'dynamodb:Attributes': 'false' }) },
  };
}
