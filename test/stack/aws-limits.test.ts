import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type DeployedResource,
  type DeployedStack,
  deployed,
  nameMax,
  type TemplateJson,
} from './deployed-stack.ts';
import { templateOf } from './stack-template.ts';
import { fixtures, longestStage } from './stage-fixtures.ts';

/**
 * Limits that only a deployment to AWS would hit: neither the CDK nor the emulator of the deployed lane checks them. None
 * of them can be raised, but for the routes of an API. Those of which no stage uses a tenth are left out.
 */
interface Limit {
  readonly name: string;
  readonly most?: number;
  readonly least?: number;
  /** What of a stack is under the limit: where it is, and how much it is. */
  readonly measure: (stack: DeployedStack) => Iterable<readonly [where: string, amount: number]>;
}

/** A limit of each resource of a type. Undefined: the resource has nothing that it limits. */
function each(
  type: string,
  what: string,
  bounds: Pick<Limit, 'most' | 'least'>,
  amountOf: (resource: DeployedResource, stack: DeployedStack) => number | undefined,
): Limit {
  return {
    name: `${what} of ${type}`,
    ...bounds,
    *measure(stack) {
      for (const resource of stack.resources) {
        const amount = resource.type === type ? amountOf(resource, stack) : undefined;
        if (amount !== undefined) yield [resource.id, amount];
      }
    },
  };
}

/** Of what a template itself has. */
const ofTemplate = (
  name: string,
  most: number,
  amounts: (template: TemplateJson) => [where: string, amount: number][],
): Limit => ({ name, most, measure: ({ template }) => amounts(template) });

/** A value in the properties: `at(properties, 'A.B')`. */
// biome-ignore lint/suspicious/noExplicitAny: the properties of any type of resource.
const at = (properties: DeployedResource['properties'], path: string): any =>
  path.split('.').reduce((value, key) => value?.[key], properties);

const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
/** Of an alarm, in seconds: its own, or that of the metric in its expression. */
const periodOf = (properties: DeployedResource['properties']): number =>
  properties['Period'] ?? at(properties, 'Metrics.1.MetricStat.Period');
const isFifo = ({ EventSourceArn }: DeployedResource['properties']) =>
  String(EventSourceArn).endsWith('.fifo');
/** The resource of a type that an ARN, or a name, stands for. */
const named = ({ resources }: DeployedStack, type: string, name: unknown) =>
  resources.find((found) => found.type === type && found.name === String(name).split(':').at(-1));

/** Characters of a text, or entries of a list. */
const lengths: [type: string, path: string, most: number][] = [
  ['AWS::ApiGatewayV2::DomainName', 'DomainName', 253],
  ['AWS::ApiGatewayV2::Stage', 'AccessLogSettings.Format', 3_072],
  ['AWS::CloudFront::KeyGroup', 'KeyGroupConfig.Items', 5],
  ['AWS::CloudFront::OriginAccessControl', 'OriginAccessControlConfig.Name', 64],
  ['AWS::CloudWatch::Alarm', 'AlarmDescription', 1_024],
  ['AWS::CloudWatch::Alarm', 'MetricName', 255],
  ['AWS::CloudWatch::Alarm', 'Namespace', 255],
  ['AWS::DynamoDB::GlobalTable', 'GlobalSecondaryIndexes', 20],
  ['AWS::Lambda::Function', 'Description', 256],
  ['AWS::SNS::Topic', 'DisplayName', 100],
];

const source = 'AWS::Lambda::EventSourceMapping';
const numbers: [type: string, path: string, least: number, most: number][] = [
  ['AWS::Lambda::Function', 'MemorySize', 128, 10_240],
  ['AWS::Lambda::Function', 'Timeout', 1, 900],
  [source, 'BatchSize', 1, 10_000],
  [source, 'MaximumBatchingWindowInSeconds', 0, 300],
  [source, 'ScalingConfig.MaximumConcurrency', 2, 1_000],
  ['AWS::SQS::Queue', 'DelaySeconds', 0, 900],
  ['AWS::SQS::Queue', 'MessageRetentionPeriod', 60, 1_209_600],
  ['AWS::SQS::Queue', 'RedrivePolicy.maxReceiveCount', 1, 1_000],
  ['AWS::SQS::Queue', 'VisibilityTimeout', 0, 43_200],
  ['AWS::Scheduler::Schedule', 'Target.RetryPolicy.MaximumEventAgeInSeconds', 60, 86_400],
];

/** From the service's page of quotas, in its developer guide or API reference. */
const limits: readonly Limit[] = [
  ...lengths.map(([type, path, most]) =>
    each(type, `length of ${path}`, { most }, ({ properties }) => at(properties, path)?.length),
  ),
  ...numbers.map(([type, path, least, most]) =>
    each(type, path, { least, most }, ({ properties }) => at(properties, path)),
  ),
  // CloudFormation shortens the names that it makes. Those that the stack chooses it refuses.
  ...Object.entries(nameMax).map(([type, most]) =>
    each(type, 'characters of a chosen name', { most }, ({ properties }) => {
      return (properties['Name'] ?? properties[`${type.split('::').at(-1)}Name`])?.length;
    }),
  ),
  ofTemplate('bytes of a template', 1_000_000, (template) => [
    ['as the CDK writes it', Buffer.byteLength(JSON.stringify(template, undefined, 1))],
  ]),
  ofTemplate('resources of a template', 500, ({ Resources = {} }) => [['', Object.keys(Resources).length]]),
  ofTemplate('bytes of an output’s description', 1_024, ({ Outputs = {} }) =>
    Object.entries(Outputs).map(([id, { Description = '' }]) => [id, bytes(Description)]),
  ),
  ofTemplate('characters of a logical id', 255, ({ Resources, Outputs }) =>
    Object.keys({ ...Resources, ...Outputs }).map((id) => [id, id.length]),
  ),
  // Lambda measures its JSON, so a quote in a value is two bytes.
  each('AWS::Lambda::Function', 'bytes of the environment', { most: 4_096 }, ({ properties }) =>
    bytes(at(properties, 'Environment.Variables') ?? {}),
  ),
  each('AWS::IAM::Role', 'bytes of all inline policies', { most: 10_240 }, ({ properties }) =>
    (properties['Policies'] ?? [])
      .map(({ PolicyDocument }: { PolicyDocument: object }) => bytes(PolicyDocument))
      .reduce((sum: number, length: number) => sum + length, 0),
  ),
  each(source, 'messages in a batch of a FIFO queue', { most: 10 }, ({ properties }) =>
    isFifo(properties) ? properties['BatchSize'] : undefined,
  ),
  each(source, 'seconds that a FIFO queue gathers', { most: 0 }, ({ properties }) =>
    isFifo(properties) ? (properties['MaximumBatchingWindowInSeconds'] ?? 0) : undefined,
  ),
  each(source, 'messages in a batch that waits for none', { most: 10 }, ({ properties }) =>
    properties['MaximumBatchingWindowInSeconds'] ? undefined : properties['BatchSize'],
  ),
  each(source, 'seconds that a message stays hidden after its run', { least: 0 }, ({ properties }, stack) => {
    const queue = named(stack, 'AWS::SQS::Queue', properties['EventSourceArn']);
    const consumer = named(stack, 'AWS::Lambda::Function', properties['FunctionName'].replace(/:live$/, ''));
    return queue?.properties['VisibilityTimeout'] - consumer?.properties['Timeout'];
  }),
  each('AWS::CloudWatch::Alarm', 'seconds that it looks back', { most: 86_400 }, ({ properties }) =>
    periodOf(properties) < 3_600 ? periodOf(properties) * properties['EvaluationPeriods'] : undefined,
  ),
  each('AWS::CloudWatch::Alarm', 'hours that it looks back', { most: 7 * 24 }, ({ properties }) =>
    periodOf(properties) < 3_600
      ? undefined
      : (periodOf(properties) * properties['EvaluationPeriods']) / 3_600,
  ),
  each('AWS::CloudWatch::Dashboard', 'alarms of a widget', { most: 100 }, ({ properties }) => {
    const { widgets }: { widgets: { properties: { alarms?: unknown[] } }[] } = JSON.parse(
      properties['DashboardBody'],
    );
    return Math.max(...widgets.map((widget) => widget.properties.alarms?.length ?? 0));
  }),
  each('AWS::ApiGatewayV2::Api', 'routes', { most: 300 }, (_, { resources }) => {
    return resources.filter(({ type }) => type === 'AWS::ApiGatewayV2::Route').length;
  }),
  each(
    'AWS::ApiGatewayV2::Stage',
    'settings of routes that it lacks',
    { most: 0 },
    (stage, { resources }) => {
      const keys = new Set(resources.map(({ properties }) => properties['RouteKey']));
      return Object.keys(stage.properties['RouteSettings']).filter((key) => !keys.has(key)).length;
    },
  ),
];

/** What of a stack breaks a limit. */
const broken = (stack: DeployedStack) =>
  limits.flatMap(({ name, most = Number.POSITIVE_INFINITY, least = Number.NEGATIVE_INFINITY, measure }) =>
    [...measure(stack)].flatMap(([where, amount]) =>
      // A NaN keeps to no limit.
      amount >= least && amount <= most ? [] : [`${name}: ${where} has ${amount}`],
    ),
  );

const anywhere = { partition: 'aws', region: 'ap-southeast-1', urlSuffix: 'amazonaws.com' };
/** The longest names of regions, in each partition. */
const places = [
  anywhere,
  { partition: 'aws-cn', region: 'cn-northwest-1', urlSuffix: 'amazonaws.com.cn' },
  { partition: 'aws-us-gov', region: 'us-gov-west-1', urlSuffix: 'amazonaws.com' },
  { partition: 'aws-eusc', region: 'eusc-de-east-1', urlSuffix: 'amazonaws.eu' },
];

describe('the limits of AWS', () => {
  const function_ = (id: string, Properties: object) => ({
    [id]: { Type: 'AWS::Lambda::Function', Properties },
  });
  const brokenBy = (properties: object) =>
    broken(deployed({ Resources: function_('It', properties) }, 'test', anywhere));

  it('accept what is at them, and nothing beyond', () => {
    const within = { Timeout: 900, MemorySize: 128, Description: 'x'.repeat(256) };
    const variables = (length: number) => ({ Environment: { Variables: { A: 'x'.repeat(length) } } });
    expect(brokenBy({ ...within, ...variables(4_088) })).toEqual([]);
    expect(
      brokenBy({ ...variables(4_089), Timeout: 901, MemorySize: 127, Description: 'x'.repeat(257) }),
    ).toEqual([
      'length of Description of AWS::Lambda::Function: It has 257',
      'MemorySize of AWS::Lambda::Function: It has 127',
      'Timeout of AWS::Lambda::Function: It has 901',
      'bytes of the environment of AWS::Lambda::Function: It has 4097',
    ]);
  });

  it('are each met by some stage, but for those of names, which CloudFormation makes', () => {
    const stacks = fixtures.map(({ settings }) =>
      deployed(templateOf(settings).toJSON(), 'lfs-quota-test', anywhere),
    );
    const unmet = limits.filter(({ measure }) => stacks.every((stack) => [...measure(stack)].length === 0));
    expect(
      unmet.map(({ name }) => name).filter((name) => !name.startsWith('characters of a chosen')),
    ).toEqual([]);
  });
});

const queueShape = z.object({
  RedrivePolicy: z
    .object({ deadLetterTargetArn: z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('Arn')]) }) })
    .optional(),
  FifoQueue: z.boolean().default(false),
});

describe.each(fixtures.map(({ name, settings }) => [name, settings] as const))('%s', (_name, settings) => {
  let template: Template;
  beforeAll(() => {
    template = templateOf(settings, longestStage);
  });
  /** The properties of all resources of a type, by logical id. */
  const all = <S extends z.ZodType>(type: string, shape: S): [string, z.output<S>][] =>
    Object.entries(template.findResources(type)).map(([id, found]) => [id, shape.parse(found['Properties'])]);

  it.each(places)('keeps to each limit in $region', (place) => {
    expect(broken(deployed(template.toJSON(), `lfs-quota-${longestStage}`, place))).toEqual([]);
  });

  it('has dead-letter queues of the same kind as their queue', () => {
    const queues = new Map(all('AWS::SQS::Queue', queueShape));
    const redriven = [...queues.values()].filter(({ RedrivePolicy }) => RedrivePolicy);
    expect(redriven.length).toBe(queues.size / 2);
    for (const { FifoQueue, RedrivePolicy } of redriven) {
      const target = queues.get(RedrivePolicy?.deadLetterTargetArn['Fn::GetAtt'][0] ?? '');
      expect(target?.FifoQueue).toBe(FifoQueue);
    }
  });

  it('names variables as Lambda allows, and spells the rate of the schedule as AWS requires it', () => {
    const variables = z.object({
      Environment: z.object({ Variables: z.record(z.string().regex(/^[A-Za-z]\w+$/), z.unknown()) }),
    });
    expect(all('AWS::Lambda::Function', variables).length).toBeGreaterThanOrEqual(8);
    for (const [, found] of all('AWS::Scheduler::Schedule', z.object({ ScheduleExpression: z.string() })))
      expect(found.ScheduleExpression).toMatch(
        /^rate\((?:1 (?:minute|hour|day)|(?:[2-9]|[1-9]\d+) (?:minutes|hours|days))\)$/,
      );
  });

  it('has periods of alarms in whole minutes', () => {
    const alarms = all('AWS::CloudWatch::Alarm', z.record(z.string(), z.unknown()));
    expect(alarms.length).toBeGreaterThan(10);
    expect(alarms.filter(([, properties]) => !(periodOf(properties) % 60 === 0))).toEqual([]);
  });
});

it('gives no resource but the access log a fixed name, because two stages in one account would collide', () => {
  const fixed = /^(?:Function|Queue|Bucket|Role|Table|Topic|Alarm|LogGroup|Dashboard)Name$/;
  const { Resources } = templateOf({ storeEvents: true }).toJSON();
  const found = Object.entries(Resources as Record<string, { Type: string; Properties?: object }>).flatMap(
    ([id, { Properties = {} }]) =>
      Object.entries(Properties).flatMap(([key, value]) =>
        fixed.test(key) && typeof value === 'string' ? [`${id}.${key}`] : [],
      ),
  );
  expect(found).toEqual([expect.stringMatching(/^ApiAccessLog\w+\.LogGroupName$/)]);
});

it('has its access log where API Gateway needs no further room in the policy of the account, per stage', () => {
  // The policy has 5,120 characters. Each log group outside of this prefix takes some of them.
  templateOf().hasResourceProperties('AWS::Logs::LogGroup', {
    LogGroupName: '/aws/vendedlogs/lfs-quota-test/access',
  });
});
