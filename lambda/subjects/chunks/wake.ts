import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { ChunkPorts } from './ports.ts';
import * as stores from './stores.ts';

/** Uploads of one run of the schedule. The others are still due in the next. */
const wokenMax = 1000;

/**
 * Queues `tidy` for uploads that a worker has to look at: those whose time is over, that a worker left, or of which only
 * what's left is to be removed. If the queue doesn't take it, that's logged: they are still due in the next run.
 *
 * @returns how many.
 * @throws {LedgerUnavailableError}
 */
export async function wakeUploads({
  chunkedUploads,
  chunkQueue,
  clock,
  log,
}: Pick<CoreDeps, 'clock' | 'log'> & ChunkPorts): Promise<number> {
  let woken = 0;
  for await (const page of chunkedUploads.listDue({ nowMs: clock.nowMs() })) {
    const some = page.slice(0, wokenMax - woken);
    if (some.length === 0) continue;
    try {
      await chunkQueue.send(some.map((path) => ({ step: 'tidy' as const, ...path })));
    } catch (error) {
      log.error('chunked uploads not queued', { count: some.length, error });
      return woken;
    }
    woken += some.length;
    if (woken >= wokenMax) break;
  }
  return woken;
}

export const chunkBeat = { beat: wakeUploads, stores };
