import type { Deletion } from '../../lambda/core/ledger/rules/deletion.ts';
import { replacing } from './replacing.ts';
import { pushedAndCollected, pushedAndDeleted, pushedAndEmptied } from './stories-makers.ts';
import type { Story } from './story.ts';
import type { Mutant } from './world.ts';

/** Mistakes in who has to wait for uploads that didn't finish. */

/** What some deletes removed is taken for what never came: nothing says that it was claimed before. */
export const takenForLate = (isOf: (deletion: Deletion) => boolean): Mutant => ({
  ledger: (ledger) => {
    let isMistaken = false;
    return replacing(ledger, {
      claimDeletion: (input) => {
        isMistaken = isOf(input.before);
        return ledger.claimDeletion(input);
      },
      putReservation: ({ reservation, ...input }) => {
        const isOfDelete = reservation.deletedByMs !== undefined;
        const since = isOfDelete && isMistaken ? { createdAtMs: 0 } : {};
        return ledger.putReservation({ ...input, reservation: { ...reservation, ...since } });
      },
    });
  },
});

export const makerMutants: readonly {
  name: string;
  mutant: Mutant;
  invariant: RegExp;
  seeds: number;
  story?: Story;
}[] = [
  {
    name: 'a deleted object never came',
    mutant: takenForLate(({ sweep, closedAtMs }) => sweep === undefined && closedAtMs === undefined),
    invariant: /^I2/,
    seeds: 12,
    story: pushedAndDeleted,
  },
  {
    name: 'what went with its repo never came',
    mutant: takenForLate(({ closedAtMs }) => closedAtMs !== undefined),
    invariant: /^I2/,
    seeds: 12,
    story: pushedAndEmptied,
  },
  {
    name: 'what a gc run deleted never came',
    mutant: takenForLate(({ sweep }) => sweep !== undefined),
    invariant: /^I2/,
    seeds: 30,
    story: pushedAndCollected,
  },
  {
    name: 'whatever was deleted never came',
    mutant: takenForLate(() => true),
    invariant: /^I2/,
    seeds: 30,
  },
];
