import { deleteRunMs } from '../../domain/deletion.ts';
import { queuedUrgencyOf, recountWaitMs, urgencyOf } from '../../domain/recount-policy.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { RecountRequest } from '../../ports/recount-queue.ts';
import { closeReposOfClosedTenant } from '../deletes/close-repos.ts';
import { emptyClosedRepos } from '../deletes/empty-repos.ts';
import { type DeletionDeps, runDeletions } from '../deletes/run-deletions.ts';
import type { Deps } from '../deps.ts';
import { awaitOtherReconcile } from './await-reconcile.ts';
import { type ReconcileDeps, reconcile } from './reconcile.ts';
import { recountDelayMs } from './recount-delay.ts';

type ConsumeDeps = ReconcileDeps & DeletionDeps & Pick<Deps, 'queue'>;

/** A large repo is recounted so often while it is emptied, at the most: that is how its progress shows. */
const recountEveryMs = 20_000;
/** Kept back from the deadline, for the deletion that is under way then and a recount. */
const reserveMs = deleteRunMs + 10_000;

export interface RunRecountInput {
  readonly request: RecountRequest;
  readonly deadlineMs: number;
  /** The message was delivered before, and failed. It is not deferred: it is to succeed, or to end as a dead letter. */
  readonly isRetry?: boolean;
}

/**
 * Answers one request of the queue: deletes what is due, then recounts, so that freed space shows at once. A
 * recount that has to wait by the policy is asked for again; what the schedule asked for stays due instead.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError} so that the message comes again.
 */
export async function runRecount(deps: ConsumeDeps, input: RunRecountInput): Promise<'done' | 'requeued'> {
  const { ledger, queue, clock } = deps;
  const { request, deadlineMs } = input;
  const { tenant } = request;
  let record = await ledger.readTenant(tenant);
  if (!record) return 'done';
  const isDue = record.dueAtMs <= clock.nowMs();
  // The schedule asked for a full count, and one was made since.
  if (request.reason === 'schedule' && request.full && !isDue) return 'done';
  // A full count that is due is made by whatever comes first, unless somebody waits for less.
  const isFull = request.full || (isDue && urgencyOf(request.reason) === 'background');
  const deletedBytes = record.deletedBytes;
  const lastBeginMs = deadlineMs - reserveMs;
  const again = async (more: Partial<RecountRequest>) => {
    await queue.request({ ...request, ...more });
    return 'requeued' as const;
  };
  await closeReposOfClosedTenant(deps, record);
  const areRun = await runDeletions(deps, { tenant, untilMs: lastBeginMs });
  for (;;) {
    const untilMs = Math.min(clock.nowMs() + recountEveryMs, lastBeginMs);
    const emptying = await emptyClosedRepos(deps, { tenant, untilMs });
    const isLast = emptying !== 'unfinished' || clock.nowMs() >= lastBeginMs;
    // A listing of the whole tenant can wait for the last one.
    const full = isFull && emptying !== 'unfinished';
    const outcome = await recountUnlessDeferred(deps, { ...input, record, deletedBytes, full, isLast });
    if (outcome === 'unfinished') return again({ reason: 'unfinished', full: isFull });
    if (!isLast) {
      record = (await ledger.readTenant(tenant)) ?? record;
      continue;
    }
    if (emptying !== 'done' || !areRun)
      return again({ reason: 'unfinished', full: isFull && !(full && outcome === 'done') });
    switch (outcome) {
      case 'done':
        return 'done';
      case 'deferred':
        // What the schedule asked for stays due, and is asked for again by its next run.
        return request.reason === 'schedule' ? 'done' : again({});
      case 'freed-deferred':
        return again({ reason: 'delete' });
    }
  }
}

/**
 * Recounts, unless it has to wait by the policy: `freed-deferred` where this run has freed space that nobody is shown
 * yet.
 *
 * @param input.deletedBytes of the tenant, when the run began.
 */
async function recountUnlessDeferred(
  deps: ReconcileDeps,
  input: RunRecountInput & { record: TenantRecord; deletedBytes: number; full: boolean; isLast: boolean },
): Promise<'done' | 'unfinished' | 'deferred' | 'freed-deferred'> {
  const { request, record, full, deadlineMs, isLast, isRetry = false } = input;
  const { tenant } = request;
  const urgency = isLast ? queuedUrgencyOf(record, request.reason) : 'background';
  if (!isRetry && recountWaitMs(deps.settings, { tenant: record, urgency, nowMs: deps.clock.nowMs() }) > 0) {
    const now = (await deps.ledger.readTenant(tenant)) ?? record;
    // Freed space is waited for, whoever asked for the recount.
    const isFreed = isLast && now.deletedBytes > input.deletedBytes;
    const raised = isFreed && urgency === 'background' ? 'decision' : urgency;
    if (recountDelayMs(deps, { tenant: now, urgency: raised }) > 0)
      return isFreed ? 'freed-deferred' : 'deferred';
  }
  return (await reconcileUntilDone(deps, { tenant, full, deadlineMs })) ? 'done' : 'unfinished';
}

/**
 * Where another reconcile is running, it is waited for and then this one runs too: the request may be about
 * something that the other one's scan had passed already.
 *
 * @returns whether it was done, or there is nothing to do; false where it must be asked for again.
 */
async function reconcileUntilDone(
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
