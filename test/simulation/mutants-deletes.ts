import { replacing } from './replacing.ts';
import { deletedForever, missedSoon, sentNothing, usedAgain } from './stories.ts';
import type { Story } from './story.ts';
import type { Mutant } from './world.ts';

/** Mistakes in what a write of a delete does that lands once more, after its repo was emptied and takes pushes again. */

const landsAgainAfterMs = 12 * 60_000;

/** A closing that has ended closes the repo anew. */
const closedAnew: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      closeRepo: async (input) => {
        await ledger.closeRepo(input);
        world.scheduler.after(
          landsAgainAfterMs,
          () => void world.ledger.closeRepo({ ...input, isForGood: true }),
        );
      },
    }),
};

/** A deletion does not know which closing it is part of. */
const deletedAnew: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      putDeletion: async ({ tenant, deletion: { closedAtMs: _, ...deletion } }) => {
        const isPut = await ledger.putDeletion({ tenant, deletion });
        world.scheduler.after(landsAgainAfterMs, () => void world.ledger.putDeletion({ tenant, deletion }));
        return isPut;
      },
    }),
};

/** Items of repos stay, whatever is in them. */
const itemsStay: Mutant = {
  ledger: (ledger) => replacing(ledger, { removeRepo: async () => 'refused' }),
};

/** The item of a repo stays if the repo was deleted once. */
const itemsOfDeletedStay: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      removeRepo: async (input) =>
        input.before.endedClosingMs === undefined ? ledger.removeRepo(input) : 'refused',
    }),
};

/** A record of what is gone is kept for as long as a batch runs, but a batch is told by a listing of a minute before. */
const trustedLonger: Mutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      endDeletion: ({ keptUntilMs, ...input }) => {
        const { listingTrustMs } = world.settings;
        return ledger.endDeletion({ ...input, keptUntilMs: keptUntilMs && keptUntilMs - listingTrustMs });
      },
    }),
  deps: (deps) => {
    const { knownObjects: known } = deps;
    const knownObjects = replacing(known, { of: (path, nowMs) => known.of(path, nowMs) });
    return { ...deps, knownObjects };
  },
};

export const deleteMutants: readonly {
  name: string;
  mutant: Mutant;
  invariant: RegExp;
  seeds: number;
  story: Story;
}[] = [
  { name: 'a closing that ends twice', mutant: closedAnew, invariant: /^I7/, seeds: 30, story: usedAgain },
  {
    name: 'a deletion without its closing',
    mutant: deletedAnew,
    invariant: /^I7/,
    seeds: 30,
    story: usedAgain,
  },
  { name: 'items of repos stay', mutant: itemsStay, invariant: /^Repos/, seeds: 6, story: sentNothing },
  {
    name: 'items of deleted repos stay',
    mutant: itemsOfDeletedStay,
    invariant: /^Repos/,
    seeds: 6,
    story: deletedForever,
  },
  {
    name: 'a listing that is trusted for longer',
    mutant: trustedLonger,
    invariant: /^I7/,
    seeds: 300,
    story: missedSoon,
  },
];
