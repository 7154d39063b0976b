import { replacing } from './replacing.ts';
import { cancelledAndDeleted, claimedAtOnce, claimedTwice } from './stories-late.ts';
import type { Story } from './story.ts';
import type { Mutant } from './world.ts';

/** Mistakes about people who claim much and send nothing. */

const day = 24 * 60 * 60_000;

/** The counter takes what fits, whatever came between. */
const addedUnchecked: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      addCommitted: ({ unconfirmedMax: _, beforeMax: __, ...input }) => ledger.addCommitted(input),
    }),
};

/** Nobody knows who made what is late. */
const madeByNobody: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      commitTenant: ({ unconfirmed: _, ...commit }) => ledger.commitTenant(commit),
    }),
};

/** Somebody waits for as long again after nothing of theirs is late. */
const heldForLonger: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      commitTenant: ({ unconfirmed, ...commit }) => {
        const longer =
          unconfirmed && [...unconfirmed.makers].map(([madeBy, untilMs]) => [madeBy, untilMs + day] as const);
        return ledger.commitTenant({
          ...commit,
          ...(unconfirmed && { unconfirmed: { ...unconfirmed, makers: new Map(longer) } }),
        });
      },
    }),
};

/** A deleted tenant is never listed again once it was empty. */
const deletedIsOver: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      commitTenant: async (commit) => {
        const isEmpty = commit.scanned?.objectCount === 0;
        const isOver = isEmpty && (await ledger.readTenant(commit.tenant))?.closedAtMs !== null;
        return ledger.commitTenant({ ...commit, ...(isOver && { dueAtMs: 9e15 }) });
      },
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
  {
    name: 'somebody waits after nothing is late',
    mutant: heldForLonger,
    invariant: /^I6/,
    seeds: 12,
    story: claimedTwice,
  },
  {
    name: 'a deleted tenant is not listed again',
    mutant: deletedIsOver,
    invariant: /^I8/,
    seeds: 12,
    story: cancelledAndDeleted,
  },
];
