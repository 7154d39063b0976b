import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { standing } from '../../cost/operations.ts';
import { metricUnits } from '../../lambda/rules/metrics.ts';
import { templateOf } from './stack-template.ts';

const countOf = (template: Template, type: string) => Object.keys(template.findResources(type)).length;

describe('the fixed resources of the cost model', () => {
  it('are those of the stack', () => {
    const [template, withEvents] = [templateOf(), templateOf({ storeEvents: true })];
    expect({
      alarms: countOf(template, 'AWS::CloudWatch::Alarm'),
      alarmsOfStoreEvents:
        countOf(withEvents, 'AWS::CloudWatch::Alarm') - countOf(template, 'AWS::CloudWatch::Alarm'),
      metrics: Object.keys(metricUnits).length + countOf(template, 'AWS::Logs::MetricFilter'),
      polledQueues: countOf(template, 'AWS::Lambda::EventSourceMapping'),
      dashboards: countOf(template, 'AWS::CloudWatch::Dashboard'),
      secrets: countOf(template, 'AWS::SecretsManager::Secret'),
    }).toEqual(standing);
  });

  it('include no alarm on several metrics, because each metric is billed', () => {
    const alarms = Object.values(templateOf().findResources('AWS::CloudWatch::Alarm'));
    expect(alarms.filter((alarm) => alarm['Properties'].Metrics !== undefined)).toEqual([]);
  });
});
