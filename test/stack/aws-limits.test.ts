import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { broken, quotas, withoutQuota } from './aws-quotas.ts';
import { deployed, type TemplateJson } from './deployed-stack.ts';
import { templateOf } from './stack-template.ts';
import { fixtures, longestStage } from './stage-fixtures.ts';

/** Limits that only a deployment to AWS would hit: neither the CDK nor the emulator of the deployed lane checks them. */

const anywhere = { partition: 'aws', region: 'ap-southeast-1', urlSuffix: 'amazonaws.com' };
/** The longest names of regions, in each partition. */
const places = [
  anywhere,
  { partition: 'aws-cn', region: 'cn-northwest-1', urlSuffix: 'amazonaws.com.cn' },
  { partition: 'aws-us-gov', region: 'us-gov-west-1', urlSuffix: 'amazonaws.com' },
  { partition: 'aws-eusc', region: 'eusc-de-east-1', urlSuffix: 'amazonaws.eu' },
];

describe.each(quotas.map((quota) => [quota.name, quota] as const))('the limit of %s', (_name, quota) => {
  const measured = (template: TemplateJson) => deployed(template, 'test', anywhere);
  const atLimit = (beyond: number) => {
    const amounts = [...quota.measure(measured(quota.sample(1)))].map(([, amount]) => amount);
    return measured(quota.sample(1 + quota.limit - Math.max(...amounts) + beyond));
  };

  it('accepts what is at it, and nothing beyond', () => {
    const [least = Number.NaN] = [...quota.measure(atLimit(0))].map(([, amount]) => amount).slice(-1);
    expect(least).toBe(quota.limit);
    expect(broken(quota, atLimit(0))).toEqual([]);
    expect(broken(quota, atLimit(quota.isLeast ? -1 : 1))).toHaveLength(1);
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

  it('keeps to each limit, wherever it is deployed', () => {
    const found = places.flatMap((place) => {
      const stack = deployed(template.toJSON(), `lfs-quota-${longestStage}`, place);
      return quotas.map((quota) => [`${place.region}: ${quota.name}`, broken(quota, stack)] as const);
    });
    expect(found.filter(([, over]) => over.length > 0)).toEqual([]);
  });

  it('has no type of resource without a limit', () => {
    const types = Object.values<{ Type: string }>(template.toJSON()['Resources']).map(({ Type }) => Type);
    const known = new Set([...withoutQuota, ...quotas.map(({ type }) => type)]);
    expect(types.filter((type) => !known.has(type))).toEqual([]);
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
    const alarms = all('AWS::CloudWatch::Alarm', z.object({ Period: z.int().multipleOf(60) }));
    expect(alarms.length).toBeGreaterThan(10);
  });
});

it('each limit is met by some resource, but for names, which CloudFormation makes, and expressions of alarms', () => {
  const stacks = fixtures.map(({ settings }) =>
    deployed(templateOf(settings).toJSON(), 'lfs-quota-test', anywhere),
  );
  const unmet = quotas.filter((quota) => stacks.every((stack) => [...quota.measure(stack)].length === 0));
  expect(
    unmet.map(({ name }) => name).filter((name) => !name.startsWith('characters of a chosen name')),
  ).toEqual(['metrics in an expression of AWS::CloudWatch::Alarm']);
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
