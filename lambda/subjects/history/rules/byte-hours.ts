import type { TenantRecord } from '../../../core/ledger/rules/tenant.ts';
import { dayMs } from '../../../core/rules/dates.ts';

/**
 * What a tenant stored in each hour, in byte-seconds. A scan sets what is stored from its own time on, to the second: a step. So an
 * hour is a function of its steps and of what was stored before them, and nobody has to write that it's over.
 */

export const hourMs = 3_600_000;
const hourSeconds = 3600;

/**
 * An hour is final this long after its end. No step is dated more than 45 minutes before its commit, and the rest is for clocks that
 * differ, and for a write that lands late.
 */
const finalAfterMs = 2 * hourMs;

/**
 * Hours that can be asked for. Days are kept a little longer, so that there is one before: an idle tenant is reconciled once a
 * month.
 */
export const usageDaysMax = 360;

/** The first moment of an hour. */
export const hourOf = (timeMs: number): number => timeMs - (timeMs % hourMs);

/** The first moment of the hour after the last one that is final. */
export const finalUntilMs = (nowMs: number): number => hourOf(nowMs - finalAfterMs);

/** `2026-11-28T07Z`, as ids have it. */
export const hourName = (timeMs: number): string => `${new Date(timeMs).toISOString().slice(0, 13)}Z`;

/** What is stored from a scan on. */
export interface Step {
  /** Of the reconcile that committed it: each has one of its own, and a later one a higher one. */
  readonly epoch: number;
  readonly atMs: number;
  readonly storedBytes: number;
}

/** The last step of a tenant. undefined: it was never counted. */
export function stepOf({ scanned, stepAtMs = 0, appliedEpoch: epoch }: TenantRecord): Step | undefined {
  if (scanned === null) return undefined;
  const { storedBytes, scannedAtMs } = scanned;
  return { epoch, storedBytes, atMs: Math.max(stepAtMs, scannedAtMs) };
}

/** An hour, as far as its last step. */
export interface Hour {
  /** From the first second of the hour to that of the last step. */
  readonly byteSeconds: bigint;
  readonly peakBytes: number;
  /** The last step: what is stored from then on, and its second in the hour. */
  readonly lastBytes: number;
  readonly lastSecond: number;
}

const secondOf = ({ atMs }: Pick<Step, 'atMs'>): number => Math.floor((atMs % hourMs) / 1000);

/** An hour without a step yet. @param bytes what was stored when it began. */
const emptyHour = (bytes: number): Hour => ({
  byteSeconds: 0n,
  peakBytes: bytes,
  lastBytes: bytes,
  lastSecond: 0,
});

/** @param hour undefined: the step is its first. @param carriedBytes what was stored before that. */
export function afterStep(hour: Hour | undefined, step: Step, carriedBytes: number): Hour {
  const second = secondOf(step);
  const { byteSeconds, peakBytes, lastBytes, lastSecond } = hour ?? emptyHour(carriedBytes);
  return {
    byteSeconds: byteSeconds + BigInt(lastBytes) * BigInt(second - lastSecond),
    // What a step of the first second replaces was stored for no time.
    peakBytes: Math.max(hour || second > 0 ? peakBytes : 0, step.storedBytes),
    lastBytes: step.storedBytes,
    lastSecond: second,
  };
}

/** All of an hour. @param hour undefined: it has no step. @param carriedBytes what was stored when it began. */
export function wholeHour(hour: Hour | undefined, carriedBytes: number) {
  const { byteSeconds, peakBytes, lastBytes, lastSecond } = hour ?? emptyHour(carriedBytes);
  return {
    byteSeconds: byteSeconds + BigInt(lastBytes) * BigInt(hourSeconds - lastSecond),
    peakBytes,
    storedBytes: lastBytes,
  };
}

/** An hour as an attribute: four numbers. Its sum may be larger than the table's numbers are exact. */
export const hourText = ({ byteSeconds, peakBytes, lastBytes, lastSecond }: Hour): string =>
  `${byteSeconds} ${peakBytes} ${lastBytes} ${lastSecond}`;

/** The attribute of a day's item that has an hour. */
export const hourField = (timeMs: number): string => `h${String((timeMs % dayMs) / hourMs).padStart(2, '0')}`;

/** The hours of a day's item, by their first moment. */
export function hoursIn(item: Readonly<Record<string, unknown>>, dayStartMs: number): Map<number, Hour> {
  const hours = new Map<number, Hour>();
  for (let atMs = dayStartMs; atMs < dayStartMs + dayMs; atMs += hourMs) {
    const text = item[hourField(atMs)];
    if (text === undefined) continue;
    const [sum = '', ...numbers] = String(text).split(' ');
    const [peakBytes = 0, lastBytes = 0, lastSecond = 0] = numbers.map(Number);
    hours.set(atMs, { byteSeconds: BigInt(sum), peakBytes, lastBytes, lastSecond });
  }
  return hours;
}

/**
 * Whether a day's item has a step of that day. An older version noted the epoch alone.
 *
 * @param epoch the last one that was noted on the day.
 */
export function hasStep(
  { epoch, hours }: { epoch: number | undefined; hours: ReadonlyMap<number, Hour> },
  step: Step,
): boolean {
  if (epoch === undefined || epoch < step.epoch) return false;
  return epoch > step.epoch || hours.get(hourOf(step.atMs))?.lastSecond === secondOf(step);
}
