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

const metricShape = {
  Namespace: z.string(),
  MetricName: z.string(),
  Dimensions: z.array(z.strictObject({ Name: z.string(), Value: dimensionShape })).default([]),
};
/** The one expression that is known: gaps are zeros, which the alarms that use it don't ring for. */
const filledShape = z.tuple([
  z.strictObject({
    Expression: z.literal('FILL(sent, 0)'),
    Id: z.string(),
    ReturnData: z.literal(true).optional(),
  }),
  z.strictObject({
    Id: z.literal('sent'),
    Label: z.string(),
    MetricStat: z.strictObject({ Metric: z.strictObject(metricShape), Period: z.int(), Stat: z.string() }),
    ReturnData: z.literal(false),
  }),
]);

/** The metric of an alarm, in the same fields whether it's filled, and whatever its statistic is. */
function plain(properties: Record<string, unknown>): Record<string, unknown> {
  const { Metrics, ExtendedStatistic, ...others } = properties;
  if (ExtendedStatistic !== undefined) return { ...others, Statistic: ExtendedStatistic };
  if (Metrics === undefined) return others;
  const { MetricStat } = filledShape.parse(Metrics)[1];
  const { Metric, Period, Stat: Statistic } = MetricStat;
  return { ...others, ...Metric, Period, Statistic };
}

const alarmShape = z.strictObject({
  AlarmDescription: z.string().regex(/^\[(?:page|ticket)\] \w.+/),
  AlarmActions: z.array(z.unknown()).min(1),
  OKActions: z.array(z.unknown()).default([]),
  InsufficientDataActions: z.array(z.unknown()).default([]),
  Tags: z.array(z.unknown()),
  ...metricShape,
  Statistic: z.enum(['Sum', 'Maximum', 'SampleCount', 'p99']),
  /** Seconds. */
  Period: z.int().multipleOf(60),
  EvaluationPeriods: z.int().min(1),
  DatapointsToAlarm: z.int().min(1).optional(),
  Threshold: z.number(),
  ComparisonOperator: z.enum(['GreaterThanOrEqualToThreshold', 'LessThanThreshold']),
  TreatMissingData: z.enum(['missing', 'notBreaching']),
});

export type AlarmProperties = z.output<typeof alarmShape>;

/** The alarms of a template by their construct's name, such as `DeadLetters`. */
export function alarmsOf(template: Template): Map<string, AlarmProperties> {
  const found = Object.entries(template.findResources('AWS::CloudWatch::Alarm'));
  return new Map(
    found.map(([id, resource]) => [
      id.replace(/^Alarms(\w+?)[0-9A-F]{8}$/, '$1'),
      alarmShape.parse(plain(resource['Properties'])),
    ]),
  );
}

/** What CloudWatch calls a metric: its name, and the function, queue, table, index or API that it is of. */
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
  const first = samples.reduce((least, { minute }) => Math.min(least, minute), Number.POSITIVE_INFINITY);
  for (let minute = range.from; minute <= range.until; minute++) {
    const at = { end: minute, older: range.older };
    // An alarm is created without data. It notifies when it comes to that, and not while it stays there.
    const isRinging =
      alarm.InsufficientDataActions.length > 0 ? (first < minute ? isSilent : undefined) : isBreaching;
    if (isRinging?.(alarm, datapointBefore, at)) minutes.push(minute);
  }
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

type DatapointBefore = (end: number) => number | undefined;

/**
 * The newest datapoints that there are. With enough data in the older periods, CloudWatch evaluates that, and no missing
 * datapoint.
 *
 * @param at.end the window is of the minutes before this one.
 */
function realDatapoints(
  { EvaluationPeriods, Period }: AlarmProperties,
  datapointBefore: DatapointBefore,
  at: { end: number; older: number },
): number[] {
  const newestFirst = Array.from({ length: EvaluationPeriods + at.older }, (_, index) =>
    datapointBefore(at.end - (index * Period) / 60),
  );
  return newestFirst.filter((value) => value !== undefined).slice(0, EvaluationPeriods);
}

function isBreaching(alarm: AlarmProperties, ...given: [DatapointBefore, { end: number; older: number }]) {
  const { EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods } = alarm;
  const real = realDatapoints(alarm, ...given);
  return real.filter((value) => isBeyond(alarm, value)).length >= DatapointsToAlarm;
}

const isSilent: typeof isBreaching = (...given) => realDatapoints(...given).length === 0;

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
    case 'p99':
      return values.toSorted((a, b) => a - b)[Math.ceil(0.99 * values.length) - 1] ?? Number.NaN;
  }
}
