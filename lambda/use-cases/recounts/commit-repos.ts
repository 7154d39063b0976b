import type { RepoScan } from '../../domain/repo-reservations.ts';
import type { RepoRecord } from '../../domain/tenant.ts';
import type { RepoCommit } from '../../ports/ledger.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';
import type { Lease } from './lease.ts';
import type { LedgerSnapshot } from './read-snapshot.ts';

const writesAtOnce = 8;

/**
 * Writes what each scan found, unless a later scan or a delete has overtaken it.
 *
 * @returns all repos of the tenant as they are now, sorted by name. `superseded` if any write was overtaken; the
 * others may have been made.
 */
export async function commitRepos(
  deps: Pick<Deps, 'ledger'>,
  input: {
    tenant: string;
    epoch: number;
    snapshot: LedgerSnapshot;
    /** Repo → what its scan found. */
    scans: ReadonlyMap<string, RepoScan>;
    /** Renewed while the repos are written. */
    lease: Pick<Lease, 'renew'>;
  },
): Promise<{ kind: 'committed'; repos: readonly RepoRecord[] } | { kind: 'superseded' }> {
  const { tenant, epoch, snapshot, lease } = input;
  const { countedAtMs, scanBeganMs } = snapshot;
  const records = new Map(snapshot.repos.map((record) => [record.repo, record]));
  const outcomes = await mapLimited([...input.scans], writesAtOnce, async ([repo, scan]) => {
    const record = records.get(repo);
    const reservations = snapshot.reservations.get(repo);
    // An empty path that has no record needs none.
    if (!record && scan.objectCount === 0 && !reservations) return 'committed';
    const commit: RepoCommit = {
      repo,
      storedBytes: scan.storedBytes,
      objectCount: scan.objectCount,
      countedAtMs,
      epoch,
      covered: reservations?.coveredBy(scan, scanBeganMs) ?? new Set(),
    };
    records.set(repo, { ...commit, dirtyToken: null, closedAtMs: record?.closedAtMs ?? null });
    if ((await lease.renew()) === 'superseded') return 'superseded';
    return deps.ledger.commitRepo({ tenant, repo: commit, dirtyTokenRead: record?.dirtyToken ?? null });
  });
  if (outcomes.includes('superseded')) return { kind: 'superseded' };
  return { kind: 'committed', repos: [...records.values()].sort((a, b) => (a.repo < b.repo ? -1 : 1)) };
}
