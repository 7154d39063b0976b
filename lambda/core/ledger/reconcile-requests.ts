import * as z from 'zod';
import { mapLimited } from '../rules/async.ts';
import { LedgerUnavailableError, NewerFormatError } from '../rules/errors.ts';
import { sha256Hex } from '../rules/hash.ts';
import { isTenantName } from '../rules/names.ts';
import type { CoreDeps } from './core-deps.ts';
import {
  beginRun,
  type DueTenant,
  endRun,
  isReconcileReason,
  mayBeHandedAgain,
  noRefreshState,
  type ReconcileRequest,
  type RefreshState,
} from './rules/reconcile-policy.ts';
import { changeIntent, isLapsed, placeOf, type Reservation, type StoreChange } from './rules/reservation.ts';
import type { RepoRecord } from './rules/tenant.ts';

/**
 * Requests a reconcile that no answer has promised. If the queue does not take the request, that is logged, and what was
 * asked of the API goes on: the reservation makes its tenant due for the schedule, so the reconcile is only later.
 */
export async function requestOrLog(
  { queue, log }: Pick<CoreDeps, 'queue' | 'log'>,
  request: ReconcileRequest,
): Promise<void> {
  try {
    await queue.request(request);
  } catch (error) {
    log.error('reconcile not requested', { tenant: request.tenant, reason: request.reason, error });
  }
}

type RefreshDeps = Pick<CoreDeps, 'ledger' | 'queue' | 'clock' | 'metrics' | 'settings'>;

/** Of the tenants that a run hands on, the share that may be due for longer. */
const againShare = 1 / 4;
const readsAtOnce = 16;

/**
 * Queues a reconcile of each tenant that has become due since the last run, and of some that are still due. The reconcile
 * is full if the tenant's last full count is too old. If it is due only because a reservation died, a deletion is due
 * or a repo is closed, the reconcile covers what may have changed. Tenants beyond the setting `refreshTenantsMax`, or
 * that the queue did not accept, are queued by the next run.
 *
 * How far it has come is kept only once the queue has taken all: whatever fails, nobody is left out.
 *
 * @returns how many were queued.
 * @throws {LedgerUnavailableError} or the error of the queue.
 */
export async function refresh(deps: RefreshDeps): Promise<number> {
  const { ledger, queue, clock, settings } = deps;
  const nowMs = clock.nowMs();
  const state = beginRun((await ledger.readRefreshState()) ?? noRefreshState, nowMs);
  const again = await handAgain(deps, { state, nowMs });
  const fresh = await ledger.dueTenants({
    afterMs: state.handedUntilMs,
    untilMs: nowMs - settledMs,
    tenantsMax: Math.max(1, settings.refreshTenantsMax - again.due.length),
  });
  const due = [...fresh.due, ...again.due];
  await queue.requestAll(due.map(({ tenant, full }) => ({ tenant, full, reason: 'schedule' })));
  await ledger.putRefreshState(
    endRun(state, {
      // A clock may be behind that of the last run.
      handedUntilMs: Math.max(state.handedUntilMs, fresh.untilMs),
      lookedUntilMs: again.untilMs,
      beganMs: nowMs,
    }),
  );
  deps.metrics.increment('TenantsQueued', due.length);
  return due.length;
}

/** Goes on with the round through what is still due. */
async function handAgain(
  deps: RefreshDeps,
  { state, nowMs }: { state: RefreshState; nowMs: number },
): Promise<{ due: readonly DueTenant[]; untilMs: number }> {
  const { ledger, settings } = deps;
  const { round } = state;
  const { doneUntilMs, untilMs } = round;
  if (doneUntilMs >= untilMs) return { due: [], untilMs: doneUntilMs };
  const tenantsMax = Math.ceil(againShare * settings.refreshTenantsMax);
  const found = await ledger.dueTenants({ afterMs: doneUntilMs, untilMs, tenantsMax });
  const kept = await mapLimited(found.due, readsAtOnce, async (due) => {
    const tenant = await readTenant(deps, due.tenant);
    return tenant && mayBeHandedAgain(settings, { due, tenant, round, nowMs }) ? [due] : [];
  });
  return { due: kept.flat(), untilMs: found.untilMs };
}

/** A tenant that a newer version wrote is its affair: nothing here could reconcile it. */
async function readTenant({ ledger }: Pick<CoreDeps, 'ledger'>, tenant: string) {
  try {
    return await ledger.readTenant(tenant);
  } catch (error) {
    if (error instanceof NewerFormatError) return undefined;
    throw error;
  }
}

type StoreEventsOutcome =
  /** There is no such tenant, or it is being deleted and will be counted anyway. */
  | { readonly kind: 'absent' }
  /** Every change was counted already, or is in a repo that is being emptied. */
  | { readonly kind: 'nothing-new' }
  /** A reconcile was requested. A note was written for these repos: nothing else in the ledger shows their change. */
  | { readonly kind: 'requested'; readonly noted: readonly string[] };

const reposAtOnce = 8;

/**
 * Records the changes that the store reported about one tenant's objects, and requests a reconcile if one is needed.
 *
 * - A change that the last scan of the repo must have seen is dropped, and so is a change in a repo that is being
 *   emptied.
 * - An upload that a live reservation claims, with this exact size, was expected. Its repo is due until a scan sees it.
 * - For everything else a note is written (see {@link changeIntent}) before the reconcile is requested. Without the note
 *   the reconcile would find nothing to scan.
 *
 * The order of the events does not matter, and an event that is delivered twice costs at most one more scan.
 *
 * @throws {LedgerUnavailableError} The events are to be redelivered.
 */
export async function recordStoreEvents(
  deps: Pick<CoreDeps, 'ledger' | 'queue' | 'clock' | 'ids' | 'log' | 'settings'>,
  input: { tenant: string; changes: readonly StoreChange[] },
): Promise<StoreEventsOutcome> {
  const { ledger, queue, clock, settings } = deps;
  const { tenant } = input;
  const record = await ledger.readTenant(tenant);
  if (!record || record.closedAtMs !== null) return { kind: 'absent' };
  const byRepo = [...groupByRepo(input.changes)];
  const news = await mapLimited(byRepo, reposAtOnce, async ([repo, changes]) => ({
    repo,
    ...(await newsOf(deps, { tenant, repo, changes, fullScannedAtMs: record.fullScannedAtMs })),
  }));
  const newCount = news.reduce((sum, { changes }) => sum + changes.length, 0);
  if (newCount === 0) return { kind: 'nothing-new' };

  const noted = news.filter(({ isExpected }) => !isExpected).map(({ repo }) => repo);
  await mapLimited(noted, reposAtOnce, (repo) => {
    const id = sha256Hex(deps.ids.random(40)).slice(0, 32);
    const reservation = changeIntent(settings, { id, repo, nowMs: clock.nowMs() });
    return ledger.putReservation({ tenant, reservation });
  });
  await queue.request({ tenant, reason: 'event', full: false });
  deps.log.info('store changed', { tenant, events: input.changes.length, news: newCount, noted });
  return { kind: 'requested', noted };
}

function groupByRepo(changes: readonly StoreChange[]): Map<string, StoreChange[]> {
  const byRepo = new Map<string, StoreChange[]>();
  for (const change of changes) byRepo.set(change.repo, [...(byRepo.get(change.repo) ?? []), change]);
  return byRepo;
}

/**
 * The changes of one repo that its last scan may not have seen, and whether live reservations claim all of them. The
 * reservations are read a page at a time, and no further than needed.
 */
async function newsOf(
  { ledger, clock, settings }: Pick<CoreDeps, 'ledger' | 'clock' | 'settings'>,
  input: { tenant: string; repo: string; changes: readonly StoreChange[]; fullScannedAtMs: number },
): Promise<{ changes: readonly StoreChange[]; isExpected: boolean }> {
  const record = await ledger.readRepo(input);
  if (record && record.closedAtMs !== null) return { changes: [], isExpected: true };
  // A scan that began after a change has seen it, even if the store's clock is off by the clock skew. The shards of a
  // large repo are scanned at different times, and its count is as new as the tenant's.
  const listedAtMs = record && !record.large ? record.scannedAtMs : 0;
  const scannedAtMs = Math.max(listedAtMs, input.fullScannedAtMs);
  const changes = input.changes.filter((change) => scannedAtMs <= change.atMs + settings.clockSkewMs);
  let unexpected = changes;
  if (changes.length === 0) return { changes, isExpected: true };
  const nowMs = clock.nowMs();
  for await (const page of ledger.reservationsOf({
    tenant: input.tenant,
    repo: input.repo,
    ofUploads: true,
  })) {
    const live = page.filter(
      (reservation) => reservation.state === 'issued' && !isLapsed(reservation, nowMs),
    );
    unexpected = unexpected.filter((change) => !live.some((reservation) => expects(reservation, change)));
    if (unexpected.length === 0) break;
  }
  return { changes, isExpected: unexpected.length === 0 };
}

/** An object of another size than claimed was not uploaded with this reservation's URL. */
function expects(reservation: Reservation, change: StoreChange): boolean {
  return change.kind === 'created' && reservation.entries.get(change.name) === change.sizeBytes;
}

type SteerScanOutcome =
  | { readonly kind: 'changed'; readonly before: RepoRecord; readonly record: RepoRecord }
  /** An initial scan cannot be given up: without it, nobody knows what the repo holds. */
  | { readonly kind: 'initial-scan' }
  | { readonly kind: 'not-large' };

/**
 * Pauses the scans of a large repo's shards, resumes them, or gives up a reconcile of all of them. A scan that is under way goes
 * on for a moment. What was counted stays.
 *
 * @throws {LedgerUnavailableError}
 */
export async function steerScan(
  { ledger, clock, queue, settings }: Pick<CoreDeps, 'ledger' | 'clock' | 'queue' | 'settings'>,
  input: { tenant: string; repo: string; state: 'running' | 'paused' | 'cancelled' },
): Promise<SteerScanOutcome> {
  const { tenant, repo, state } = input;
  const path = { tenant, repo };
  const nowMs = clock.nowMs();
  const steered =
    state === 'cancelled' ? { cancelledAtMs: nowMs } : { pausedAtMs: state === 'paused' ? nowMs : null };
  let before: RepoRecord | undefined;
  // Others may steer it at the same time.
  do {
    before = await ledger.readRepo(path);
    if (!before?.large) return { kind: 'not-large' };
    if (state === 'cancelled' && before.large.isInitialScan) return { kind: 'initial-scan' };
    if (clock.nowMs() >= nowMs + settings.batchTimeLimitMs)
      throw new LedgerUnavailableError(`The scan of ${tenant}/${repo} changed at the same time. Retry.`);
  } while (
    (await ledger.steerScan({ ...path, ...steered, steeringVersion: before.steeringVersion ?? 0 })) ===
    'refused'
  );
  if (state === 'running') await queue.request({ tenant, reason: 'manual', full: false });
  const record = await ledger.readRepo(path);
  return record?.large ? { kind: 'changed', before, record } : { kind: 'not-large' };
}

/** A job for a reconcile. */
export const reconcileMessage = z.object({
  tenant: z.string().refine(isTenantName),
  full: z.boolean(),
  // During a deployment a newer sender may use a reason that this version does not know. The reconcile is still needed.
  reason: z.string().transform((reason) => (isReconcileReason(reason) ? reason : 'unfinished')),
});

/** One record of an S3 event notification (AWS: "Event message structure"). */
const storeEvent = z.object({
  eventName: z.string(),
  eventTime: z.iso.datetime(),
  s3: z.object({ object: z.object({ key: z.string(), size: z.int().nonnegative().optional() }) }),
});

/** S3 sends messages with events. When notifications are set up, it also sends one test message without any. */
const storeEventMessage = z.union([
  z.object({ Records: z.array(storeEvent) }),
  z.object({ Event: z.literal('s3:TestEvent') }),
]);

/**
 * The changes in tenants' repos that a message reports. Keys outside of any repo are left out.
 *
 * @param keyOf the key of what is stored under one. undefined: nobody is to know of it.
 * @throws {SyntaxError | ZodError | URIError} if the message is not from S3.
 */
export function decodeStoreEvents(
  body: string,
  keyOf: (storedKey: string) => string | undefined,
): StoreChange[] {
  const message = storeEventMessage.parse(JSON.parse(body));
  if (!('Records' in message)) return [];
  return message.Records.flatMap(({ eventName, eventTime, s3 }): StoreChange[] => {
    const key = keyOf(decodeKey(s3.object.key));
    const place = key === undefined ? undefined : placeOf(key);
    if (!place) return [];
    const where = { ...place, atMs: Date.parse(eventTime) };
    if (!eventName.startsWith('ObjectCreated:')) return [{ ...where, kind: 'removed' }];
    return [{ ...where, kind: 'created', sizeBytes: s3.object.size ?? 0 }];
  });
}

/** S3 encodes keys in events like HTML forms: a space is a plus sign. */
function decodeKey(key: string): string {
  return decodeURIComponent(key.replaceAll('+', ' '));
}

/**
 * What became due less than this ago is left to the next run: by the clock of its writer it may be due later, and the
 * index may not show it yet. What a run misses waits for a round.
 */
const settledMs = 10_000;
