import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import {
  clientRequests,
  costOf,
  defaultWorkload,
  monthOf,
  standing,
  sumOf,
  totalOf,
} from '../../cost/operations.ts';
import { metricUnits } from '../../lambda/core/rules/metrics.ts';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import { templateOf } from './stack-template.ts';

const modes = ['none', 'basic', 'full'] as const;
const countOf = (template: Template, type: string) => Object.keys(template.findResources(type)).length;

describe('the fixed resources of the cost model', () => {
  it('are those of the stack', () => {
    const template = templateOf();
    const each = (count: (monitoring: (typeof modes)[number]) => number) =>
      Object.fromEntries(modes.map((monitoring) => [monitoring, count(monitoring)]));
    const alarmsOf = (settings: DeploymentSettingsInput) =>
      countOf(templateOf(settings), 'AWS::CloudWatch::Alarm');
    expect({
      alarms: each((monitoring) => alarmsOf({ monitoring })),
      alarmsOfStoreEvents: each(
        (monitoring) => alarmsOf({ monitoring, storeEvents: true }) - alarmsOf({ monitoring }),
      ),
      metrics: Object.keys(metricUnits).length + countOf(template, 'AWS::Logs::MetricFilter'),
      metricsWhileIdle: 1,
      polledQueues: countOf(template, 'AWS::Lambda::EventSourceMapping'),
      dashboards: each((monitoring) => countOf(templateOf({ monitoring }), 'AWS::CloudWatch::Dashboard')),
      secrets: countOf(template, 'AWS::SecretsManager::Secret'),
    }).toEqual(standing);
  });

  it('include no alarm on several metrics, because each metric is billed', () => {
    const alarms = Object.values(templateOf().findResources('AWS::CloudWatch::Alarm'));
    const metrics = alarms.map(({ Properties }) =>
      (Properties.Metrics ?? [Properties]).filter(
        ({ Expression }: { Expression?: string }) => Expression === undefined,
      ),
    );
    expect(metrics.filter(({ length }) => length !== 1)).toEqual([]);
  });
});

describe('a deployment that nobody uses', () => {
  /** From the template: alarms and their metrics, dashboards, secrets, empty receives, and a run each minute. */
  function dollarsOf(template: Template): number {
    const sources = template.findResources('AWS::Lambda::EventSourceMapping');
    const fifo = Object.keys(sources).filter((id) => id.startsWith('BackgroundReconcileSource')).length;
    const receives = (5 * 3 * 43_200) / 1e6;
    const others = Object.keys(sources).length - fifo;
    return (
      countOf(template, 'AWS::CloudWatch::Alarm') * 0.1 +
      countOf(template, 'AWS::CloudWatch::Dashboard') * 3 +
      countOf(template, 'AWS::SecretsManager::Secret') * 0.4 +
      receives * (fifo * 0.5 + others * 0.4) +
      // Its metric, and 43,200 runs of 50 ms.
      0.3 +
      43_200 * (0.2e-6 + 0.05 * 0.25 * 13.3334e-6 + 1e-6 + 13 * 0.125e-6 + 0.625e-6 + (1200 / 2 ** 30) * 0.5)
    );
  }

  it.each([
    ['none', 2],
    ['basic', 3],
    ['full', 10.7],
  ] as const)('costs what the model has, with monitoring %s less than %f', (monitoring, most) => {
    const idle = { ...defaultWorkload, tenants: 0, pushes: 0, fetches: 0, monitoring };
    const dollars = dollarsOf(templateOf({ monitoring }));
    expect(totalOf(sumOf(monthOf(idle, 's3')))).toBeCloseTo(dollars, 6);
    expect(dollars).toBeLessThan(most);
  });
});

describe('a flood of requests without a token', () => {
  it('costs no more a day than all routes let through', () => {
    const [flood] = clientRequests.filter(({ what }) => what === 'flood: batch');
    const dollars = flood ? totalOf(costOf(flood.operation, 's3')) : 0;
    const [stage] = Object.values(templateOf().findResources('AWS::ApiGatewayV2::Stage'));
    const limits = Object.values<{ ThrottlingRateLimit: number }>(stage?.['Properties'].RouteSettings);
    const perSecond = limits.reduce((sum, { ThrottlingRateLimit }) => sum + ThrottlingRateLimit, 0);
    expect(Math.round(86_400 * perSecond * dollars)).toBe(606);
  });
});
