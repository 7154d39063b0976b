import { isAbandoned, type Reservation } from '../../domain/reservation.ts';
import type { RepoRecord } from '../../domain/tenant.ts';
import { allPages } from '../all-pages.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';

const voidsAtOnce = 8;

/** The ledger's items of one tenant, as a reconcile read them before its scan. */
export interface LedgerSnapshot {
  /** Before the first read. A change during the reads may be missed, so the count is only as new as this. */
  readonly countedAtMs: number;
  /** Live and dead ones. */
  readonly reservations: readonly Reservation[];
  readonly repos: readonly RepoRecord[];
  /** After the last read, and before the first LIST. */
  readonly scanBeganMs: number;
}

/**
 * Reads the reservations, voids the abandoned ones, and then reads the repos. The order matters: a `covered` id
 * in a repo that is read later belongs to a reservation that was seen here.
 *
 * @param input.excludedId a reservation to leave out of the snapshot.
 */
export async function readSnapshot(
  deps: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  input: { tenant: string; excludedId: string | undefined },
): Promise<LedgerSnapshot> {
  const { ledger, clock } = deps;
  const countedAtMs = clock.nowMs();
  const reservations = await readReservations(deps, input);
  const repos = await allPages(ledger.repos(input.tenant));
  return { countedAtMs, reservations, repos, scanBeganMs: clock.nowMs() };
}

/** An abandoned reservation stays in the result if its batch issued it before it could be voided. */
async function readReservations(
  deps: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  input: { tenant: string; excludedId: string | undefined },
): Promise<Reservation[]> {
  const { ledger, clock, settings } = deps;
  const { tenant } = input;
  const all = await allPages(ledger.reservations(tenant));
  const others = all.filter((reservation) => reservation.id !== input.excludedId);
  const isVoided = await mapLimited(others, voidsAtOnce, async (reservation) => {
    if (!isAbandoned(settings, reservation, clock.nowMs())) return false;
    const outcome = await ledger.voidReservation({
      tenant,
      repo: reservation.repo,
      reservationId: reservation.id,
    });
    return outcome === 'gone';
  });
  return others.filter((_, index) => !isVoided[index]);
}
