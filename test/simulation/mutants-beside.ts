import { replacing } from './replacing.ts';
import { cleanedWhilePushed, cleanedWithoutFiles } from './stories-beside.ts';
import type { Story } from './story.ts';
import type { Mutant } from './world.ts';

/** Mistakes in gc runs. */

/** Batches do not note what they name. */
const unnoted: Mutant = {
  ledger: (ledger) => replacing(ledger, { noteSeen: async () => undefined }),
};

/** A gc run that fails stands before the reconcile. */
const failsAltogether: Mutant = {
  deps: (deps) => ({
    ...deps,
    log: replacing(deps.log, {
      error: (text, fields) => {
        if (text === 'delete or gc failed') throw fields?.['error'];
        deps.log.error(text, fields);
      },
    }),
  }),
};

export const besideMutants: readonly {
  name: string;
  mutant: Mutant;
  invariant: RegExp;
  seeds: number;
  story: Story;
}[] = [
  {
    name: 'what is named is not noted',
    mutant: unnoted,
    invariant: /^I7/,
    seeds: 30,
    story: cleanedWhilePushed,
  },
  {
    name: 'a gc run that fails stops reconciles',
    mutant: failsAltogether,
    invariant: /^I6/,
    seeds: 12,
    story: cleanedWithoutFiles,
  },
];
