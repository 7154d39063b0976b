import { claimedAtOnce, claimedTwice } from './stories-late.ts';
import type { Story } from './story.ts';
import { withMethods } from './with-methods.ts';
import type { Mutant } from './world.ts';

/** Mistakes about people who claim much and send nothing. */

/** The counter takes what fits, whatever came between. */
const addedUnchecked: Mutant = {
  ledger: (ledger) =>
    withMethods(ledger, {
      addCommitted: ({ lateMax: _, beforeMax: __, ...input }) => ledger.addCommitted(input),
    }),
};

/** Nobody knows who made what is late. */
const madeByNobody: Mutant = {
  ledger: (ledger) =>
    withMethods(ledger, {
      commitTenant: ({ late: _, ...commit }) => ledger.commitTenant(commit),
    }),
};

export const lateMutants: readonly {
  name: string;
  mutant: Mutant;
  invariant: RegExp;
  seeds: number;
  story: Story;
}[] = [
  {
    name: 'batches at once of somebody with late claims',
    mutant: addedUnchecked,
    invariant: /^Late/,
    seeds: 30,
    story: claimedAtOnce,
  },
  {
    name: 'nobody waits for what is late',
    mutant: madeByNobody,
    invariant: /^Late/,
    seeds: 6,
    story: claimedTwice,
  },
];
