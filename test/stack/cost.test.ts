import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { standing } from '../../cost/monthly-cost.ts';
import { defaultWorkload } from '../../cost/workload.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { metricUnits } from '../../lambda/ports/metrics.ts';
import { parseStageSettings } from '../../lib/settings/parse-stage-settings.ts';
import { templateOf } from './stack-template.ts';

const countOf = (template: Template, type: string) => Object.keys(template.findResources(type)).length;

describe('what the cost model takes for standing', () => {
  it('is what stands in the stack', () => {
    const [template, withEvents] = [templateOf(), templateOf({ storeEvents: true })];
    expect({
      alarms: countOf(template, 'AWS::CloudWatch::Alarm'),
      alarmsOfStoreEvents:
        countOf(withEvents, 'AWS::CloudWatch::Alarm') - countOf(template, 'AWS::CloudWatch::Alarm'),
      metrics: Object.keys(metricUnits).length,
      dashboards: countOf(template, 'AWS::CloudWatch::Dashboard'),
      secrets: countOf(template, 'AWS::SecretsManager::Secret'),
    }).toEqual(standing);
  });

  it('has no alarm that looks at more than one metric, as each is paid for', () => {
    const alarms = Object.values(templateOf().findResources('AWS::CloudWatch::Alarm'));
    expect(alarms.filter((alarm) => alarm['Properties'].Metrics !== undefined)).toEqual([]);
  });
});

it('the cost model’s policy of recounts is that of a stage by default', () => {
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
