import type { Deps } from '../../deps.ts';
import { advanceOrLog } from './advance-or-log.ts';

/** Exports of one run of the schedule. The others are still due in the next. */
const wokenMax = 100;

/**
 * Asks for a step of each export that somebody has to look at: of one whose messages were lost, of one whose time is
 * over, and of one whose archive has been kept for long enough.
 *
 * @returns how many.
 * @throws {LedgerUnavailableError}
 */
export async function wakeExports(
  deps: Pick<Deps, 'exportJobs' | 'exportQueue' | 'exportSettings' | 'clock' | 'log'>,
): Promise<number> {
  let woken = 0;
  // Nobody would do the steps of a stage that makes no exports.
  if (deps.exportSettings.pace.workers === 0) return woken;
  for await (const page of deps.exportJobs.listDue({ nowMs: deps.clock.nowMs() })) {
    for (const path of page) {
      if (woken >= wokenMax) return woken;
      await advanceOrLog(deps, path);
      woken += 1;
    }
  }
  return woken;
}
