import type { Fields } from '../../lambda/adapters/dynamodb/expressions.ts';
import type { Clock } from '../../lambda/ports/clock.ts';
import type { Log } from '../../lambda/ports/log.ts';
import type { ExpiredPage } from '../data/expired-items.ts';
import { settledWithin, type Timers } from './timers.ts';

/** What has expired stays for so long, as it may with DynamoDB. */
const keptAfterMs = 24 * 60 * 60_000;
/** Between two parts of the table, so that others have their turn. */
const pauseMs = 1_000;
/** From the start to the first round, from one to the next, and after a failure. */
const restMs = 60 * 60_000;

export type RemoveExpired = (
  page: ExpiredPage,
) => Promise<{ readonly removed: number; readonly next: Fields | undefined }>;

export interface ExpirySweep {
  /** Removes no more. Waits for what is being removed, at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Goes through the table again and again, a part at a time, and removes what has expired. A failure ends a round. */
export function startExpirySweep(
  remove: RemoveExpired,
  { clock, timers, log }: { clock: Clock; timers: Timers; log: Log },
): ExpirySweep {
  let isClosed = false;
  let cancel = () => {};
  let running: Promise<void> = Promise.resolve();

  const run = async (after: Fields | undefined, removedBefore: number) => {
    try {
      const { removed, next } = await remove({ beforeMs: clock.nowMs() - keptAfterMs, after });
      const sum = removedBefore + removed;
      if (next) return arm(pauseMs, next, sum);
      if (sum > 0) log.info('expired items removed', { items: sum });
    } catch (error) {
      log.warn('expired items not removed', { error });
    }
    arm(restMs, undefined, 0);
  };
  const arm = (delayMs: number, after: Fields | undefined, removed: number) => {
    if (isClosed) return;
    cancel = timers.after(delayMs, () => {
      running = run(after, removed);
    });
  };

  arm(restMs, undefined, 0);
  return {
    async close(graceMs) {
      isClosed = true;
      cancel();
      await settledWithin(timers, { work: running, graceMs });
    },
  };
}
