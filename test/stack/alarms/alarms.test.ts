import { describe, expect, it } from 'vitest';
import { functionSpecs } from '../../../lib/functions/function-specs.ts';
import { parseDeploymentSettings } from '../../../lib/settings/stages.ts';
import { templateOf } from '../stack-template.ts';
import { type AlarmProperties, alarmsOf, firstRinging, metricOf, ringsSurely } from './alarm-evaluation.ts';
import {
  attemptsMax,
  dayEnds,
  faultBegins,
  faults,
  MetricStreams,
  ordinaryDay,
  start,
  stoppedSchedule,
  timeLimitMinutes,
} from './scenarios.ts';

const alarms = alarmsOf(templateOf({ storeEvents: true, email: { from: 'quota@example.com' } }));

function alarmNamed(name: string): AlarmProperties {
  const alarm = alarms.get(name);
  if (alarm === undefined) throw new Error(`The stack has no alarm ${name}.`);
  return alarm;
}

describe('every alarm of the stack', () => {
  it('has a fault for which it must ring', () => {
    expect(Object.keys(faults).sort()).toEqual([...alarms.keys()].sort());
    for (const [name, each] of Object.entries(faults)) expect(each.length, name).toBeGreaterThan(0);
  });

  const each = Object.entries(faults).flatMap(([name, list]) => list.map((fault) => ({ name, fault })));
  it.each(each)('$name rings when $fault.what', ({ name, fault }) => {
    const streams = new MetricStreams();
    fault.publish(streams);
    const alarm = alarmNamed(name);
    const samples = streams.of(metricOf(alarm));
    const until = faultBegins + fault.withinMinutes;
    expect(ringsSurely(alarm, samples, { from: faultBegins, until })).toBe(true);
  });

  describe('on an ordinary day', () => {
    const day = ordinaryDay({ refreshEveryMinutes: 1 });

    it.each([...alarms.keys()])('%s has values to judge, and does not ring', (name) => {
      const alarm = alarmNamed(name);
      const samples = day.of(metricOf(alarm));
      expect(samples.length).toBeGreaterThan(0);
      expect(firstRinging(alarm, samples, { from: start, until: dayEnds })).toBeUndefined();
    });
  });

  it('is judged with the numbers of a stage', () => {
    const { reconcile, refreshEveryMinutes } = parseDeploymentSettings('prod', {});
    expect({ attemptsMax, timeLimitMinutes, every: 1 }).toEqual({
      attemptsMax: reconcile.attemptsMax,
      timeLimitMinutes: reconcile.timeoutMinutes,
      every: refreshEveryMinutes,
    });
    expect(functionSpecs.refresh.timeoutSeconds).toBe(60 * timeLimitMinutes);
  });
});

describe('the schedule', () => {
  it.each([1, 15, 60, 240, 1_440])('every %i minutes is missed when it stops, and not before', (every) => {
    const stage = { refreshEveryMinutes: every, ...(every > 600 && { alarms: { reconcileAgeHours: 49 } }) };
    const alarm = alarmsOf(templateOf(stage)).get('RefreshStopped') ?? alarmNamed('RefreshStopped');
    const metric = metricOf(alarm);
    const usual = ordinaryDay({ refreshEveryMinutes: every }).of(metric);
    expect(firstRinging(alarm, usual, { from: start, until: dayEnds })).toBeUndefined();
    const stopped = stoppedSchedule({ refreshEveryMinutes: every }).of(metric);
    const until = faultBegins + every + 60 * (alarm.EvaluationPeriods + 5);
    expect(ringsSurely(alarm, stopped, { from: faultBegins, until })).toBe(true);
  });
});

describe('a tenant whose reconciles fail alone', () => {
  it('is not seen in the age of the queue, which leaves out what was received often', () => {
    const streams = ordinaryDay({ refreshEveryMinutes: 1 });
    streams.failingReconcile(faultBegins, { runMinutes: 0 });
    const late = alarmNamed('ReconcilesLate');
    expect(firstRinging(late, streams.of(metricOf(late)), { from: start, until: dayEnds })).toBeUndefined();
    const errors = alarmNamed('reconcileErrors');
    expect(
      firstRinging(errors, streams.of(metricOf(errors)), { from: start, until: dayEnds }),
    ).toBeUndefined();
  });
});
