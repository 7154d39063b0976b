import { fileURLToPath } from 'node:url';
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, RecursiveLoop, Runtime } from 'aws-cdk-lib/aws-lambda';
import {
  type BundlingOptions,
  type ICommandHooks,
  NodejsFunction,
  OutputFormat,
} from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { gitHostsToJson } from '../../lambda/people/rules/git-hosts.ts';
import { issuersToJson } from '../../lambda/people/rules/identities.ts';
import { type FunctionName, handlerFiles } from '../../lambda/routes.ts';
import { settingsToJson } from '../../lambda/rules/settings.ts';
import { adoptedReposToJson } from '../../lambda/store/rules/adopted-repos.ts';
import { metricsNamespace } from '../monitoring/custom-metrics.ts';
import { settingsOf } from '../settings/protocol-settings.ts';
import type { StageSettings } from '../settings/stage-settings.ts';
import { environmentFor, type FunctionResources, statementsFor } from './function-resources.ts';
import { functionSpecs } from './function-specs.ts';

/**
 * The settings of a stage that become part of its code: name → expression, for the bundler. `lambda/compose.ts` reads
 * them. A bundle has those that its function uses, and a change of one is a change of the code: Lambda never runs a
 * function with the code of one deployment and the settings of another.
 */
export function stageJson(settings: StageSettings): Record<string, string> {
  const json: Readonly<Record<string, string | undefined>> = {
    protocol: settingsToJson(settingsOf(settings.protocol)),
    adoptedRepos: adoptedReposToJson(settings.adoptedRepos),
    identityIssuers: issuersToJson(settings.identityIssuers),
    gitHosts: gitHostsToJson(settings.gitHosts),
  };
  return Object.fromEntries(
    Object.entries(json).map(([name, text]) => [
      `stageJson.${name}`,
      text === undefined ? 'undefined' : JSON.stringify(text),
    ]),
  );
}

interface HandlerFunctionProps {
  /** A file in `lambda/handlers/`. */
  readonly file: string;
  readonly description: string;
  readonly timeout: Duration;
  readonly memoryMb: number;
  /** Undefined: it shares the account's. */
  readonly reservedConcurrency: number | undefined;
  readonly environment: Record<string, string>;
  readonly statements: readonly PolicyStatement[];
  /** What the bundler puts in place of names: name → expression. */
  readonly define: Readonly<Record<string, string>>;
  readonly logRetentionDays: RetentionDays;
  /** The files of the console are packed beside its bundle. */
  readonly servesConsole?: boolean;
  /** It sends, on purpose, to the queue that invokes it. */
  readonly sendsToOwnQueue?: boolean;
}

const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The bundle contains every package that a function uses, so a start reads one file, and no SDK of the runtime. The
 * conditions select ES modules: CommonJS ones would call `require` in an ES module and fail at load.
 */
const bundling: BundlingOptions = {
  format: OutputFormat.ESM,
  target: 'node24',
  minify: true,
  sourceMap: true,
  sourcesContent: false,
  mainFields: ['module', 'main'],
  externalModules: [],
  esbuildArgs: {
    '--conditions': 'module',
    '--alias:@aws-sdk/credential-provider-node': `${projectRoot}lib/functions/environment-credentials.ts`,
  },
};

/** Packs the console at synth, from its source. */
const packsConsole: ICommandHooks = {
  beforeInstall: () => [],
  beforeBundling: () => [],
  afterBundling: (_from, to) => [
    `node --import tsx "${projectRoot}console/build/main.ts" "${to}/console.json"`,
  ],
};

/**
 * One Lambda function with its own role and its own log group. The role has one inline policy and accepts no
 * later grants, so there is no second place to look for them.
 */
export class HandlerFunction extends Construct {
  readonly function: NodejsFunction;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: HandlerFunctionProps) {
    super(scope, id);
    this.logGroup = new LogGroup(this, 'Log', {
      retention: props.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.function = new NodejsFunction(this, 'Function', {
      entry: `${projectRoot}lambda/handlers/${props.file}`,
      projectRoot,
      depsLockFilePath: `${projectRoot}package-lock.json`,
      handler: 'handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      description: props.description,
      timeout: props.timeout,
      memorySize: props.memoryMb,
      ...(props.reservedConcurrency && { reservedConcurrentExecutions: props.reservedConcurrency }),
      environment: { NODE_OPTIONS: '--enable-source-maps', ...props.environment },
      awsSdkConnectionReuse: false,
      role: this.#role(props.statements).withoutPolicyUpdates(),
      logGroup: this.logGroup,
      bundling: {
        ...bundling,
        define: props.define,
        ...(props.servesConsole && { commandHooks: packsConsole }),
      },
      ...(props.sendsToOwnQueue && { recursiveLoop: RecursiveLoop.ALLOW }),
    });
  }

  #role(statements: readonly PolicyStatement[]): Role {
    const writeLog = new PolicyStatement({
      actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: [this.logGroup.logGroupArn],
    });
    return new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      inlinePolicies: { grants: new PolicyDocument({ statements: [writeLog, ...statements] }) },
    });
  }
}

interface FunctionsProps {
  readonly settings: StageSettings;
  readonly resources: FunctionResources;
}

type SwitchedSettings = Pick<StageSettings, 'storeEvents'> & {
  readonly exports: Pick<StageSettings['exports'], 'workers'>;
};

/** The functions that a stage has: all of the route table, except those that its settings switch off. */
export function functionNamesOf({ storeEvents, exports }: SwitchedSettings): FunctionName[] {
  const names = Object.keys(handlerFiles) as FunctionName[];
  const off = new Set<FunctionName>();
  if (!storeEvents) off.add('storeEvents');
  if (exports.workers === 0) off.add('exportArchive');
  return names.filter((name) => !off.has(name));
}

/** The functions of a stage, by name. */
export class Functions extends Construct {
  readonly #byName: ReadonlyMap<FunctionName, HandlerFunction>;

  constructor(scope: Construct, id: string, props: FunctionsProps) {
    super(scope, id);
    const names = functionNamesOf(props.settings);
    this.#byName = new Map(names.map((name) => [name, this.#build(name, props)]));
  }

  get(name: FunctionName): HandlerFunction {
    const found = this.#byName.get(name);
    if (found === undefined) throw new Error(`The stage has no function ${name}.`);
    return found;
  }

  entries(): ReadonlyMap<FunctionName, HandlerFunction> {
    return this.#byName;
  }

  #build(name: FunctionName, { settings, resources }: FunctionsProps): HandlerFunction {
    const spec = functionSpecs[name];
    return new HandlerFunction(this, name, {
      file: handlerFiles[name],
      description: spec.description,
      timeout:
        spec.timeoutSeconds === undefined
          ? Duration.minutes(settings.reconcile.timeoutMinutes)
          : Duration.seconds(spec.timeoutSeconds),
      memoryMb: settings.memoryMb[name],
      reservedConcurrency: name === 'lfsBatch' ? settings.reservedConcurrency.lfsBatch : undefined,
      environment: {
        POWERTOOLS_LOG_LEVEL: settings.logLevel,
        POWERTOOLS_METRICS_NAMESPACE: metricsNamespace(this),
        ...environmentFor(spec, resources),
      },
      statements: statementsFor(spec, resources),
      define: stageJson(settings),
      logRetentionDays: settings.logRetentionDays,
      ...(spec.servesConsole && { servesConsole: true }),
      // A long recount continues with a new message in the queue that it came from. Lambda would stop that as a
      // runaway loop after 16 rounds. The queue bounds it: one message per tenant and delay. An export hands out its
      // work in the same way, and ends within a day.
      ...((name === 'reconcile' || name === 'exportArchive') && { sendsToOwnQueue: true }),
    });
  }
}
