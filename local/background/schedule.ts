import { randomUUID } from 'node:crypto';
import type { Clock, Log } from '../../lambda/core/rules/clock-and-log.ts';

/** Timers as a port, so that a test can advance them together with its clock. */
export interface Timers {
  /** Calls back once after `delayMs`. @returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

export const systemTimers: Timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Waits for work that never rejects, at most `graceMs`. */
export async function settledWithin(
  timers: Timers,
  { work, graceMs }: { work: Promise<unknown>; graceMs: number },
): Promise<void> {
  let cancelGrace = () => {};
  const grace = new Promise<void>((resolve) => {
    cancelGrace = timers.after(graceMs, resolve);
  });
  await Promise.race([work, grace]);
  cancelGrace();
}

/** A time limit for several steps together. @returns what is left of it, from the first call on. */
export function countdown(limitMs: number, elapsedMs = () => performance.now()): () => number {
  let endsAtMs: number | undefined;
  return () => {
    endsAtMs ??= elapsedMs() + limitMs;
    return Math.max(0, endsAtMs - elapsedMs());
  };
}

export type ScheduledFunction = (event: undefined, context: { awsRequestId: string }) => Promise<unknown>;

interface ScheduleOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** From the start to the first run. */
  readonly firstDelayMs?: number;
  /** From the start of one run to the start of the next. */
  readonly intervalMs?: number;
}

/** Something that is done again and again. */
export interface Repeated {
  /** Begins nothing more. Waits for what runs, at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** @param run never rejects, and resolves to the time until it is called again. */
export function repeat(timers: Timers, firstDelayMs: number, run: () => Promise<number>): Repeated {
  let isClosed = false;
  let cancel = () => {};
  let running: Promise<void> = Promise.resolve();
  const arm = (delayMs: number) => {
    if (isClosed) return;
    cancel = timers.after(delayMs, () => {
      running = run().then(arm);
    });
  };
  arm(firstDelayMs);
  return {
    async close(graceMs) {
      isClosed = true;
      cancel();
      await settledWithin(timers, { work: running, graceMs });
    },
  };
}

/** Calls the refresh function every `intervalMs`, one run at a time. A failed run is logged, and the next one follows. */
export function startSchedule(refresh: ScheduledFunction, options: ScheduleOptions): Repeated {
  const { clock, timers, log, firstDelayMs = 5_000, intervalMs = 60_000 } = options;
  return repeat(timers, firstDelayMs, async () => {
    const begunAtMs = clock.nowMs();
    try {
      await refresh(undefined, { awsRequestId: randomUUID() });
    } catch (error) {
      log.error('refresh failed', { error });
    }
    // The clock may have been set back meanwhile.
    return Math.min(intervalMs, Math.max(0, begunAtMs + intervalMs - clock.nowMs()));
  });
}

/** What has expired stays for so long, as it may with DynamoDB. */
const keptAfterMs = 24 * 60 * 60_000;
/** Items that are removed without a pause. */
const itemsAtOnce = 100;
/** Between two such parts, so that others have their turn. */
const pauseMs = 1_000;
/** From the start to the first round, from one to the next, and after a failure. */
const restMs = 60 * 60_000;

/** @returns how many items had expired: fewer than `countMax` if there are no more. */
export type RemoveExpired = (input: { beforeMs: number; countMax: number }) => Promise<number>;

/** Removes again and again what has expired, a part at a time. A failure ends a round. */
export function startExpirySweep(
  remove: RemoveExpired,
  { clock, timers, log }: { clock: Clock; timers: Timers; log: Log },
): Repeated {
  let inRound = 0;
  return repeat(timers, restMs, async () => {
    try {
      const removed = await remove({ beforeMs: clock.nowMs() - keptAfterMs, countMax: itemsAtOnce });
      inRound += removed;
      if (removed === itemsAtOnce) return pauseMs;
      if (inRound > 0) log.info('expired items removed', { items: inRound });
    } catch (error) {
      log.warn('expired items not removed', { error });
    }
    inRound = 0;
    return restMs;
  });
}
