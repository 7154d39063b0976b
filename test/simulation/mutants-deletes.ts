import { type Story, usedAgain } from './stories.ts';
import { withMethods } from './with-methods.ts';
import type { Mutant } from './world.ts';

/** Mistakes in what a write of a delete does that lands once more, after its repo was emptied and takes pushes again. */

const landsAgainAfterMs = 12 * 60_000;

/** A closing that has ended closes the repo anew. */
const closedAnew: Mutant = {
  ledger: (ledger, world) =>
    withMethods(ledger, {
      closeRepo: async (input) => {
        await ledger.closeRepo(input);
        world.scheduler.after(landsAgainAfterMs, () => void ledger.closeRepo({ ...input, isForGood: true }));
      },
    }),
};

/** A deletion does not know which closing it is part of. */
const deletedAnew: Mutant = {
  ledger: (ledger, world) =>
    withMethods(ledger, {
      putDeletion: async ({ tenant, deletion: { closedAtMs: _, ...deletion } }) => {
        await ledger.putDeletion({ tenant, deletion });
        world.scheduler.after(landsAgainAfterMs, () => void ledger.putDeletion({ tenant, deletion }));
      },
    }),
};

export const deleteMutants: readonly {
  name: string;
  mutant: Mutant;
  invariant: RegExp;
  from?: number;
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
];
