import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { standing } from '../../cost/monthly-cost.ts';
import { unitsOfCall } from '../../cost/table-units.ts';
import { defaultWorkload } from '../../cost/workload.ts';
import { dueShards } from '../../lambda/adapters/dynamodb/table.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { metricUnits } from '../../lambda/ports/metrics.ts';
import { parseStageSettings } from '../../lib/settings/parse-stage-settings.ts';
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
      dashboards: countOf(template, 'AWS::CloudWatch::Dashboard'),
      secrets: countOf(template, 'AWS::SecretsManager::Secret'),
    }).toEqual(standing);
  });

  it('include no alarm on several metrics, because each metric is billed', () => {
    const alarms = Object.values(templateOf().findResources('AWS::CloudWatch::Alarm'));
    expect(alarms.filter((alarm) => alarm['Properties'].Metrics !== undefined)).toEqual([]);
  });
});

it('the recount policy of the cost model is the default of a stage', () => {
  const { refresh } = defaultWorkload;
  const hour = 3_600_000;
  expect(refresh).toEqual({
    everyMinutes: parseStageSettings('prod', {}).refreshEveryMinutes,
    tenantsPerRunMax: defaultSettings.refreshTenantsMax,
    maxAgeHours: defaultSettings.maxAgeMs / hour,
    idleMaxHours: defaultSettings.idleRefreshMaxMs / hour,
    restSeconds: defaultSettings.recountRestMs / 1000,
    listRequestsPerHour: defaultSettings.listRequestsPerHour,
  });
});

it('a partition of the due index takes what the API lets through, twice over', () => {
  // An upload batch writes three times to the entry of its reservation.
  const sizes = { claims: 100, reservations: 1, repos: 1, isFull: false, due: 0 };
  const calls = ['putReservation', 'issueReservation', 'deleteReservation'] as const;
  const units = calls.reduce((sum, call) => sum + unitsOfCall(call, sizes).indexWrites, 0);
  const { requestsPerSecond } = parseStageSettings('prod', {}).throttle;
  const partitionWritesPerSecond = 1000;
  expect((2 * requestsPerSecond * units) / dueShards).toBeLessThanOrEqual(partitionWritesPerSecond);
});
