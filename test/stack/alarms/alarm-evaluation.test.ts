import { describe, expect, it } from 'vitest';
import { type AlarmProperties, firstRinging, ringsSurely, type Sample } from './alarm-evaluation.ts';

const alarm: AlarmProperties = {
  AlarmDescription: '',
  AlarmActions: [],
  OKActions: [],
  InsufficientDataActions: [],
  Tags: [],
  Namespace: 'test',
  MetricName: 'Errors',
  Dimensions: [],
  Statistic: 'Sum',
  Period: 300,
  EvaluationPeriods: 1,
  Threshold: 3,
  ComparisonOperator: 'GreaterThanOrEqualToThreshold',
  TreatMissingData: 'notBreaching',
};
const at = (...minutes: number[]): Sample[] => minutes.map((minute) => ({ minute, value: 1 }));
const day = { from: 120, until: 480 };

describe('the evaluation of an alarm', () => {
  it('adds up the values of a period', () => {
    expect(ringsSurely(alarm, at(200, 200, 200), day)).toBe(true);
    expect(firstRinging(alarm, at(200, 200), day)).toBeUndefined();
    expect(firstRinging(alarm, at(200, 202, 204), day)).toBe(205);
    expect(firstRinging(alarm, at(200, 202, 205), day)).toBeUndefined();
  });

  it('is sure of an alarm only if it rings however the periods are aligned', () => {
    // A run that fails, and Lambda's retries after one and two minutes more.
    const retried = at(200, 201, 203);
    expect(firstRinging(alarm, retried, day)).toBe(204);
    expect(ringsSurely(alarm, retried, day)).toBe(false);
    expect(ringsSurely({ ...alarm, Threshold: 1 }, retried, day)).toBe(true);
  });

  it('counts the datapoints that breach, if fewer than all of them are enough', () => {
    const some = { ...alarm, Threshold: 1, EvaluationPeriods: 4, DatapointsToAlarm: 2 };
    expect(ringsSurely(some, at(200, 214), day)).toBe(true);
    expect(firstRinging(some, at(200, 240), day)).toBeUndefined();
    expect(firstRinging({ ...some, DatapointsToAlarm: 4 }, at(200, 214), day)).toBeUndefined();
  });

  it('that notifies without data rings where none is left, and not before there was any', () => {
    const hourly = at(...Array.from({ length: 240 }, (_, minute) => minute));
    const stopped: AlarmProperties = {
      ...alarm,
      InsufficientDataActions: ['topic'],
      TreatMissingData: 'missing',
    };
    expect(firstRinging(stopped, hourly, { from: 120, until: 240 })).toBeUndefined();
    // Not at 245 if CloudWatch looks two or four periods further back: there it finds data.
    expect(firstRinging(stopped, hourly, { from: 120, until: 400 })).toBe(245);
    expect(ringsSurely(stopped, hourly, { from: 120, until: 264 })).toBe(false);
    expect(ringsSurely(stopped, hourly, { from: 120, until: 270 })).toBe(true);
    expect(firstRinging(stopped, hourly, { from: -60, until: 240 })).toBeUndefined();
    expect(firstRinging({ ...stopped, InsufficientDataActions: [] }, at(200), day)).toBeUndefined();
  });

  it('finds the value that one in a hundred exceeds', () => {
    const slow: AlarmProperties = { ...alarm, Statistic: 'p99' };
    const samples = (slowOnes: number) =>
      Array.from({ length: 200 }, (_, index) => ({ minute: 200, value: index < slowOnes ? 3 : 1 }));
    expect(firstRinging(slow, samples(2), day)).toBeUndefined();
    expect(ringsSurely(slow, samples(3), day)).toBe(true);
  });

  it('finds the largest value', () => {
    const largest: AlarmProperties = { ...alarm, Statistic: 'Maximum' };
    expect(firstRinging(largest, at(200, 200, 200), day)).toBeUndefined();
    expect(ringsSurely(largest, [...at(200), { minute: 201, value: 3 }], day)).toBe(true);
  });
});
