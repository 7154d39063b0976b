import { type Cleanup, endedCleanup, isUnderWay } from '../../domain/cleanup/cleanup.ts';
import { isRelied, type Watch } from '../../domain/cleanup/watch.ts';
import type { RepoRecord } from '../../domain/tenant.ts';
import type { CleanupDeps } from './cleanup-deps.ts';
import { putCleanup } from './put-cleanup.ts';
import { selectCandidates } from './select-candidates.ts';
import { sweepCandidates } from './sweep-candidates.ts';
import { tidyCleanup } from './tidy-cleanup.ts';

/**
 * - `done`: nothing more can be done now. What is left waits, and the schedule requests the next run.
 * - `unfinished`: the time was up first.
 * - `uncounted`: it goes on once a reconcile has taken off what was deleted.
 */
export type CleanupOutcome = 'done' | 'unfinished' | 'uncounted';

/**
 * Goes on with the clean-ups of a tenant: looks for candidates, deletes them, or removes what an ended one has left. One
 * that fails keeps no other from its turn.
 *
 * @param input.repos of the tenant, as read just now. Those with a watch have a clean-up.
 * @param input.untilMs nothing more is begun after this.
 * @throws what the first one failed by, after all of them.
 */
export async function advanceCleanups(
  deps: CleanupDeps,
  input: { tenant: string; repos: readonly RepoRecord[]; untilMs: number },
): Promise<CleanupOutcome> {
  const { tenant, untilMs } = input;
  let failure: { readonly error: unknown } | undefined;
  for (const { repo, watch, closedAtMs } of input.repos) {
    if (!watch) continue;
    if (deps.clock.nowMs() > untilMs) return 'unfinished';
    try {
      const cleanup = await deps.ledger.readCleanup({ tenant, repo });
      if (cleanup?.watch.id !== watch.id) {
        // Whoever opened it died before the record was put, or is about to put it. Opening it again is the way to it, until its
        // time is over. Then only the repo's item would keep it, and stay because of it.
        if (isOver(deps, watch)) await deps.ledger.closeWatch({ tenant, repo, watch });
        continue;
      }
      const outcome = await advance(deps, { tenant, cleanup, isClosed: closedAtMs !== null, untilMs });
      if (outcome !== 'done') return outcome;
    } catch (error) {
      deps.log.warn('clean-up failed: trying the next one', { tenant, repo, error });
      failure ??= { error };
    }
  }
  if (failure) throw failure.error;
  return 'done';
}

async function advance(
  deps: CleanupDeps,
  input: { tenant: string; cleanup: Cleanup; isClosed: boolean; untilMs: number },
): Promise<CleanupOutcome> {
  const { clock } = deps;
  const { tenant, isClosed, untilMs } = input;
  let { cleanup } = input;
  for (;;) {
    if (!isUnderWay(cleanup)) return tidyCleanup(deps, { tenant, cleanup });
    if (isClosed || isOver(deps, cleanup.watch)) {
      const state = isClosed ? 'cancelled' : 'expired';
      const ended = endedCleanup(cleanup, { state, nowMs: clock.nowMs() });
      const put = await putCleanup(deps, { tenant, cleanup: ended, read: cleanup });
      if (!put) return 'done';
      cleanup = put;
      continue;
    }
    if (cleanup.state === 'watching') return 'done';
    const next =
      cleanup.state === 'selecting'
        ? await selectCandidates(deps, { tenant, cleanup, untilMs })
        : await sweepCandidates(deps, { tenant, cleanup, untilMs });
    if (next === 'waiting') return 'done';
    if (next === 'unfinished' || next === 'uncounted') return next;
    if (next.state !== 'watching' && isUnderWay(next) && clock.nowMs() > untilMs) return 'unfinished';
    cleanup = next;
  }
}

/** Whether some clock may say that nobody notes what they name any more. */
function isOver({ clock, settings }: Pick<CleanupDeps, 'clock' | 'settings'>, watch: Watch): boolean {
  return !isRelied(settings, watch, { watchId: watch.id, nowMs: clock.nowMs() });
}
