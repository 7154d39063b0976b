import type { Deps } from '../deps.ts';
import { isDead, type Reservation } from '../domain/reservation.ts';
import { mapLimited } from '../rules/async.ts';

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
  { ledger, clock }: Pick<Deps, 'ledger' | 'clock'>,
  input: { tenant: string } & (
    | { repos: readonly string[] }
    | { after: string | undefined; until: string | undefined }
  ),
): Promise<readonly string[]> {
  const { tenant } = input;
  const isUploading = (reservation: Reservation) =>
    reservation.state === 'issued' && reservation.claims.size > 0 && !isDead(reservation, clock.nowMs());
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
