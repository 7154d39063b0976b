import { deleteRunMs } from '../domain/deletion.ts';
import type { ReconcileRequest } from '../ports/reconcile-queue.ts';
import { awaitOtherReconcile } from './await-reconcile.ts';
import { collect } from './collect.ts';
import type { Deps } from './deps.ts';
import { emptyClosedRepos } from './empty-repos.ts';
import { type ReconcileDeps, reconcile } from './reconcile.ts';
import { type DeletionDeps, runDeletions } from './run-deletions.ts';
import { listTenant } from './scan-repos.ts';

type ConsumeDeps = ReconcileDeps & DeletionDeps & Pick<Deps, 'queue'>;

/** A large repo is recounted so often while it is emptied: that is how its progress shows. */
const recountEveryMs = 20_000;
/** Kept back from the deadline, for the deletion that is under way then and a recount. */
const reserveMs = deleteRunMs + 10_000;

/**
 * Answers one request of the queue: deletes what is due, then recounts, so that freed space shows at once.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError} so that the message comes again.
 */
export async function consumeReconcile(
  deps: ConsumeDeps,
  input: { request: ReconcileRequest; deadlineMs: number },
): Promise<'done' | 'requeued'> {
  const { queue, clock } = deps;
  const { tenant } = input.request;
  const lastBeginMs = input.deadlineMs - reserveMs;
  const again = async (full: boolean) => {
    await queue.request({ tenant, reason: 'unfinished', full });
    return 'requeued' as const;
  };
  await closeRepos(deps, tenant);
  const areRun = await runDeletions(deps, { tenant, untilMs: lastBeginMs });
  for (;;) {
    const untilMs = Math.min(clock.nowMs() + recountEveryMs, lastBeginMs);
    const emptying = await emptyClosedRepos(deps, { tenant, untilMs });
    // A listing of the whole tenant can wait for the last one.
    const full = input.request.full && emptying !== 'unfinished';
    if (!(await recount(deps, { tenant, full, deadlineMs: input.deadlineMs })))
      return again(input.request.full);
    if (emptying === 'unfinished' && clock.nowMs() < lastBeginMs) continue;
    return emptying === 'done' && areRun ? 'done' : again(input.request.full && !full);
  }
}

/**
 * Where another reconcile is running, it is waited for and then this one runs too: the request may be about
 * something that the other one's scan had passed already.
 *
 * @returns whether it was done, or there is nothing to do; false where it must be asked for again.
 */
async function recount(
  deps: ReconcileDeps,
  input: { tenant: string; full: boolean; deadlineMs: number },
): Promise<boolean> {
  const { tenant, deadlineMs } = input;
  for (;;) {
    const outcome = await reconcile(deps, input);
    switch (outcome.kind) {
      case 'committed':
      case 'absent':
        return true;
      case 'busy': {
        const before = await deps.ledger.readTenant(tenant);
        if (!before) return true;
        await awaitOtherReconcile(deps, { before, deadlineMs });
        if (deps.clock.nowMs() + 1000 < deadlineMs) continue;
        return false;
      }
      case 'superseded':
      case 'unfinished':
        return false;
    }
  }
}

/** Closes every repo that a closed tenant still has or may get, those that nobody knew too. */
async function closeRepos(deps: Pick<Deps, 'ledger' | 'listing' | 'clock'>, tenant: string): Promise<void> {
  const record = await deps.ledger.readTenant(tenant);
  if (!record || record.closedAtMs === null) return;
  const { names, beside } = await listTenant(deps, tenant);
  if (beside.objectCount > 0) names.add('');
  for (const { repo } of await collect(deps.ledger.reservations(tenant))) names.add(repo);
  const known = await collect(deps.ledger.repos(tenant));
  for (const { repo, objectCount } of known) if (objectCount > 0) names.add(repo);
  const closed = new Set(known.filter((repo) => repo.closedAtMs !== null).map((repo) => repo.repo));
  for (const repo of names) {
    if (!closed.has(repo)) await deps.ledger.closeRepo({ tenant, repo, closedAtMs: record.closedAtMs });
  }
}
