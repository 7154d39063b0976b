import { forEachLimited, mapLimited } from '../rules/async.ts';
import { compareKeys, objectKey } from '../rules/names.ts';
import type { CoreDeps } from './core-deps.ts';
import type { Input } from './ledger.ts';
import { requestOrLog } from './reconcile-requests.ts';
import type { ReservationPage } from './reservation-store.ts';
import {
  isLapsed,
  type Reservation,
  reservationIdOf,
  sumEntries,
  unconfirmedUntilMs,
} from './rules/reservation.ts';

const reposAtOnce = 8;

type PageInput = Omit<Input<'listReservations'>, 'repo'> & { readonly repos: readonly string[] | null };

/** What is promised to one batch of uploads, for people. */
export interface ShownReservation extends Pick<Reservation, 'id' | 'repo' | 'createdAtMs' | 'expiresAtMs'> {
  readonly state: 'pending' | 'issued' | 'unconfirmed';
  /** Who asked for it. null: it is not known. */
  readonly madeBy: string | null;
  /** Objects that it was made for. Of a late one only those that were not seen, or that were deleted since. */
  readonly objectCount: number;
  readonly bytes: number;
  /** The last count of its repo saw all of its objects. They count as stored, and it holds no room besides. */
  readonly hasArrived: boolean;
  /** When it can no longer hold room. */
  readonly heldUntilMs: number;
}

/** Whether any reservation of a repo claims an object. @throws {LedgerUnavailableError} */
export async function isReserved(
  ledger: Pick<CoreDeps['ledger'], 'reservationsOf'>,
  path: { tenant: string; repo: string },
): Promise<boolean> {
  for await (const page of ledger.reservationsOf(path))
    if (page.some(({ entries }) => entries.size > 0)) return true;
  return false;
}

/**
 * One page of a tenant's reservations, or of those of some repos. Those that hold nothing are left out, so a page can be
 * shorter than asked for: notes that a repo changed, and lapsed ones of which everything was seen.
 *
 * It takes one query, or one for each of the repos, and then one read for each repo on the page.
 *
 * @param input.repos null: all of the tenant.
 * @throws {LedgerUnavailableError}
 */
export async function listReservations(
  { ledger, clock }: Pick<CoreDeps, 'ledger' | 'clock'>,
  input: PageInput,
): Promise<{ reservations: readonly ShownReservation[]; next: ReservationPage['next'] }> {
  const { tenant } = input;
  const page = await readPage(ledger, input);
  const promises = page.reservations.filter(({ entries }) => entries.size > 0);
  // Read after the reservations: what is covered by then is of one that was seen.
  const names = [...new Set(promises.map(({ repo }) => repo))];
  const repos = await mapLimited(names, reposAtOnce, (repo) => ledger.readRepo({ tenant, repo }));
  const covered = new Map(names.map((repo, index) => [repo, repos[index]?.covered]));
  const nowMs = clock.nowMs();
  const shown = promises.map((reservation) => {
    const hasArrived = covered.get(reservation.repo)?.has(reservation.id) ?? false;
    return show(reservation, { hasArrived, nowMs });
  });
  return {
    reservations: shown.filter(({ state, hasArrived }) => state !== 'unconfirmed' || !hasArrived),
    next: page.next,
  };
}

/** Of some repos: one after the other, until the page is full. Where the next page begins names no other repo. */
async function readPage(ledger: CoreDeps['ledger'], input: PageInput): Promise<ReservationPage> {
  const { repos, pageSize, after, ...ofTenant } = input;
  if (repos === null)
    return ledger.listReservations({ ...ofTenant, pageSize, ...(after !== undefined && { after }) });
  const reservations: Reservation[] = [];
  let place = after;
  for (const repo of [...repos].sort(compareKeys)) {
    // A cursor may be of a repo that is not asked for: then nothing of this one was shown before, or all of it.
    if (place && compareKeys(repo, place.repo) < 0) continue;
    if (place?.repo !== repo) place = undefined;
    do {
      const size = pageSize - reservations.length;
      if (size === 0) return { reservations, next: lastOf(reservations) };
      const page: ReservationPage = await ledger.listReservations({
        ...ofTenant,
        repo,
        pageSize: size,
        ...(place && { after: place }),
      });
      reservations.push(...page.reservations);
      place = page.next ?? undefined;
    } while (place);
  }
  return { reservations, next: null };
}

function lastOf(reservations: readonly Reservation[]): ReservationPage['next'] {
  const last = reservations.at(-1);
  return last ? { repo: last.repo, reservationId: last.id } : null;
}

function show(
  reservation: Reservation,
  { hasArrived, nowMs }: { hasArrived: boolean; nowMs: number },
): ShownReservation {
  const { id, repo, entries, createdAtMs, expiresAtMs, lapsedAtMs } = reservation;
  // A pending one that is lapsed was never issued, so nothing of it is late: the next reconcile voids it.
  const isUnconfirmed = reservation.state === 'issued' && isLapsed(reservation, nowMs);
  return {
    id,
    repo,
    state: isUnconfirmed ? 'unconfirmed' : reservation.state,
    objectCount: entries.size,
    bytes: sumEntries(entries),
    madeBy: reservation.madeBy ?? null,
    createdAtMs,
    expiresAtMs,
    hasArrived,
    heldUntilMs: isUnconfirmed ? unconfirmedUntilMs(reservation) : lapsedAtMs,
  };
}

/** Reservations that one request cancels, at most: as many as it can delete in time. */
const cancelledMax = 1000;
const deletesAtOnce = 16;

/** Which of a tenant's unconfirmed reservations. Default: all. */
interface CancelFilter {
  readonly repo?: string | undefined;
  readonly id?: string | undefined;
  readonly madeBy?: string | undefined;
}

/**
 * Cancels unconfirmed reservations: what they claim no longer counts. A PUT that's still in progress can take the tenant beyond
 * its limit, and the next full count finds it.
 *
 * One that a scan is to look at by now stays: until then it may be the only sign that its repo changed. In a large repo, a scan
 * may have found out about a part of it only. If one stays, so does what a later delete expects once more: it tells what had arrived.
 *
 * One with uploads in chunks is cancelled only by its id, because a push may be in progress. They end, and it goes with what
 * they stored.
 *
 * @returns how many were cancelled, their bytes, and whether others are left.
 * @throws {LedgerUnavailableError} Some may have been cancelled.
 */
export async function cancelReservations(
  deps: Pick<CoreDeps, 'ledger' | 'claims' | 'queue' | 'clock' | 'settings'>,
  { tenant, ...filter }: CancelFilter & { tenant: string },
): Promise<{ count: number; bytes: number; hasMore: boolean }> {
  const { ledger, queue, clock, settings } = deps;
  const chosen: Reservation[] = [];
  const pages =
    filter.repo === undefined
      ? ledger.reservations(tenant)
      : ledger.reservationsOf({ tenant, repo: filter.repo });
  const nowMs = clock.nowMs();
  // By the clock of whoever scanned, too.
  const lookedAtMs = nowMs + 2 * settings.clockSkewMs;
  /** Repo → when the first was lapsed of those that stay. */
  const lapsedMs = new Map<string, number>();
  for await (const page of pages) {
    for (const each of page) {
      const { repo, lookAtMs, createdAtMs, deletedByMs = 0, entries } = each;
      const isSeen = lookAtMs !== null && lookAtMs > lookedAtMs;
      const isUnconfirmed = each.state === 'issued' && isSeen && isLapsed(each, nowMs);
      // Those of deletes come after all others of their repo.
      const isNeeded = deletedByMs > 0 && createdAtMs > (lapsedMs.get(repo) ?? Number.POSITIVE_INFINITY);
      const mayGo = isUploadedInChunks(each) ? filter.id !== undefined : isUnconfirmed && !isNeeded;
      const isNamed = (filter.id ?? each.id) === each.id && (filter.madeBy ?? each.madeBy) === each.madeBy;
      if (mayGo && isNamed) chosen.push(each);
      else if (deletedByMs === 0 && entries.size > 0)
        lapsedMs.set(repo, Math.min(each.lapsedAtMs, lapsedMs.get(repo) ?? each.lapsedAtMs));
    }
    if (chosen.length > cancelledMax) break;
  }
  const going = chosen.slice(0, cancelledMax);
  let [count, bytes] = [0, 0];
  await forEachLimited(going, deletesAtOnce, async (reservation) => {
    const goneBytes = await cancelOne(deps, { tenant, reservation });
    if (goneBytes === undefined) return;
    count += 1;
    bytes += goneBytes;
  });
  if (count > 0) await queue.request({ tenant, reason: 'manual', full: false });
  return { count, bytes, hasMore: chosen.length > cancelledMax };
}

/** @returns the bytes that no longer count, or won't once their chunks are gone. undefined: it was cancelled before. */
async function cancelOne(
  deps: Pick<CoreDeps, 'ledger' | 'claims'>,
  { tenant, reservation }: { tenant: string; reservation: Reservation },
): Promise<number | undefined> {
  const { repo, id: reservationId, entries } = reservation;
  if (isUploadedInChunks(reservation)) {
    const oids = await deps.claims.end({ tenant, reservation, states: 'all' });
    return oids.length > 0 ? oids.reduce((sum, oid) => sum + (entries.get(oid) ?? 0), 0) : undefined;
  }
  const outcome = await deps.ledger.deleteReservation({ tenant, repo, reservationId });
  return outcome === 'deleted' ? sumEntries(entries) : undefined;
}

const isUploadedInChunks = ({ chunked }: Reservation) => chunked !== undefined && chunked.size > 0;

type VerifyOutcome =
  | { readonly kind: 'verified' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'wrong-size'; readonly storedBytes: number }
  /** No verify token, or no live issued reservation of this repo and object belongs to it. */
  | { readonly kind: 'unauthenticated' };

/**
 * Asks the store whether an upload arrived, and queues a reconcile. Writes nothing to the ledger: the accounting must
 * not depend on clients that verify.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function verifyUpload(
  deps: Pick<CoreDeps, 'ledger' | 'store' | 'queue' | 'clock' | 'log'>,
  input: { tenant: string; repo: string; oid: string; sizeBytes: number; verifyToken: string | undefined },
): Promise<VerifyOutcome> {
  const { tenant, repo, oid, verifyToken } = input;
  if (!verifyToken) return { kind: 'unauthenticated' };
  const reservationId = reservationIdOf(verifyToken);
  const reservation = await deps.ledger.readReservation({ tenant, repo, reservationId });
  const isTokenValid =
    reservation?.state === 'issued' &&
    reservation.repo === repo &&
    reservation.entries.has(oid) &&
    !isLapsed(reservation, deps.clock.nowMs());
  // Strangers must not make the store work, nor learn by its errors which paths are adopted.
  if (!isTokenValid) return { kind: 'unauthenticated' };
  const [stored] = await Promise.all([
    deps.store.head(objectKey({ tenant, repo, oid })),
    requestOrLog(deps, { tenant, reason: 'verify', full: false }),
  ]);
  if (!stored) return { kind: 'missing' };
  return stored.sizeBytes === input.sizeBytes
    ? { kind: 'verified' }
    : { kind: 'wrong-size', storedBytes: stored.sizeBytes };
}

/** One query, however many uploads are in progress: a repo that isn't found by it is shown once it's counted. */
const reservationsRead = 100;

/**
 * Names of repos that uploads are in progress for, in the order of names. What was just pushed is not counted yet, but it
 * isn't "not found" either.
 *
 * @param input.repos only these. Otherwise those after `after`, up to `until`.
 * @throws {LedgerUnavailableError}
 */
export async function uploadingRepos(
  { ledger, clock }: Pick<CoreDeps, 'ledger' | 'clock'>,
  input: { tenant: string } & (
    | { repos: readonly string[] }
    | { after: string | undefined; until: string | undefined }
  ),
): Promise<readonly string[]> {
  const { tenant } = input;
  const isUploading = (reservation: Reservation) =>
    reservation.state === 'issued' && reservation.entries.size > 0 && !isLapsed(reservation, clock.nowMs());
  const read = async (range: { repo?: string; after?: { repo: string; reservationId: string } }) => {
    const page = await ledger.listReservations({ tenant, pageSize: reservationsRead, ...range });
    return page.reservations.filter(isUploading).map(({ repo }) => repo);
  };
  if ('repos' in input) {
    const found = await mapLimited(input.repos, 8, (repo) => read({ repo }));
    return [...new Set(found.flat())];
  }
  const { after, until } = input;
  const names = await read(after === undefined ? {} : { after: { repo: after, reservationId: '\uffff' } });
  return [...new Set(names)].filter((repo) => until === undefined || repo <= until);
}
