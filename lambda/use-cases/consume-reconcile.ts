import type { ReconcileRequest } from '../ports/reconcile-queue.ts';
import { awaitOtherReconcile } from './await-reconcile.ts';
import { collect } from './collect.ts';
import type { Deps } from './deps.ts';
import { emptyClosedRepos } from './empty-repos.ts';
import { type ReconcileDeps, reconcile } from './reconcile.ts';
import { type DeletionDeps, runDeletions } from './run-deletions.ts';
import { listTenant } from './scan-repos.ts';

/**
 * Answers one request of the queue: deletes what is due, then recounts, so that freed space shows at once. Where another reconcile is running, it is waited for and then this one
 * runs too: the request may be about something that the other one's scan had passed already.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError} so that the message comes again.
 */
export async function consumeReconcile(
  deps: ReconcileDeps & DeletionDeps & Pick<Deps, 'queue'>,
  input: { request: ReconcileRequest; deadlineMs: number },
): Promise<'done' | 'requeued'> {
  const { request, deadlineMs } = input;
  await closeRepos(deps, request.tenant);
  await runDeletions(deps, request.tenant);
  const isEmptied = await emptyClosedRepos(deps, { tenant: request.tenant, deadlineMs });
  if (!isEmptied) await deps.queue.request({ ...request, reason: 'unfinished' });
  for (;;) {
    const outcome = await reconcile(deps, { tenant: request.tenant, full: request.full, deadlineMs });
    switch (outcome.kind) {
      case 'committed':
      case 'absent':
        return 'done';
      case 'busy': {
        const before = await deps.ledger.readTenant(request.tenant);
        if (!before) return 'done';
        await awaitOtherReconcile(deps, { before, deadlineMs });
        if (deps.clock.nowMs() + 1000 < deadlineMs) continue;
        break;
      }
      case 'superseded':
      case 'unfinished':
        break;
    }
    await deps.queue.request({ ...request, reason: 'unfinished' });
    return 'requeued';
  }
}

/** Closes every repo that a closed tenant still has, those that nobody knew too. */
async function closeRepos(deps: Pick<Deps, 'ledger' | 'listing' | 'clock'>, tenant: string): Promise<void> {
  const record = await deps.ledger.readTenant(tenant);
  if (!record || record.closedAtMs === null) return;
  const { names } = await listTenant(deps, tenant);
  const known = await collect(deps.ledger.repos(tenant));
  const open = known.filter((repo) => repo.closedAtMs === null && repo.objectCount > 0);
  for (const repo of new Set([...names, ...open.map((repo) => repo.repo)])) {
    if (known.some((record) => record.repo === repo && record.closedAtMs !== null)) continue;
    await deps.ledger.setRepoClosed({ tenant, repo, closedAtMs: record.closedAtMs });
  }
}
