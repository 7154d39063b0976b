import type { Template } from 'aws-cdk-lib/assertions';
import { z } from 'zod';

/**
 * How CloudWatch evaluates an alarm (AWS: "Alarm evaluation", "How alarm state is evaluated when data is missing"), as
 * far as the stack's alarms use it. Anything else fails to parse, so that no alarm is judged by rules that are not its
 * own.
 */

/** One value of a metric. CloudWatch keeps the minute of it. */
export interface Sample {
  readonly minute: number;
  readonly value: number;
}

const dimensionShape = z.union([
  z.string(),
  z.object({ Ref: z.string() }).transform(({ Ref }) => Ref),
  z
    .object({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('QueueName')]) })
    .transform((get) => get['Fn::GetAtt'][0]),
]);

const alarmShape = z.strictObject({
  AlarmDescription: z.string(),
  AlarmActions: z.array(z.unknown()),
  OKActions: z.array(z.unknown()),
  Tags: z.array(z.unknown()),
  Namespace: z.string(),
  MetricName: z.string(),
  Dimensions: z.array(z.strictObject({ Name: z.string(), Value: dimensionShape })).default([]),
  Statistic: z.enum(['Sum', 'Maximum', 'SampleCount']),
  /** Seconds. */
  Period: z.int().multipleOf(60),
  EvaluationPeriods: z.int().min(1),
  DatapointsToAlarm: z.int().min(1).optional(),
  Threshold: z.number(),
  ComparisonOperator: z.enum(['GreaterThanOrEqualToThreshold', 'LessThanThreshold']),
  TreatMissingData: z.enum(['breaching', 'notBreaching']),
});

export type AlarmProperties = z.output<typeof alarmShape>;

/** The alarms of a template by their construct's name, such as `DeadLetters`. */
export function alarmsOf(template: Template): Map<string, AlarmProperties> {
  const found = Object.entries(template.findResources('AWS::CloudWatch::Alarm'));
  return new Map(
    found.map(([id, resource]) => [
      id.replace(/^Alarms(\w+?)[0-9A-F]{8}$/, '$1'),
      alarmShape.parse(resource['Properties']),
    ]),
  );
}

/** What CloudWatch calls a metric: its name, and the function or queue that it is of. */
export function metricOf({ MetricName, Namespace, Dimensions }: AlarmProperties): string {
  if (!Namespace.startsWith('AWS/')) return MetricName;
  const [first] = Dimensions;
  const owner = (first?.Value ?? '').replace(/[0-9A-F]{8}$/, '');
  return `${MetricName} of ${owner.replace(/^Functions(\w+)Function$/, '$1')}`;
}

/**
 * Where data is missing, CloudWatch also looks at some older periods. How many is not documented: two in its examples,
 * three or four by reports.
 */
const olderPeriods = [0, 2, 4];

/** The minutes at whose end an alarm is in ALARM. Its window slides: it is evaluated every minute. */
function ringingMinutes(
  alarm: AlarmProperties,
  samples: readonly Sample[],
  range: { from: number; until: number; older: number },
): number[] {
  const datapointBefore = datapoints(alarm, samples);
  const minutes: number[] = [];
  for (let minute = range.from; minute <= range.until; minute++)
    if (isBreaching(alarm, datapointBefore, { end: minute, older: range.older })) minutes.push(minute);
  return minutes;
}

/**
 * Whether the alarm rings within the range, however far CloudWatch looks back, and even if its periods did not slide
 * but were aligned to a grid that nobody knows.
 */
export function ringsSurely(
  alarm: AlarmProperties,
  samples: readonly Sample[],
  range: { from: number; until: number },
): boolean {
  const periodMinutes = alarm.Period / 60;
  return olderPeriods.every((older) => {
    const offsets = ringingMinutes(alarm, samples, { ...range, older }).map(
      (minute) => minute % periodMinutes,
    );
    return new Set(offsets).size === periodMinutes;
  });
}

/** The first minute in which the alarm could ring. Undefined if it cannot. */
export function firstRinging(
  alarm: AlarmProperties,
  samples: readonly Sample[],
  range: { from: number; until: number },
): number | undefined {
  const firsts = olderPeriods.flatMap(
    (older) => ringingMinutes(alarm, samples, { ...range, older }).at(0) ?? [],
  );
  return firsts.length > 0 ? Math.min(...firsts) : undefined;
}

/** @param at.end the window is of the minutes before this one. */
function isBreaching(
  alarm: AlarmProperties,
  datapointBefore: (end: number) => number | undefined,
  at: { end: number; older: number },
): boolean {
  const { EvaluationPeriods: needed, DatapointsToAlarm = needed, TreatMissingData } = alarm;
  const newestFirst = Array.from({ length: needed + at.older }, (_, index) =>
    datapointBefore(at.end - (index * alarm.Period) / 60),
  );
  // With enough data in the older periods, CloudWatch evaluates that, and no missing datapoint.
  const real = newestFirst.filter((value) => value !== undefined).slice(0, needed);
  const missing = TreatMissingData === 'breaching' ? needed - real.length : 0;
  return real.filter((value) => isBeyond(alarm, value)).length + missing >= DatapointsToAlarm;
}

function isBeyond({ ComparisonOperator, Threshold }: AlarmProperties, value: number): boolean {
  return ComparisonOperator === 'LessThanThreshold' ? value < Threshold : value >= Threshold;
}

/** The datapoint of the period that ends before a minute. Undefined if the metric has no value in it. */
function datapoints(
  { Statistic, Period }: AlarmProperties,
  samples: readonly Sample[],
): (end: number) => number | undefined {
  const byMinute = new Map<number, number[]>();
  for (const { minute, value } of samples) byMinute.set(minute, [...(byMinute.get(minute) ?? []), value]);
  const known = new Map<number, number | undefined>();
  return (end) => {
    if (known.has(end)) return known.get(end);
    const minutes = Array.from({ length: Period / 60 }, (_, index) => end - 1 - index);
    const values = minutes.flatMap((minute) => byMinute.get(minute) ?? []);
    const datapoint = values.length > 0 ? statisticOf(Statistic, values) : undefined;
    known.set(end, datapoint);
    return datapoint;
  };
}

function statisticOf(statistic: AlarmProperties['Statistic'], values: readonly number[]): number {
  switch (statistic) {
    case 'Sum':
      return values.reduce((sum, value) => sum + value, 0);
    case 'Maximum':
      return values.reduce((largest, value) => Math.max(largest, value));
    case 'SampleCount':
      return values.length;
  }
}
