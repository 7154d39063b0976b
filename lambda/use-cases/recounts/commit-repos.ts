import type { RepoCommit } from '../../adapters/dynamodb/reconciles.ts';
import type { Deps } from '../../deps.ts';
import type { RepoScan } from '../../domain/repo-reservations.ts';
import { pointsAfter } from '../../domain/stored-points.ts';
import type { Giant, RepoRecord } from '../../domain/tenant.ts';
import { mapLimited } from '../../rules/async.ts';
import type { GiantOutcome } from './count-giant.ts';
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
    /** Reconciles up to this epoch may still write. */
    overtakenEpoch: number;
    snapshot: LedgerSnapshot;
    /** Repos that may have changed. */
    due: ReadonlySet<string>;
    /** Repo → what its scan found. */
    scans: ReadonlyMap<string, RepoScan>;
    /** Of the repos that are giants. */
    giants: ReadonlyMap<string, GiantOutcome>;
    /** Renewed while the repos are written. */
    lease: Pick<Lease, 'renew'>;
  },
): Promise<{ kind: 'committed'; repos: readonly RepoRecord[] } | { kind: 'superseded' }> {
  const { tenant, epoch, overtakenEpoch, snapshot, due, giants, lease } = input;
  const { scanBeganMs } = snapshot;
  const records = new Map(snapshot.repos.map((record) => [record.repo, record]));
  const outcomes = await mapLimited([...input.scans], writesAtOnce, async ([repo, scan]) => {
    const record = records.get(repo);
    const reservations = snapshot.reservations.get(repo);
    // An empty path that has no record needs none.
    if (!record && scan.objectCount === 0 && !reservations) return 'committed';
    const covered = reservations?.coveredBy(scan, scanBeganMs) ?? new Set<string>();
    const putsUntilMs = Math.max(record?.putsUntilMs ?? 0, reservations?.putsUntilMs() ?? 0);
    const isIdle = record !== undefined && !due.has(repo);
    const outcome = giants.get(repo);
    const giant = outcome?.giant;
    const found = { scan, covered, putsUntilMs, giant };
    const isSame = isIdle && isAsFound(record, found);
    if (isSame && record.epoch >= overtakenEpoch) return 'committed';
    // Else an item with nothing in it would become younger as often as a reconcile is overtaken, and never go.
    const isStillEmpty = isSame && scan.objectCount === 0 && !giant;
    const countedAtMs = isStillEmpty ? record.countedAtMs : (outcome?.countedAtMs ?? snapshot.countedAtMs);
    const points = pointsAfter(record && record.epoch > 0 ? record : undefined, { countedAtMs });
    const commit: RepoCommit = {
      repo,
      storedBytes: scan.storedBytes,
      objectCount: scan.objectCount,
      countedAtMs,
      epoch,
      covered,
      putsUntilMs,
      ...(points.length > 0 && { points }),
      ...(giant && { giant }),
      // If this function dies before it has removed the shards, the next reconcile does.
      ...(record?.giant && !giant && { tidyBelowEpoch: epoch }),
    };
    records.set(repo, { ...record, ...commit, dirtyToken: null, closedAtMs: record?.closedAtMs ?? null });
    if ((await lease.renew()) === 'superseded') return 'superseded';
    return deps.ledger.commitRepo({
      tenant,
      repo: commit,
      dirtyTokenRead: record?.dirtyToken ?? null,
      epochRead: record?.epoch,
    });
  });
  if (outcomes.includes('superseded')) return { kind: 'superseded' };
  return { kind: 'committed', repos: [...records.values()].sort((a, b) => (a.repo < b.repo ? -1 : 1)) };
}

/**
 * Whether a repo's item says already what the scan found. It's written all the same if a late write can change it. A full
 * count of thousands of repos would else write all of their items, at the cost of a LIST request each.
 */
function isAsFound(
  record: RepoRecord,
  found: {
    scan: RepoScan;
    covered: ReadonlySet<string>;
    putsUntilMs: number;
    giant: Giant | undefined;
  },
): boolean {
  const { scan, covered, putsUntilMs, giant } = found;
  return (
    record.epoch > 0 &&
    record.dirtyToken === null &&
    record.storedBytes === scan.storedBytes &&
    record.objectCount === scan.objectCount &&
    record.putsUntilMs === putsUntilMs &&
    record.giant?.sinceEpoch === giant?.sinceEpoch &&
    record.giant?.recountFromMs === giant?.recountFromMs &&
    record.giant?.isFirstCount === giant?.isFirstCount &&
    record.giant?.progress?.atMs === giant?.progress?.atMs &&
    record.covered.size === covered.size &&
    [...covered].every((id) => record.covered.has(id))
  );
}
