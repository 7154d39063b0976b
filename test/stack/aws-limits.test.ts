import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { StageSettingsInput } from '../../lib/settings/stage-settings.ts';
import { overLimit, quotas } from './aws-quotas.ts';
import { deployed, type TemplateJson } from './deployed-stack.ts';
import { templateOf } from './stack-template.ts';

/** Limits that only a deployment to AWS would hit: neither the CDK nor the emulator of the deployed lane checks them. */

const longArn = (service: string, rest: string) => `arn:aws:${service}:eu-central-1:111122223333:${rest}`;
const largest: StageSettingsInput = {
  domain: { name: 'lfs.example.com', certificateArn: longArn('acm', 'certificate/abc') },
  corsOrigins: Array.from(
    { length: 20 },
    (_, index) => `https://${'long-name.'.repeat(5)}example${index}.com`,
  ),
  alarms: { email: 'ops@example.com' },
  reconcile: { timeoutMinutes: 15, delaySeconds: 900, attemptsMax: 100, concurrency: 1_000 },
  exports: { workers: 1_000, perTenant: 100, keepDays: 30 },
  refreshEveryMinutes: 1,
};
const stages: [string, StageSettingsInput][] = [
  ['a stage with the defaults', {}],
  ['a stage with every option', { ...largest, storeEvents: true }],
  [
    'a stage with an external store',
    {
      ...largest,
      refreshEveryMinutes: 1_440,
      alarms: { recountAgeHours: 49 },
      objectStore: {
        kind: 'external',
        endpoint: `https://${'a'.repeat(60)}.example.com`,
        region: 'auto',
        bucket: 'b'.repeat(63),
        credentialsSecretArn: longArn('secretsmanager', `secret:${'c'.repeat(400)}-AbCdEf`),
      },
    },
  ],
];

const roleShape = z.object({
  Policies: z.array(z.object({ PolicyDocument: z.unknown() })).default([]),
  Description: z.string().max(1_000).optional(),
});
const functionShape = z.object({
  Environment: z.object({ Variables: z.record(z.string().regex(/^[A-Za-z]\w+$/), z.unknown()) }),
  Description: z.string().max(256).optional(),
  Timeout: z.int().max(900),
  MemorySize: z.int().min(128).max(10_240),
});
const queueShape = z.object({
  DelaySeconds: z.int().max(900).optional(),
  VisibilityTimeout: z.int().max(43_200).optional(),
  MessageRetentionPeriod: z.int().max(1_209_600),
  RedrivePolicy: z
    .object({
      maxReceiveCount: z.int().min(1).max(1_000),
      deadLetterTargetArn: z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('Arn')]) }),
    })
    .optional(),
  FifoQueue: z.boolean().default(false),
});
const sourceShape = z.object({
  BatchSize: z.int().max(10_000),
  MaximumBatchingWindowInSeconds: z.int().max(300).default(0),
  ScalingConfig: z.object({ MaximumConcurrency: z.int().min(2).max(1_000) }),
  EventSourceArn: z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('Arn')]) }),
});
const alarmShape = z.object({
  AlarmDescription: z.string().max(1_024),
  Period: z.int().multipleOf(60),
  EvaluationPeriods: z.int().min(1),
});

/** Where names are long. A region of another partition has its own names. */
const places = [
  { partition: 'aws', region: 'ap-southeast-1', urlSuffix: 'amazonaws.com' },
  { partition: 'aws-cn', region: 'cn-northwest-1', urlSuffix: 'amazonaws.com.cn' },
  { partition: 'aws-us-gov', region: 'us-gov-west-1', urlSuffix: 'amazonaws.com' },
  { partition: 'aws-eusc', region: 'eusc-de-east-1', urlSuffix: 'amazonaws.eu' },
];
/** The longest name that a stage can have. */
const longestStage = 's'.repeat(20);

/** An upper bound of how long a value is once CloudFormation has put in what it refers to. */
function lengthOf(value: unknown): number {
  const resolved = JSON.stringify(value, (_key, part: unknown) => {
    const isReference = typeof part === 'object' && part !== null && ('Ref' in part || 'Fn::GetAtt' in part);
    return isReference ? 'r'.repeat(160) : part;
  });
  return resolved.length;
}

const [somewhere = { partition: '', region: '', urlSuffix: '' }] = places;
const measured = (quota: (typeof quotas)[number], template: TemplateJson) =>
  overLimit(quota, deployed(template, 'lfs-quota-test', somewhere));

describe.each(quotas)('the limit of $name', (quota) => {
  const amounts = (amount: number) => [
    ...quota.measure(deployed(quota.sample(amount), 'lfs-quota-test', somewhere)),
  ];
  const base = Math.max(...amounts(0).map(([, amount]) => amount));

  it('accepts what is at it, and nothing beyond', () => {
    const beyond = quota.isLeast ? -1 : 1;
    expect(measured(quota, quota.sample(quota.limit - base))).toEqual([]);
    expect(measured(quota, quota.sample(quota.limit - base + beyond))).toHaveLength(1);
  });
});

describe.each(stages)('%s', (_name, settings) => {
  let template: Template;
  beforeAll(() => {
    template = templateOf(settings, longestStage);
  });

  it.each(quotas)('keeps to the limit of $name', (quota) => {
    for (const place of places) {
      const stack = deployed(template.toJSON(), `lfs-quota-${longestStage}`, place);
      expect(overLimit(quota, stack), place.region).toEqual([]);
    }
  });
  /** The properties of all resources of a type, by logical id. */
  const all = <S extends z.ZodType>(type: string, shape: S): [string, z.output<S>][] =>
    Object.entries(template.findResources(type)).map(([id, found]) => [id, shape.parse(found['Properties'])]);

  it('has a template that CloudFormation accepts', () => {
    const { Resources, Outputs } = template.toJSON();
    expect(JSON.stringify(template.toJSON(), null, 1).length).toBeLessThan(1_000_000);
    expect(Object.keys(Resources).length).toBeLessThanOrEqual(500);
    expect(Object.keys(Outputs).length).toBeLessThanOrEqual(200);
  });

  it('keeps variables of functions below 4 KB, and policies of roles below 10,240 characters', () => {
    const functions = all('AWS::Lambda::Function', functionShape);
    expect(functions.length).toBeGreaterThanOrEqual(8);
    for (const [id, { Environment }] of functions)
      expect(lengthOf(Environment.Variables), id).toBeLessThan(4_096);
    for (const [id, { Policies }] of all('AWS::IAM::Role', roleShape)) {
      const sum = Policies.reduce((length, { PolicyDocument }) => length + lengthOf(PolicyDocument), 0);
      expect(sum, id).toBeLessThan(10_240);
    }
  });

  it('has dead-letter queues of the same kind as their queue, and event sources that fit the kind', () => {
    const queues = new Map(all('AWS::SQS::Queue', queueShape));
    const redriven = [...queues.values()].filter(({ RedrivePolicy }) => RedrivePolicy);
    expect(redriven.length).toBe(queues.size / 2);
    for (const { FifoQueue, RedrivePolicy } of redriven) {
      const target = queues.get(RedrivePolicy?.deadLetterTargetArn['Fn::GetAtt'][0] ?? '');
      expect(target?.FifoQueue).toBe(FifoQueue);
    }
    for (const [id, source] of all('AWS::Lambda::EventSourceMapping', sourceShape)) {
      const isFifo = queues.get(source.EventSourceArn['Fn::GetAtt'][0])?.FifoQueue;
      if (isFifo) expect(source.BatchSize, id).toBeLessThanOrEqual(10);
      if (isFifo) expect(source.MaximumBatchingWindowInSeconds, id).toBe(0);
      else if (source.BatchSize > 10) expect(source.MaximumBatchingWindowInSeconds, id).toBeGreaterThan(0);
    }
  });

  it('has alarms that look back no further than CloudWatch allows', () => {
    const alarms = all('AWS::CloudWatch::Alarm', alarmShape);
    expect(alarms.length).toBeGreaterThan(10);
    for (const [id, { Period, EvaluationPeriods }] of alarms) {
      const days = Period >= 3_600 ? 7 : 1;
      expect(Period * EvaluationPeriods, id).toBeLessThanOrEqual(days * 86_400);
    }
  });

  it('spells the rate of the schedule as AWS requires it', () => {
    const shape = z.object({ ScheduleExpression: z.string(), Description: z.string().max(512) });
    for (const [, { ScheduleExpression }] of all('AWS::Scheduler::Schedule', shape))
      expect(ScheduleExpression).toMatch(
        /^rate\((?:1 (?:minute|hour|day)|(?:[2-9]|[1-9]\d+) (?:minutes|hours|days))\)$/,
      );
  });
});

it('gives no resource but the access log a fixed name, because two stages in one account would collide', () => {
  const named = /^(?:Function|Queue|Bucket|Role|Table|Topic|Alarm|LogGroup|Dashboard)Name$/;
  const { Resources } = templateOf({ storeEvents: true }).toJSON();
  const found = Object.entries(Resources as Record<string, { Type: string; Properties?: object }>).flatMap(
    ([id, { Properties = {} }]) =>
      Object.entries(Properties).flatMap(([key, value]) =>
        named.test(key) && typeof value === 'string' ? [`${id}.${key}`] : [],
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
