import type { DeployedResource, DeployedStack, TemplateJson } from './deployed-stack.ts';
import { nameMax } from './deployed-stack.ts';

/** A limit of AWS that a template can meet. None of them can be raised, but for the routes of an API. */
export interface Quota {
  readonly name: string;
  readonly limit: number;
  /** The limit is the least that AWS accepts, not the most. */
  readonly isLeast?: true;
  /** The type of resource that it limits. Undefined: the template, or resources of all types. */
  readonly type?: string;
  /** What of a stack is under the limit: where it is, and how much it is. */
  readonly measure: (stack: DeployedStack) => Iterable<readonly [where: string, amount: number]>;
  /** A template of which a measured amount grows by 1 with each 1 of this. */
  readonly sample: (amount: number) => TemplateJson;
}

/** What of a stack breaks the limit. */
export function broken({ limit, isLeast, measure }: Quota, stack: DeployedStack): string[] {
  return [...measure(stack)].flatMap(([where, amount]) =>
    (isLeast ? amount < limit : amount > limit) ? [`${where}: ${amount}`] : [],
  );
}

/** Types of resources that have no limit which a template could meet. */
export const withoutQuota: readonly string[] = ['AWS::ApiGatewayV2::ApiMapping', 'AWS::SNS::Subscription'];

const text = (length: number) => 'x'.repeat(length);
const list = <T>(length: number, of: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => of(index));
const bytes = (value: unknown) =>
  Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));
const one = (type: string, properties: object): TemplateJson => ({
  Resources: { One: { Type: type, Properties: properties } },
});
/** A value in the properties: `at(properties, 'A.B')`. */
// biome-ignore lint/suspicious/noExplicitAny: the properties of any type of resource.
const at = (properties: DeployedResource['properties'], path: string): any =>
  path.split('.').reduce((value, key) => value?.[key], properties);
const under = (path: string, value: unknown): object =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as object;
/** A property that may be one value or a list of them. */
const many = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];

/** A limit of each resource of a type. Undefined: the resource has nothing that it limits. */
function each(
  type: string,
  name: string,
  limit: number,
  amountOf: (resource: DeployedResource, stack: DeployedStack) => number | undefined,
  sample: (amount: number) => object | TemplateJson,
): Quota & { readonly type: string } {
  return {
    type,
    name: `${name} of ${type}`,
    limit,
    *measure(stack) {
      for (const resource of stack.resources) {
        const amount = resource.type === type ? amountOf(resource, stack) : undefined;
        if (amount !== undefined) yield [resource.id, amount];
      }
    },
    sample: (amount) => {
      const made = sample(amount);
      return 'Resources' in made ? made : one(type, made);
    },
  };
}

/** Characters of a text. */
const characters = (type: string, path: string, limit: number) =>
  each(
    type,
    `characters in ${path}`,
    limit,
    ({ properties }) => at(properties, path)?.length,
    (n) => under(path, text(n)),
  );
/** Entries of a list. */
const entries = (type: string, path: string, limit: number) =>
  each(
    type,
    `entries in ${path}`,
    limit,
    ({ properties }) => at(properties, path)?.length,
    (n) => under(path, list(n, String)),
  );
/** The most and the least that a number may be. */
const between = (type: string, path: string, least: number, most: number): Quota[] => {
  const row = each(
    type,
    path,
    most,
    ({ properties }) => at(properties, path),
    (n) => under(path, n),
  );
  return [row, { ...row, name: `${row.name}, at least`, limit: least, isLeast: true }];
};

interface Statement {
  readonly Action?: unknown;
  readonly Condition?: object;
  readonly Principal?: unknown;
}

const statementsOf = (properties: DeployedResource['properties'], path: string): Statement[] =>
  at(properties, path)?.Statement ?? [];

/** What a policy with this document may have. */
function policy(type: string, path: string, limits: { bytes: number; statements?: number }): Quota[] {
  const withStatements = (statements: unknown) =>
    under(path, { Version: '2012-10-17', Statement: statements });
  return [
    each(
      type,
      `bytes of ${path}`,
      limits.bytes,
      ({ properties }) => bytes(at(properties, path)),
      (n) => withStatements(text(n)),
    ),
    ...(limits.statements === undefined
      ? []
      : [
          each(
            type,
            `statements of ${path}`,
            limits.statements,
            ({ properties }) => statementsOf(properties, path).length,
            (n) => withStatements(list(n, () => ({}))),
          ),
        ]),
  ];
}

const cloudFormation: Quota[] = [
  {
    name: 'bytes of a template',
    limit: 1_000_000,
    // As the CDK writes it.
    *measure({ template }) {
      yield ['template', bytes(JSON.stringify(template, undefined, 1))];
    },
    sample: (n) => ({ Description: text(n) }),
  },
  {
    name: 'bytes of a template’s description',
    limit: 1_024,
    *measure({ template }) {
      yield ['template', bytes(template.Description ?? '')];
    },
    sample: (n) => ({ Description: text(n) }),
  },
  ...(
    [
      ['Resources', 500],
      ['Outputs', 200],
      ['Parameters', 200],
    ] as const
  ).map(([section, limit]) => ({
    name: `${section} of a template`,
    limit,
    *measure({ template }: DeployedStack) {
      yield [section, Object.keys(template[section] ?? {}).length] as const;
    },
    sample: (n: number): TemplateJson => ({
      [section]: Object.fromEntries(list(n, (index) => [`Id${index}`, { Type: 'A::B::C', Value: 'x' }])),
    }),
  })),
  {
    name: 'bytes of an output’s description',
    limit: 1_024,
    *measure({ template }) {
      for (const [id, { Description = '' }] of Object.entries(template.Outputs ?? {}))
        yield [id, bytes(Description)];
    },
    sample: (n) => ({ Outputs: { One: { Value: 'x', Description: text(n) } } }),
  },
  {
    name: 'characters of a logical id',
    limit: 255,
    *measure({ template }) {
      for (const id of Object.keys({ ...template.Resources, ...template.Outputs })) yield [id, id.length];
    },
    sample: (n) => ({ Outputs: { [text(n)]: { Value: 'x' } } }),
  },
];

/** Tags as a list or as a map. */
function tagsOf({ properties }: DeployedResource): [key: string, value: string][] {
  const tags = properties['Tags'] ?? {};
  if (!Array.isArray(tags)) return Object.entries(tags);
  return tags.map(({ Key, Value }) => [Key, Value]);
}

const tags = (
  [
    [
      'tags',
      50,
      (found: [string, string][]) => found.length,
      (n: number) => list(n, (index) => [`k${index}`, 'v']),
    ],
    [
      'characters of a tag’s key',
      128,
      (found) => longest(found.map(([key]) => key)),
      (n) => [[text(n), 'v']],
    ],
    [
      'characters of a tag’s value',
      256,
      (found) => longest(found.map(([, value]) => value)),
      (n) => [['k', text(n)]],
    ],
  ] as [string, number, (found: [string, string][]) => number, (n: number) => [string, string][]][]
).map(
  ([name, limit, amountOf, sample]): Quota => ({
    name: `${name} of a resource`,
    limit,
    *measure({ resources }) {
      for (const resource of resources) yield [resource.id, amountOf(tagsOf(resource))];
    },
    sample: (n) => one('A::B::C', { Tags: sample(n).map(([Key, Value]) => ({ Key, Value })) }),
  }),
);

const longest = (texts: readonly string[]) => Math.max(0, ...texts.map((each) => each.length));

/** CloudFormation shortens the names that it makes. Those that the stack chooses it refuses. */
const names: Quota[] = Object.entries(nameMax).map(([type, limit]) => {
  const key = `${type.split('::').at(-1)}Name`;
  return each(
    type,
    'characters of a chosen name',
    limit,
    ({ properties }) => (properties['Name'] ?? properties[key])?.length,
    (n) => ({ [key]: text(n) }),
  );
});

/** A statement as Lambda stores it: one for each permission, each with the id that CloudFormation makes. */
function statementOf({ name, properties }: DeployedResource) {
  const { FunctionName, Principal, Action, SourceArn } = properties;
  return {
    Sid: name,
    Effect: 'Allow',
    Principal: { Service: Principal },
    Action,
    Resource: FunctionName,
    ...(SourceArn && { Condition: { ArnLike: { 'AWS:SourceArn': SourceArn } } }),
  };
}

/** The resource of a type that an ARN, or a name, stands for. */
const named = ({ resources }: DeployedStack, type: string, name: unknown) =>
  resources.find((each) => each.type === type && each.name === String(name).split(':').at(-1));
const isFifo = ({ properties }: DeployedResource) => String(properties['EventSourceArn']).endsWith('.fifo');

const source = 'AWS::Lambda::EventSourceMapping';
const lambda: Quota[] = [
  {
    type: 'AWS::Lambda::Permission',
    name: 'bytes of a function’s resource policy',
    limit: 20_480,
    *measure(stack) {
      const permissions = stack.resources.filter(({ type }) => type === 'AWS::Lambda::Permission');
      for (const name of new Set(permissions.map(({ properties }) => String(properties['FunctionName'])))) {
        const ofFunction = permissions.filter(({ properties }) => properties['FunctionName'] === name);
        const Statement = ofFunction.map(statementOf);
        yield [name, bytes({ Version: '2012-10-17', Id: 'default', Statement })];
      }
    },
    sample: (n) => {
      const permission = (Action: string) => ({
        Type: 'AWS::Lambda::Permission',
        Properties: { FunctionName: 'f', Principal: 'p', Action },
      });
      return { Resources: { One: permission(text(n)), Two: permission('x') } };
    },
  },
  // Lambda measures its JSON, so a quote in a value is two bytes.
  each(
    'AWS::Lambda::Function',
    'bytes of the environment',
    4_096,
    ({ properties }) => bytes(at(properties, 'Environment.Variables') ?? {}),
    (n) => ({ Environment: { Variables: { QUOTED: '"', LONG: text(n) } } }),
  ),
  characters('AWS::Lambda::Function', 'Description', 256),
  ...between('AWS::Lambda::Function', 'Timeout', 1, 900),
  ...between('AWS::Lambda::Function', 'MemorySize', 128, 10_240),
  ...between(source, 'ScalingConfig.MaximumConcurrency', 2, 1_000),
  ...between(source, 'BatchSize', 1, 10_000),
  ...between(source, 'MaximumBatchingWindowInSeconds', 0, 300),
  each(
    source,
    'messages in a batch of a FIFO queue',
    10,
    (resource) => (isFifo(resource) ? resource.properties['BatchSize'] : undefined),
    (n) => ({ EventSourceArn: 'q.fifo', BatchSize: n }),
  ),
  each(
    source,
    'seconds that a FIFO queue gathers',
    0,
    (resource) =>
      isFifo(resource) ? (resource.properties['MaximumBatchingWindowInSeconds'] ?? 0) : undefined,
    (n) => ({ EventSourceArn: 'q.fifo', MaximumBatchingWindowInSeconds: n }),
  ),
  each(
    source,
    'messages in a batch that waits for none',
    10,
    ({ properties }) => (properties['MaximumBatchingWindowInSeconds'] ? undefined : properties['BatchSize']),
    (n) => ({ BatchSize: n }),
  ),
  {
    ...each(
      source,
      'seconds for which a message stays hidden after its function timed out',
      0,
      ({ properties: { EventSourceArn, FunctionName } }, stack) => {
        const queue = named(stack, 'AWS::SQS::Queue', EventSourceArn);
        const consumer = named(stack, 'AWS::Lambda::Function', FunctionName);
        return (queue?.properties['VisibilityTimeout'] ?? 30) - (consumer?.properties['Timeout'] ?? 3);
      },
      (n) => ({
        Resources: {
          Source: { Type: source, Properties: { EventSourceArn: 'arn:q', FunctionName: 'f' } },
          Queue: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'q', VisibilityTimeout: n } },
          Consumer: { Type: 'AWS::Lambda::Function', Properties: { FunctionName: 'f', Timeout: 7 } },
        },
      }),
    ),
    isLeast: true,
  },
];

const iam: Quota[] = [
  each(
    'AWS::IAM::Role',
    'bytes of all inline policies',
    10_240,
    ({ properties: { Policies = [] } }) =>
      Policies.reduce(
        (sum: number, { PolicyDocument }: { PolicyDocument: object }) => sum + bytes(PolicyDocument),
        0,
      ),
    (n) => ({ Policies: [{ PolicyDocument: text(n) }, { PolicyDocument: text(1) }] }),
  ),
  ...policy('AWS::IAM::Role', 'AssumeRolePolicyDocument', { bytes: 2_048 }),
];

const inStatements = (
  name: string,
  limit: number,
  amountOf: (statements: Statement[]) => number,
  statement: (n: number) => Statement,
) =>
  each(
    'AWS::SQS::QueuePolicy',
    name,
    limit,
    ({ properties }) => amountOf(statementsOf(properties, 'PolicyDocument')),
    (n) => ({ PolicyDocument: { Statement: [{}, statement(n)] } }),
  );

const queuesAndTopics: Quota[] = [
  ...between('AWS::SQS::Queue', 'DelaySeconds', 0, 900),
  ...between('AWS::SQS::Queue', 'VisibilityTimeout', 0, 43_200),
  ...between('AWS::SQS::Queue', 'MessageRetentionPeriod', 60, 1_209_600),
  ...between('AWS::SQS::Queue', 'RedrivePolicy.maxReceiveCount', 1, 1_000),
  ...policy('AWS::SQS::QueuePolicy', 'PolicyDocument', { bytes: 8_192, statements: 20 }),
  inStatements(
    'actions of a statement',
    7,
    (statements) => Math.max(0, ...statements.map(({ Action }) => many(Action).length)),
    (n) => ({ Action: list(n, String) }),
  ),
  inStatements(
    'principals',
    50,
    (statements) =>
      statements.flatMap(({ Principal = {} }) => Object.values(Principal ?? {}).flatMap(many)).length,
    (n) => ({ Principal: { AWS: list(n, String) } }),
  ),
  inStatements(
    'conditions',
    10,
    (statements) =>
      statements.flatMap(({ Condition = {} }) => Object.values(Condition).flatMap(Object.keys)).length,
    (n) => ({ Condition: { StringEquals: Object.fromEntries(list(n, (index) => [index, 'x'])) } }),
  ),
  ...policy('AWS::SNS::TopicPolicy', 'PolicyDocument', { bytes: 30_720, statements: 100 }),
  characters('AWS::SNS::Topic', 'DisplayName', 100),
];

const dataAndStore: Quota[] = [
  entries('AWS::DynamoDB::GlobalTable', 'GlobalSecondaryIndexes', 20),
  ...policy('AWS::S3::BucketPolicy', 'PolicyDocument', { bytes: 20_480 }),
  entries('AWS::S3::Bucket', 'LifecycleConfiguration.Rules', 1_000),
  entries('AWS::S3::Bucket', 'NotificationConfiguration.QueueConfigurations', 100),
  characters('AWS::SecretsManager::Secret', 'Description', 2_048),
];

const alarm = 'AWS::CloudWatch::Alarm';
const secondsOf = ({ EvaluationPeriods, Period, Metrics = [] }: DeployedResource['properties']) => {
  const periods: number[] = [
    Period ?? 0,
    ...Metrics.map((metric: object) => at(metric, 'MetricStat.Period') ?? 0),
  ];
  const period = Math.max(...periods);
  return { period, lookBack: period * EvaluationPeriods };
};

const widgetsOf = ({
  properties,
}: DeployedResource): { properties: { metrics?: unknown[]; alarms?: unknown[] } }[] =>
  JSON.parse(properties['DashboardBody']).widgets;
const inDashboard = (
  name: string,
  limit: number,
  amountOf: (widgets: ReturnType<typeof widgetsOf>) => number,
  widgets: (n: number) => object[],
) =>
  each(
    'AWS::CloudWatch::Dashboard',
    name,
    limit,
    (resource) => amountOf(widgetsOf(resource)),
    (n) => ({ DashboardBody: JSON.stringify({ widgets: widgets(n) }) }),
  );
const metricsIn = (n: number) => ({ properties: { metrics: list(n, () => ['N', 'M']) } });

const monitoring: Quota[] = [
  characters(alarm, 'AlarmDescription', 1_024),
  characters(alarm, 'Namespace', 255),
  characters(alarm, 'MetricName', 255),
  entries(alarm, 'Dimensions', 30),
  entries(alarm, 'AlarmActions', 5),
  entries(alarm, 'OKActions', 5),
  each(
    alarm,
    'metrics in an expression',
    10,
    ({ properties: { Metrics } }) => Metrics?.filter((metric: object) => 'MetricStat' in metric).length,
    (n) => ({
      EvaluationPeriods: 1,
      Metrics: [{ Expression: 'SUM(METRICS())' }, ...list(n, () => ({ MetricStat: {} }))],
    }),
  ),
  each(
    alarm,
    'seconds beyond a day, or a week if a period has an hour,',
    0,
    ({ properties }) => {
      const { period, lookBack } = secondsOf(properties);
      return lookBack - (period >= 3_600 ? 7 : 1) * 86_400;
    },
    (n) => ({ EvaluationPeriods: n, Period: 1 }),
  ),
  inDashboard(
    'widgets',
    500,
    (widgets) => widgets.length,
    (n) => list(n, () => metricsIn(1)),
  ),
  inDashboard(
    'metrics of a widget',
    500,
    (widgets) => Math.max(...widgets.map(({ properties: { metrics = [] } }) => metrics.length)),
    (n) => [metricsIn(1), metricsIn(n)],
  ),
  inDashboard(
    'metrics',
    2_500,
    (widgets) => widgets.flatMap(({ properties: { metrics = [] } }) => metrics).length,
    (n) => [metricsIn(1), metricsIn(n)],
  ),
  inDashboard(
    'alarms of a widget',
    100,
    (widgets) => Math.max(...widgets.map(({ properties: { alarms = [] } }) => alarms.length)),
    (n) => [{ properties: { alarms: list(n, String) } }],
  ),
  characters('AWS::Logs::MetricFilter', 'FilterPattern', 1_024),
  each(
    'AWS::Logs::LogGroup',
    'metric filters',
    100,
    ({ name }, { resources }) =>
      resources.filter(
        ({ type, properties }) => type === 'AWS::Logs::MetricFilter' && properties['LogGroupName'] === name,
      ).length,
    (n) => ({
      Resources: {
        Log: { Type: 'AWS::Logs::LogGroup', Properties: { LogGroupName: 'log' } },
        ...Object.fromEntries(
          list(n, (index) => [
            `F${index}`,
            { Type: 'AWS::Logs::MetricFilter', Properties: { LogGroupName: 'log' } },
          ]),
        ),
      },
    }),
  ),
  characters('AWS::Scheduler::Schedule', 'Description', 512),
  characters('AWS::Scheduler::Schedule', 'ScheduleExpression', 256),
  ...between('AWS::Scheduler::Schedule', 'Target.RetryPolicy.MaximumEventAgeInSeconds', 60, 86_400),
  ...between('AWS::Scheduler::Schedule', 'Target.RetryPolicy.MaximumRetryAttempts', 0, 185),
];

const stage = 'AWS::ApiGatewayV2::Stage';
/** Resources of a type for each API. */
const perApi = (type: string, limit: number): Quota => ({
  ...each(
    'AWS::ApiGatewayV2::Api',
    type,
    limit,
    (_, { resources }) => resources.filter((resource) => resource.type === type).length,
    (n) => ({
      Resources: {
        Api: { Type: 'AWS::ApiGatewayV2::Api' },
        ...Object.fromEntries(list(n, (index) => [`R${index}`, { Type: type }])),
      },
    }),
  ),
  type,
});

const api: Quota[] = [
  perApi('AWS::ApiGatewayV2::Route', 300),
  perApi('AWS::ApiGatewayV2::Integration', 300),
  perApi(stage, 10),
  characters('AWS::ApiGatewayV2::DomainName', 'DomainName', 253),
  characters(stage, 'AccessLogSettings.Format', 3_072),
  each(
    stage,
    'settings of routes that it does not have',
    0,
    ({ properties: { RouteSettings = {} } }, { resources }) => {
      const routes = resources.filter(({ type }) => type === 'AWS::ApiGatewayV2::Route');
      const keys = new Set(routes.map(({ properties }) => properties['RouteKey']));
      return Object.keys(RouteSettings).filter((key) => !keys.has(key)).length;
    },
    (n) => ({
      Resources: {
        Stage: {
          Type: stage,
          Properties: {
            RouteSettings: { 'GET /': {}, ...Object.fromEntries(list(n, (i) => [`GET /${i}`, {}])) },
          },
        },
        Route: { Type: 'AWS::ApiGatewayV2::Route', Properties: { RouteKey: 'GET /' } },
      },
    }),
  ),
];

/** Quota → limit → how it is measured. From the service's page of quotas, in its developer guide or API reference. */
export const quotas: readonly Quota[] = [
  ...cloudFormation,
  ...tags,
  ...names,
  ...lambda,
  ...iam,
  ...queuesAndTopics,
  ...dataAndStore,
  ...monitoring,
  ...api,
];
