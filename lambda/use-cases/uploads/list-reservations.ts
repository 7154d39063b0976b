import type { Input } from '../../adapters/dynamodb/ledger.ts';
import type { ReservationPage } from '../../adapters/dynamodb/reservations.ts';
import type { Deps } from '../../deps.ts';
import { isDead, lateUntilMs, type Reservation, sumClaims } from '../../domain/reservation.ts';
import { mapLimited } from '../../rules/async.ts';
import { compareKeys } from '../../rules/names.ts';

const reposAtOnce = 8;

type PageInput = Omit<Input<'listReservations'>, 'repo'> & { readonly repos: readonly string[] | null };

/** What is promised to one batch of uploads, for people. */
export interface ShownReservation extends Pick<Reservation, 'id' | 'repo' | 'createdAtMs' | 'expiresAtMs'> {
  readonly state: 'pending' | 'issued' | 'late';
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

/**
 * One page of a tenant's reservations, or of those of some repos. Those that hold nothing are left out, so a page can be
 * shorter than asked for: notes that a repo changed, and dead ones of which everything was seen.
 *
 * It takes one query, or one for each of the repos, and then one read for each repo on the page.
 *
 * @param input.repos null: all of the tenant.
 * @throws {LedgerUnavailableError}
 */
export async function listReservations(
  { ledger, clock }: Pick<Deps, 'ledger' | 'clock'>,
  input: PageInput,
): Promise<{ reservations: readonly ShownReservation[]; next: ReservationPage['next'] }> {
  const { tenant } = input;
  const page = await readPage(ledger, input);
  const promises = page.reservations.filter(({ claims }) => claims.size > 0);
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
    reservations: shown.filter(({ state, hasArrived }) => state !== 'late' || !hasArrived),
    next: page.next,
  };
}

/** Of some repos: one after the other, until the page is full. Where the next page begins names no other repo. */
async function readPage(ledger: Deps['ledger'], input: PageInput): Promise<ReservationPage> {
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
  const { id, repo, claims, createdAtMs, expiresAtMs, deadAtMs } = reservation;
  // A pending one that is dead was never issued, so nothing of it is late: the next reconcile voids it.
  const isLate = reservation.state === 'issued' && isDead(reservation, nowMs);
  return {
    id,
    repo,
    state: isLate ? 'late' : reservation.state,
    objectCount: claims.size,
    bytes: sumClaims(claims),
    madeBy: reservation.madeBy ?? null,
    createdAtMs,
    expiresAtMs,
    hasArrived,
    heldUntilMs: isLate ? lateUntilMs(reservation) : deadAtMs,
  };
}
