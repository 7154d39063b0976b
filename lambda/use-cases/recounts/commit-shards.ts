import type { Deps } from '../../deps.ts';
import type { RepoRecord } from '../../domain/tenant.ts';
import { mapLimited } from '../../rules/async.ts';
import type { GiantOutcome } from './count-giant.ts';
import { type Lease, renewOrThrow } from './lease.ts';

const writesAtOnce = 16;

/**
 * Writes the shards that have changed, if they are as they were read. A write that stays alone is no harm: each shard is
 * right by itself, and whoever reads them next adds them up.
 *
 * @returns `superseded`: another reconcile has changed one.
 * @throws {LedgerUnavailableError | SupersededError}
 */
export async function commitShards(
  { ledger }: Pick<Deps, 'ledger'>,
  input: { tenant: string; outcomes: readonly GiantOutcome[]; lease: Pick<Lease, 'renew'> },
): Promise<'committed' | 'superseded'> {
  const { tenant, outcomes, lease } = input;
  for (const { repo, count, giant, scan, dirtyTokenTaken } of outcomes) {
    const changes = count.changes();
    const writes = changes.filter((change) => change.kind === 'write');
    const results = await mapLimited(writes, writesAtOnce, async (write) => {
      await renewOrThrow(lease);
      return ledger.putShard({ tenant, repo, shard: write.shard, epochRead: write.epochRead });
    });
    if (results.includes('superseded')) return 'superseded';
    // The parts of a split are in force once the shard above them is gone.
    for (const { prefix, epochRead } of changes.filter((change) => change.kind === 'remove')) {
      if ((await ledger.removeShard({ tenant, repo, prefix, epochRead })) === 'superseded')
        return 'superseded';
    }
    if (!scan && giant.progress)
      await ledger.noteProgress({ tenant, repo, sinceEpoch: giant.sinceEpoch, progress: giant.progress });
    if (dirtyTokenTaken !== null) await ledger.clearDirty({ tenant, repo, dirtyToken: dirtyTokenTaken });
  }
  return 'committed';
}

/** Drops the records of deletes that the shards have taken off, and the shards of repos that are giants no longer. */
export async function tidyShards(
  { ledger }: Pick<Deps, 'ledger'>,
  input: {
    tenant: string;
    epoch: number;
    outcomes: readonly GiantOutcome[];
    formerGiants: readonly string[];
    /** As they were read before. */
    repos: readonly RepoRecord[];
  },
): Promise<void> {
  const { tenant } = input;
  for (const { repo, runs } of input.outcomes)
    await mapLimited(runs, writesAtOnce, (run) => ledger.dropRemoval({ tenant, repo, ...run }));
  const former = new Map(input.formerGiants.map((repo) => [repo, input.epoch]));
  for (const { repo, tidyBelowEpoch } of input.repos)
    if (tidyBelowEpoch !== undefined && !former.has(repo)) former.set(repo, tidyBelowEpoch);
  for (const [repo, tidyBelowEpoch] of former) {
    // A later reconcile may have made it a giant again.
    for await (const page of ledger.shards({ tenant, repo }))
      await mapLimited(
        page.filter(({ epoch }) => epoch < tidyBelowEpoch),
        writesAtOnce,
        ({ prefix, epoch }) => ledger.removeShard({ tenant, repo, prefix, epochRead: epoch }),
      );
    await ledger.endTidy({ tenant, repo, tidyBelowEpoch });
  }
}
