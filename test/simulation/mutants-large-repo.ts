import type { Shard } from '../../lambda/core/ledger/rules/shard.ts';
import { replacing } from './replacing.ts';
import { backWhileFrozen } from './stories-batches.ts';
import {
  deletedFromLargeRepos,
  deletedInDoubt,
  lapsedAfterDelete,
  scannedInLargeRepos,
} from './stories-scans.ts';
import type { Story } from './story.ts';
import type { Mutant } from './world.ts';

/** Mistakes in how large repos are counted. */

/** Every shard is written with something changed. */
function withShards(change: (shard: Shard) => Partial<Shard>): Mutant {
  return {
    ledger: (ledger) =>
      replacing(ledger, {
        putShard: (input) => ledger.putShard({ ...input, shard: { ...input.shard, ...change(input.shard) } }),
      }),
  };
}

/** A shard does not remember which entries it has counted, so an object is added each time it is found. */
const countedForgotten = withShards(() => ({ counted: new Map() }));

/** Of a delete that may be counted or not, the shard's sums are believed. */
const noDoubt = withShards(() => ({ stale: null }));

/** A delete leaves no record of what it removed. */
const removalForgotten: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      endDeletion: ({ removal: _, ...input }) => ledger.endDeletion(input),
    }),
};

/** A run's record is dropped before the shards are written, so a reconcile that dies loses it. */
const droppedFirst: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      deletionsOf: async function* (path) {
        for await (const page of ledger.deletionsOf(path)) {
          for (const { id: deletionId, removal } of page)
            if (removal) await ledger.dropRemoval({ ...path, deletionId, runMs: removal.runMs });
          yield page;
        }
      },
    }),
};

/** A shard that was never counted is taken for an empty one, so an initial scan ends at once. */
const unscannedIsEmpty: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      shards: async function* (path) {
        for await (const page of ledger.shards(path))
          yield page.map((shard) =>
            shard.scannedAtMs > 0 ? shard : { ...shard, scannedAtMs: world.scheduler.nowMs },
          );
      },
    }),
};

/** A batch issues its reservation, for however long its function was frozen. */
const issuedLate: Mutant = {
  deps: (deps) => ({ ...deps, settings: { ...deps.settings, batchTimeLimitMs: 24 * 60 * 60_000 } }),
};

export const largeRepoMutants: readonly {
  readonly name: string;
  readonly mutant: Mutant;
  readonly invariant: RegExp;
  readonly seeds: number;
  readonly story?: Story;
}[] = [
  {
    name: 'shards forget what they counted',
    mutant: countedForgotten,
    invariant: /^I[136]/,
    seeds: 30,
    story: scannedInLargeRepos,
  },
  {
    name: 'no shard is in doubt',
    mutant: noDoubt,
    invariant: /^I[136]/,
    seeds: 60,
    story: deletedInDoubt,
  },
  {
    name: 'deletes in large repos leave no record',
    mutant: removalForgotten,
    invariant: /^I[136]/,
    seeds: 30,
    story: deletedFromLargeRepos,
  },
  { name: 'a shard never counted is empty', mutant: unscannedIsEmpty, invariant: /^I[136]/, seeds: 100 },
  {
    name: 'the record of a delete is dropped first',
    mutant: droppedFirst,
    invariant: /^I[136]/,
    seeds: 60,
    story: lapsedAfterDelete,
  },
  {
    name: 'a frozen batch issues its reservation',
    mutant: issuedLate,
    invariant: /^I1/,
    seeds: 30,
    story: backWhileFrozen,
  },
];
