import { coveredBy, type RepoScan } from '../../domain/reconciliation.ts';
import type { Reservation } from '../../domain/reservation.ts';
import type { RepoRecord } from '../../domain/tenant.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';

const writesAtOnce = 8;

/**
 * Writes what each scan found, unless a later scan or a delete has overtaken it.
 *
 * @returns all repos of the tenant as they are now, in the order of their names.
 */
export async function commitRepos(
  deps: Pick<Deps, 'ledger'>,
  input: {
    tenant: string;
    epoch: number;
    repos: readonly RepoRecord[];
    scans: ReadonlyMap<string, RepoScan>;
    reservations: readonly Reservation[];
    countedAtMs: number;
    scanBeganMs: number;
  },
): Promise<{ kind: 'committed'; repos: readonly RepoRecord[] } | { kind: 'superseded' }> {
  const { tenant, epoch, countedAtMs, scanBeganMs } = input;
  const byName = new Map(input.repos.map((record) => [record.repo, record]));
  const outcomes = await mapLimited([...input.scans], writesAtOnce, async ([repo, scan]) => {
    const known = byName.get(repo);
    const reservations = input.reservations.filter((reservation) => reservation.repo === repo);
    // An empty path that nobody knew needs no record.
    if (!known && scan.objectCount === 0 && reservations.length === 0) return 'committed';
    const { storedBytes, objectCount } = scan;
    const covered = coveredBy(scan, reservations, scanBeganMs);
    const found = { repo, storedBytes, objectCount, countedAtMs, epoch, covered };
    byName.set(repo, { ...found, dirtyToken: null, closedAtMs: known?.closedAtMs ?? null });
    const dirtyTokenRead = known?.dirtyToken ?? null;
    return deps.ledger.commitRepo({ tenant, repo: found, dirtyTokenRead });
  });
  if (outcomes.includes('superseded')) return { kind: 'superseded' };
  return { kind: 'committed', repos: [...byName.values()].sort((a, b) => (a.repo < b.repo ? -1 : 1)) };
}
