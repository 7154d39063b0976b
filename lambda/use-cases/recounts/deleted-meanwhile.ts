import type { Deps } from '../../deps.ts';
import { RepoReservations, type RepoScan } from '../../domain/repo-reservations.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { LedgerSnapshot } from './read-snapshot.ts';

/**
 * Adds the late reservations of what was deleted while a reconcile read and listed. It may have read the reservations
 * before a delete wrote one, and listed the repo after the objects were gone. So their room would be free without a
 * bound until the next reconcile.
 *
 * The tenant is read after the scan. If a scan missed objects because of a delete, that was announced by then.
 *
 * @param input.before the tenant as the reconcile found it.
 * @throws {LedgerUnavailableError}
 */
export async function addDeletedMeanwhile(
  { ledger }: Pick<Deps, 'ledger'>,
  input: { before: TenantRecord; snapshot: LedgerSnapshot; scans: ReadonlyMap<string, RepoScan> },
): Promise<void> {
  const { before, snapshot, scans } = input;
  const { tenant } = before;
  // The item of a repo that was not scanned may be of a reconcile that was overtaken, and has seen it empty.
  const overtaken = snapshot.repos.filter(({ epoch }) => epoch > before.appliedEpoch);
  const repos = new Set([...scans.keys(), ...overtaken.map(({ repo }) => repo)]);
  if (repos.size === 0) return;
  const now = await ledger.readTenant(tenant);
  if (before.notes.size === 0 && now?.deletedBytes === before.deletedBytes) return;
  for (const repo of repos) {
    const known = snapshot.reservations.get(repo) ?? new RepoReservations();
    const knownIds = known.ids();
    for await (const page of ledger.reservationsOf({ tenant, repo }))
      for (const reservation of page)
        if (reservation.deletedByMs !== undefined && !knownIds.has(reservation.id)) known.add(reservation);
    if (known.count > 0) snapshot.reservations.set(repo, known);
  }
}
