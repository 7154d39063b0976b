import type { Deps } from '../../deps.ts';
import { RepoReservations } from '../../domain/repo-reservations.ts';
import { isAbandoned, type Reservation } from '../../domain/reservation.ts';
import type { RepoRecord } from '../../domain/tenant.ts';
import { mapLimited } from '../../rules/async.ts';
import type { Lease } from './lease.ts';

const voidsAtOnce = 8;
/** A batch that is not near the limit has issued its reservation by then. */
const pendingUsuallyMs = 2000;

/** The ledger's items of one tenant, as a reconcile read them before its scan. */
export interface LedgerSnapshot {
  /** Before the first read. A change during the reads may be missed, so the count is only as new as this. */
  readonly countedAtMs: number;
  /** Live and dead ones. */
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
  deps: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  input: { tenant: string; excludedId: string | undefined; lease: Pick<Lease, 'renew'> },
): Promise<LedgerSnapshot | 'superseded'> {
  const { ledger, clock, settings } = deps;
  const { tenant, excludedId, lease } = input;
  const countedAtMs = clock.nowMs();
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
  return { countedAtMs, reservations, hasAgedPending, repos, scanBeganMs: clock.nowMs() };
}

/** Voids the abandoned ones. One that its batch issued before it could be voided stays in the result. */
async function withoutAbandoned(
  { ledger, clock, settings }: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  { tenant, page }: { tenant: string; page: readonly Reservation[] },
): Promise<Reservation[]> {
  const isVoided = await mapLimited(page, voidsAtOnce, async (reservation) => {
    if (!isAbandoned(settings, reservation, clock.nowMs())) return false;
    const { repo, id: reservationId } = reservation;
    return (await ledger.voidReservation({ tenant, repo, reservationId })) === 'gone';
  });
  return page.filter((_, index) => !isVoided[index]);
}
