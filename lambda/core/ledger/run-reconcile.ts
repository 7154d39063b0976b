import { allPages } from '../rules/async.ts';
import type { CoreDeps } from './core-deps.ts';
import { endLapsed, removeDueEmptied } from './empty-objects.ts';
import { closeReposOfClosedTenant, type EmptyReposDeps, emptyClosedRepos } from './empty-repos.ts';
import { type ReconcileDeps, reconcile } from './reconcile.ts';
import { awaitOtherReconcile, reconcileDelayMs } from './reconcile-now.ts';
import { deleteRunMs } from './rules/deletion.ts';
import {
  queuedUrgencyOf,
  type ReconcileRequest,
  reconcileWaitMs,
  urgencyOf,
} from './rules/reconcile-policy.ts';
import type { TenantRecord } from './rules/tenant.ts';
import { runDeletion, runDeletions } from './run-deletions.ts';
import { forgetAll } from './seams.ts';

export type RunReconcileDeps = ReconcileDeps & EmptyReposDeps & Pick<CoreDeps, 'queue' | 'holds' | 'chores'>;

/** While a large repo is emptied or cleaned up, the tenant is counted at most this often, so that people see the progress. */
const progressEveryMs = 20_000;
/** Kept back from the deadline, for the deletion that is running then and for a reconcile. */
const reserveMs = deleteRunMs + 10_000;
/** A run waits this long for shards that become due: after a delete, until no clock doubts that a scan began later. */
const shardsWaitMaxMs = 15_000;
/** Kept back from the deadline for that. */
const shardsReserveMs = 20_000;
/** Another reconcile begins only if at least this much time is left. */
const reconcileMinMs = 1000;

interface RunReconcileInput {
  readonly request: ReconcileRequest;
  readonly deadlineMs: number;
  /**
   * The message failed before. It is not deferred: it must succeed, or end as a dead letter. A deferred message returns
   * as a new one, so one that keeps failing would never become a dead letter.
   */
  readonly isRetry?: boolean;
}

/**
 * Handles one request of the queue: runs the deletions that are due, goes on with the chores, and then reconciles, so that
 * freed space shows at once. If one of these fails, the reconcile takes place all the same. If the policy defers the reconcile,
 * it is requested again. A reconcile that the schedule requested is not: the tenant stays due.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError} The message is to be redelivered.
 */
export async function runReconcile(
  deps: RunReconcileDeps,
  input: RunReconcileInput,
): Promise<'done' | 'requeued'> {
  const { ledger, queue, clock } = deps;
  const { request, deadlineMs } = input;
  const { tenant } = request;
  let record = await ledger.readTenant(tenant);
  if (!record) return 'done';
  const isDue = record.dueAtMs <= clock.nowMs();
  // A full count has been made since the schedule requested this one.
  if (request.reason === 'schedule' && request.full && !isDue) return 'done';
  // A full count that is due is made by the next reconcile of any kind, unless somebody waits for less.
  const isFull = request.full || (isDue && urgencyOf(request.reason) === 'background');
  const { deletionCount } = record;
  const lastBeginMs = deadlineMs - reserveMs;
  // The new message is sent before the old one is deleted, so it can't get lost. It's sent at least 35 s after the old
  // one, so its deduplication id has a later bucket and it swallows no other request, even with clocks 5 s apart.
  const requeue = async (changes: Partial<ReconcileRequest>) => {
    await queue.request({ ...request, ...changes });
    return 'requeued' as const;
  };
  const areClosed = await closeReposOfClosedTenant(deps, { account: record, untilMs: lastBeginMs });
  const isCleared =
    record.closedAtMs === null ||
    (await forgetAll(deps.belongings, (each) => each.forgetTenant?.({ tenant, untilMs: lastBeginMs }))) ===
      'done';
  const haveBegun = await attempt(deps, { tenant, what: 'deletions' }, () =>
    runDeletions(deps, { tenant, untilMs: lastBeginMs, deletionCount }),
  );
  const hasBegunAll = haveBegun === true && areClosed && isCleared;
  for (;;) {
    const repos = await allPages(ledger.repos(tenant));
    // A time for each: to empty a large repo takes hours, and chores of others end by themselves some day.
    const timed = () => ({ tenant, repos, untilMs: Math.min(clock.nowMs() + progressEveryMs, lastBeginMs) });
    const emptied = await attempt(deps, { tenant, what: 'closed repos' }, () =>
      emptyClosedRepos(deps, timed()),
    );
    const removed = await attempt(deps, { tenant, what: 'empty objects' }, () =>
      removeDueEmptied(deps, {
        ...timed(),
        run: (deletion) => runDeletion(deps, { tenant, deletion, isClosed: false }),
      }),
    );
    const done: unknown[] = [emptied, removed];
    for (const { what, advance } of deps.chores)
      done.push(await attempt(deps, { tenant, what }, () => advance(timed())));
    const isUncounted = done.includes('uncounted');
    const isUnfinished = isUncounted || done.includes('unfinished');
    const isLast = !isUnfinished || clock.nowMs() >= lastBeginMs;
    // A listing of the whole tenant can wait until the repos are empty.
    const full = isFull && !isUnfinished;
    const isAwaited = isLast || isUncounted;
    const outcome = await reconcileUnlessDeferred(deps, { ...input, record, full, isLast, isAwaited });
    if (outcome === 'unfinished') return requeue(left(request, isFull));
    // Without the reconcile that it waits for, nothing goes on in this run.
    if (!isLast && !(isUncounted && outcome !== 'done')) {
      record = (await ledger.readTenant(tenant)) ?? record;
      continue;
    }
    if (emptied !== 'done' || isUnfinished || !hasBegunAll)
      return requeue(left(request, isFull && !(full && outcome === 'done')));
    switch (outcome) {
      case 'done':
        return 'done';
      case 'deferred':
        // The tenant stays due, so the schedule requests it again.
        return request.reason === 'schedule' ? 'done' : requeue({});
      case 'deferred-after-delete':
        return requeue({ reason: 'delete' });
    }
  }
}

/**
 * Reports what fails instead of throwing it: the reconcile after it must take place. Chores are due again by
 * themselves, and deletions and the emptying of repos are requested again.
 */
async function attempt<T>(
  { log, metrics }: Pick<CoreDeps, 'log' | 'metrics'>,
  { tenant, what }: { tenant: string; what: string },
  run: () => Promise<T>,
): Promise<T | 'failed'> {
  try {
    return await run();
  } catch (error) {
    log.error('delete or gc failed', { tenant, what, error });
    metrics.increment('ReconcilesFailed');
    return 'failed';
  }
}

/** Somebody asks for all that is stored to be counted. Others are content with the shards of large repos as they are. */
function isForShards({ reason, full }: ReconcileRequest): boolean {
  return full && (reason === 'manual' || reason === 'import');
}

/** What is left of a request is asked for with the same reason while it is to be as thorough. */
function left(request: ReconcileRequest, full: boolean): Pick<ReconcileRequest, 'reason' | 'full'> {
  return { reason: full && isForShards(request) ? request.reason : 'unfinished', full };
}

/**
 * Reconciles, unless the policy defers it.
 *
 * @param input.record the tenant as read last.
 * @param input.isLast no other reconcile follows in this run.
 * @param input.isAwaited somebody waits for freed space, whoever requested the reconcile: people after the last one, and a
 * gc run that goes on after this one.
 * @returns `unfinished`: the reconcile must be requested again. `deferred-after-delete`: deferred, although space
 * was freed that is not shown yet.
 */
async function reconcileUnlessDeferred(
  deps: ReconcileDeps & Pick<CoreDeps, 'queue'>,
  input: RunReconcileInput & {
    record: TenantRecord;
    full: boolean;
    isLast: boolean;
    isAwaited: boolean;
  },
): Promise<'done' | 'unfinished' | 'deferred' | 'deferred-after-delete'> {
  const { request, record, full, deadlineMs, isLast, isAwaited, isRetry = false } = input;
  const { tenant } = request;
  const urgency = isLast ? queuedUrgencyOf(record, request.reason) : 'background';
  if (
    !isRetry &&
    reconcileWaitMs(deps.settings, { tenant: record, urgency, nowMs: deps.clock.nowMs() }) > 0
  ) {
    const now = (await deps.ledger.readTenant(tenant)) ?? record;
    const isFreed = isAwaited && now.deletedBytes > 0;
    const raised = isFreed && urgency === 'background' ? 'decision' : urgency;
    if (reconcileDelayMs(deps, { tenant: now, urgency: raised }) > 0)
      return isFreed ? 'deferred-after-delete' : 'deferred';
  }
  const isThorough = full && isForShards(request);
  return (await reconcileUntilDone(deps, { tenant, full, isThorough, deadlineMs })) ? 'done' : 'unfinished';
}

/**
 * Shards of large repos that are due now, or soon because of a delete, are scanned by another reconcile of the same run.
 *
 * @returns false if there are none, or there is no time left. The schedule finds those that are due later.
 */
async function waitForShards(
  { clock }: Pick<CoreDeps, 'clock'>,
  input: { shardsDueAtMs: number | null; deadlineMs: number },
): Promise<boolean> {
  const { shardsDueAtMs, deadlineMs } = input;
  if (shardsDueAtMs === null) return false;
  const waitMs = Math.max(0, shardsDueAtMs - clock.nowMs());
  if (waitMs > shardsWaitMaxMs || clock.nowMs() + waitMs + shardsReserveMs > deadlineMs) return false;
  if (waitMs > 0) await clock.sleep(waitMs);
  return true;
}

/**
 * Reconciles. If another reconcile is running, waits for it and then runs too: the request may concern a change
 * behind the point that the other one's scan had reached.
 *
 * @returns true if it committed, or if there is no such tenant. false if the reconcile must be requested again.
 */
async function reconcileUntilDone(
  deps: ReconcileDeps & Pick<CoreDeps, 'queue'>,
  input: { tenant: string; full: boolean; isThorough: boolean; deadlineMs: number },
): Promise<boolean> {
  const { tenant, deadlineMs } = input;
  let { full, isThorough } = input;
  let owesFull = false;
  for (;;) {
    const outcome = await reconcile(deps, { tenant, full, isThorough, deadlineMs });
    switch (outcome.kind) {
      case 'committed': {
        owesFull = (owesFull || full || outcome.tenant.scanned === null) && !outcome.isFull;
        // A full count waits for the initial scans of large repos.
        if (owesFull && !outcome.hasInitialScans) {
          if (deps.clock.nowMs() + shardsReserveMs >= deadlineMs) return false;
          full = true;
          continue;
        }
        // What they claimed is free once it's counted that nothing more can come of them.
        const { unseenFiles: unseen } = outcome;
        const { entryCount } = outcome.tenant;
        if (await endLapsed(deps, { tenant, entryCount, unseen, untilMs: deadlineMs - reserveMs })) {
          full = false;
          continue;
        }
        if (await waitForShards(deps, { ...outcome, deadlineMs })) {
          full = false;
          isThorough = false;
          continue;
        }
        if (outcome.hasAgedPending) await deps.queue.request({ tenant, reason: 'unfinished', full: false });
        return true;
      }
      case 'absent':
        return true;
      case 'busy': {
        const before = await deps.ledger.readTenant(tenant);
        if (!before) return true;
        await awaitOtherReconcile(deps, { before, deadlineMs });
        if (deps.clock.nowMs() + reconcileMinMs < deadlineMs) continue;
        return false;
      }
      case 'superseded':
      case 'unfinished':
        return false;
    }
  }
}
