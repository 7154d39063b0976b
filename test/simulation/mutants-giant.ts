import type { Shard } from '../../lambda/domain/giant/shard.ts';
import type { MemoryLedger } from '../support/memory/ledger.ts';
import { withMethods } from './with-methods.ts';
import type { Mutant } from './world.ts';

/** Mistakes in how giant repos are counted. */

/** Every shard is written with something changed. */
function withShards(change: (shard: Shard) => Partial<Shard>): Mutant {
  return {
    ledger: (ledger) =>
      withMethods(ledger, {
        putShard: (input) => ledger.putShard({ ...input, shard: { ...input.shard, ...change(input.shard) } }),
      }),
  };
}

/** A shard does not remember which claims it has counted, so an object is added each time it is found. */
const countedForgotten = withShards(() => ({ counted: new Map() }));

/** A shard does not remember which deletes it has taken off. */
const runsForgotten = withShards(() => ({ appliedRuns: new Set() }));

/** Of a delete that may be counted or not, the shard's sums are believed. */
const noDoubt = withShards(() => ({ stale: null }));

/** What arrives while a shard is scanned is counted by the scan, and added once more when it is found. */
const recentUnnoticed: Mutant = {
  deps: (deps) => ({
    ...deps,
    scan: {
      scan: async (input) => {
        const outcome = await deps.scan.scan(input);
        return outcome.kind === 'done' ? { ...outcome, recent: new Set() } : outcome;
      },
    },
  }),
};

/** A shard is written whatever another reconcile has made of it since it was read. */
const shardOverwritten: Mutant = {
  ledger: (ledger) =>
    withMethods(ledger, {
      putShard: async (input) => {
        const now = await epochOf(ledger, input);
        return ledger.putShard({ ...input, epochRead: now ?? input.epochRead });
      },
    }),
};

async function epochOf(
  ledger: MemoryLedger,
  { tenant, repo, shard }: { tenant: string; repo: string; shard: Shard },
): Promise<number | undefined> {
  for await (const page of ledger.shards({ tenant, repo })) {
    const found = page.find(({ prefix }) => prefix === shard.prefix);
    if (found) return found.epoch;
  }
  return undefined;
}

/** A delete leaves no record of what it removed. */
const removalForgotten: Mutant = {
  ledger: (ledger) =>
    withMethods(ledger, {
      endDeletion: ({ removal: _, ...input }) => ledger.endDeletion(input),
    }),
};

/** A run's record is dropped before the shards are written, so a reconcile that dies loses it. */
const droppedFirst: Mutant = {
  ledger: (ledger) =>
    withMethods(ledger, {
      deletionsOf: async function* (path) {
        for await (const page of ledger.deletionsOf(path)) {
          for (const { id: deletionId, removal } of page)
            if (removal) await ledger.dropRemoval({ ...path, deletionId, runMs: removal.runMs });
          yield page;
        }
      },
    }),
};

export const giantMutants: readonly {
  readonly name: string;
  readonly mutant: Mutant;
  readonly invariant: RegExp;
  readonly seeds: number;
  readonly from?: number;
}[] = [
  { name: 'shards forget what they counted', mutant: countedForgotten, invariant: /^I[136]/, seeds: 300 },
  {
    name: 'shards forget which deletes they took off',
    mutant: runsForgotten,
    invariant: /^I[136]/,
    seeds: 3000,
  },
  { name: 'no shard is in doubt', mutant: noDoubt, invariant: /^I[136]/, seeds: 300 },
  {
    name: 'what arrives during a scan is not noticed',
    mutant: recentUnnoticed,
    invariant: /^I[136]/,
    seeds: 3000,
  },
  { name: 'shards are written over', mutant: shardOverwritten, invariant: /^I[136]/, seeds: 3000 },
  { name: 'deletes in giants leave no record', mutant: removalForgotten, invariant: /^I[136]/, seeds: 300 },
  {
    name: 'the record of a delete is dropped first',
    mutant: droppedFirst,
    invariant: /^I[136]/,
    seeds: 3000,
  },
];
