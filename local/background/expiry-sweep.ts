import type { Clock } from '../../lambda/ports/clock.ts';
import type { Log } from '../../lambda/ports/log.ts';
import { settledWithin, type Timers } from './timers.ts';

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

export interface ExpirySweep {
  /** Removes no more. Waits for what is being removed, at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Removes again and again what has expired, a part at a time. A failure ends a round. */
export function startExpirySweep(
  remove: RemoveExpired,
  { clock, timers, log }: { clock: Clock; timers: Timers; log: Log },
): ExpirySweep {
  let isClosed = false;
  let cancel = () => {};
  let running: Promise<void> = Promise.resolve();

  const run = async (removedBefore: number) => {
    try {
      const removed = await remove({ beforeMs: clock.nowMs() - keptAfterMs, countMax: itemsAtOnce });
      const sum = removedBefore + removed;
      if (removed === itemsAtOnce) return arm(pauseMs, sum);
      if (sum > 0) log.info('expired items removed', { items: sum });
    } catch (error) {
      log.warn('expired items not removed', { error });
    }
    arm(restMs, 0);
  };
  const arm = (delayMs: number, removed: number) => {
    if (isClosed) return;
    cancel = timers.after(delayMs, () => {
      running = run(removed);
    });
  };

  arm(restMs, 0);
  return {
    async close(graceMs) {
      isClosed = true;
      cancel();
      await settledWithin(timers, { work: running, graceMs });
    },
  };
}
