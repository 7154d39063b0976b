import { fileURLToPath } from 'node:url';
import { type Duration, RemovalPolicy } from 'aws-cdk-lib';
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

export interface HandlerFunctionProps {
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
