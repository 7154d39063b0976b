import { forEachLimited, mapLimited } from '../rules/async.ts';
import type { CoreDeps } from './core-deps.ts';
import { chargedForShards, chargedUntilMs } from './rules/reconcile-policy.ts';
import { scannedRepos } from './rules/reconciliation.ts';
import { RepoReservations, type RepoScan, type Settlement } from './rules/repo-reservations.ts';
import { isAbandoned, type Reservation } from './rules/reservation.ts';
import type { RepoRecord, TenantRecord } from './rules/tenant.ts';

/**
 * A reconcile's lease. While it lasts, no other reconcile of the tenant begins. It also counts the LIST requests
 * that are made under it: they are paid for even if the reconcile does not commit.
 */
export interface Lease {
  /**
   * Extends the lease once half of it is over. `superseded`: this one can stop, because another reconcile took over, or because
   * it has made more LIST requests than it may.
   */
  renew(): Promise<'ours' | 'superseded'>;
  /**
   * Lets another reconcile begin now. Charges the tenant's budget, and that of its shards, because no commit will, also if
   * it was overtaken.
   */
  release(): Promise<void>;
  /** Counts this many more LIST requests. */
  addRequests(requests: number): void;
  /** The same for the shards of large repos, which have a rate and a monthly ceiling of their own. A commit knows them anyway. */
  addShardRequests(requests: number): void;
  /** Until when the tenant's budget is used up, with these requests charged to it. */
  chargedUntilMs(): number;
}

/** Thrown to end work that nobody needs any more: another reconcile took the lease. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError';
}

/** @throws {SupersededError} if another reconcile took the lease. */
export async function renewOrThrow(lease: Pick<Lease, 'renew'>): Promise<void> {
  if ((await lease.renew()) === 'superseded') throw new SupersededError();
}

/** @param held.before the tenant right before the lease was taken. */
export function holdLease(
  deps: Pick<CoreDeps, 'ledger' | 'clock' | 'settings'>,
  held: { before: TenantRecord; epoch: number; untilMs: number; listsMax?: number },
): Lease {
  const { ledger, clock, settings } = deps;
  const { before, epoch, listsMax = Number.POSITIVE_INFINITY } = held;
  const { tenant } = before;
  let untilMs = held.untilMs;
  let requests = 0;
  let shardRequests = 0;
  const chargedTo = ({ listedUntilMs }: TenantRecord) =>
    chargedUntilMs(settings, { listedUntilMs, requests, nowMs: clock.nowMs() });
  const chargesTo = (record: TenantRecord) => ({
    ...(requests > 0 && { listedUntilMs: chargedTo(record) }),
    ...(shardRequests > 0 &&
      chargedForShards(settings, { before: record, requests: shardRequests, nowMs: clock.nowMs() })),
  });
  return {
    async renew() {
      if (requests > listsMax) return 'superseded';
      const nowMs = clock.nowMs();
      if (nowMs < untilMs - settings.reconcileLeaseMs / 2) return 'ours';
      // Set before the write, so that pages that arrive during the write do not renew again.
      untilMs = nowMs + settings.reconcileLeaseMs;
      return ledger.setLease({ tenant, epoch, leaseUntilMs: untilMs });
    },
    async release() {
      const released = await ledger.setLease({ tenant, epoch, leaseUntilMs: 0, ...chargesTo(before) });
      if (released === 'ours' || requests + shardRequests === 0) return;
      // Somebody who sets limits again and again would else have it all listed again each time, for nothing.
      const now = await ledger.readTenant(tenant);
      if (now) await ledger.setLease({ tenant, epoch: now.epoch, ...chargesTo(now) });
    },
    addRequests(more) {
      requests += more;
    },
    addShardRequests(more) {
      shardRequests += more;
    },
    chargedUntilMs: () => chargedTo(before),
  };
}

const voidsAtOnce = 8;
/** A batch that is not near the limit has issued its reservation by then. */
const pendingUsuallyMs = 2000;

/** The ledger's items of one tenant, as a reconcile read them before its scan. */
export interface LedgerSnapshot {
  /** Before the first read. A change during the reads may be missed, so the count is only as new as this. */
  readonly scannedAtMs: number;
  /** Live and lapsed ones. */
  readonly reservations: Map<string, RepoReservations>;
  /** Whether one had been pending for longer than a batch usually takes: its function may have died. */
  readonly hasAgedPending: boolean;
  readonly repos: readonly RepoRecord[];
  /** After the last read, and before the first LIST. */
  readonly scanBeganMs: number;
}

/**
 * Reads the reservations, voids the abandoned ones, and then reads the repos. The order matters: a `covered` id
 * in a repo that is read later belongs to a reservation that was seen here.
 *
 * @param input.excludedId a reservation to leave out of the snapshot.
 * @param input.lease renewed after each page.
 * @returns `superseded` if another reconcile took the lease meanwhile.
 */
export async function readSnapshot(
  deps: Pick<CoreDeps, 'ledger' | 'clock' | 'settings'>,
  input: { tenant: string; excludedId: string | undefined; lease: Pick<Lease, 'renew'> },
): Promise<LedgerSnapshot | 'superseded'> {
  const { ledger, clock, settings } = deps;
  const { tenant, excludedId, lease } = input;
  const scannedAtMs = clock.nowMs();
  const reservations = new Map<string, RepoReservations>();
  let hasAgedPending = false;
  for await (const page of ledger.reservations(tenant)) {
    const others = page.filter(({ id }) => id !== excludedId);
    for (const reservation of await withoutAbandoned(deps, { tenant, page: others })) {
      const ofRepo = reservations.get(reservation.repo) ?? new RepoReservations();
      reservations.set(reservation.repo, ofRepo);
      ofRepo.add(reservation);
      hasAgedPending ||= isAbandoned(
        settings,
        reservation,
        clock.nowMs() + settings.pendingVoidAfterMs - pendingUsuallyMs,
      );
    }
    if ((await lease.renew()) === 'superseded') return 'superseded';
  }
  const repos: RepoRecord[] = [];
  for await (const page of ledger.repos(tenant)) {
    repos.push(...page);
    if ((await lease.renew()) === 'superseded') return 'superseded';
  }
  return { scannedAtMs, reservations, hasAgedPending, repos, scanBeganMs: clock.nowMs() };
}

/** Voids the abandoned ones. One that its batch issued before it could be voided stays in the result. */
async function withoutAbandoned(
  { ledger, clock, settings }: Pick<CoreDeps, 'ledger' | 'clock' | 'settings'>,
  { tenant, page }: { tenant: string; page: readonly Reservation[] },
): Promise<Reservation[]> {
  const isVoided = await mapLimited(page, voidsAtOnce, async (reservation) => {
    if (!isAbandoned(settings, reservation, clock.nowMs())) return false;
    const { repo, id: reservationId } = reservation;
    return (await ledger.voidReservation({ tenant, repo, reservationId })) === 'gone';
  });
  return page.filter((_, index) => !isVoided[index]);
}

const settledAtOnce = 8;
/** Dead reservations that are settled while somebody waits, at most. The next reconcile finds the others. */
const awaitedSettlementsMax = 1000;

interface SettleLapsedInput {
  readonly tenant: string;
  /** Somebody waits for the outcome. */
  readonly isAwaited?: boolean;
  readonly deadlineMs?: number;
  readonly snapshot: LedgerSnapshot;
  readonly scans: ReadonlyMap<string, RepoScan>;
}

/** Repo of files → names whose URLs are to be ended. */
export type UnseenFiles = ReadonlyMap<string, ReadonlySet<string>>;

/** What becomes of one reservation. */
interface Step {
  readonly repo: string;
  readonly settlement: Settlement;
}

/**
 * Step 6 of a reconcile: before the commit, a lapsed reservation may be the only sign that its repo changed. Those that
 * are left when the time is up do no harm, and keep the tenant due.
 *
 * @returns those that it can't settle, because their names have to be taken first.
 * @throws {LedgerUnavailableError}
 */
export async function settleLapsed(
  deps: Pick<CoreDeps, 'ledger' | 'clock'>,
  input: SettleLapsedInput,
): Promise<UnseenFiles> {
  const { tenant, isAwaited = false, deadlineMs = Number.POSITIVE_INFINITY } = input;
  const unseen = new Map<string, Set<string>>();
  let settled = 0;
  await forEachLimited(stepsOf(input), settledAtOnce, async ({ repo, settlement }) => {
    if (settlement.kind === 'end') {
      const names = unseen.get(repo) ?? new Set();
      unseen.set(repo, names);
      for (const name of settlement.names) names.add(name);
      return;
    }
    settled += 1;
    if (deps.clock.nowMs() >= deadlineMs || (isAwaited && settled > awaitedSettlementsMax)) return;
    const key = { tenant, repo, reservationId: settlement.reservationId };
    if (settlement.kind === 'delete') await deps.ledger.deleteReservation(key);
    else
      await deps.ledger.keepUnconfirmed({
        ...key,
        entries: settlement.unseen,
        lookAtMs: settlement.lookAtMs,
      });
  });
  return unseen;
}

function* stepsOf({ snapshot, scans }: SettleLapsedInput): Iterable<Step> {
  const { scanBeganMs, repos } = snapshot;
  const scannedRepo = scannedRepos({ repos, scans });
  for (const [repo, reservations] of snapshot.reservations)
    for (const settlement of reservations.settle({ scanned: scannedRepo(repo), scanBeganMs }))
      yield { repo, settlement };
}
