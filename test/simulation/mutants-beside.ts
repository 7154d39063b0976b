import { LedgerUnavailableError } from '../../lambda/ports/ledger.ts';
import { cleanedWhilePushed, deletedWhileExported, downloadedAgain } from './stories-beside.ts';
import type { Story } from './story.ts';
import { replacing, withMethods } from './with-methods.ts';
import type { Mutant } from './world.ts';

/** Mistakes in clean-ups, exports and downloads. */

/** Batches do not note what they name. */
const unnoted: Mutant = {
  ledger: (ledger) => withMethods(ledger, { noteSeen: async () => undefined }),
};

/** A delete knows of no export. */
const unspared: Mutant = {
  deps: (deps) => ({
    ...deps,
    exportJobs: replacing(deps.exportJobs, { list: async () => ({ jobs: [], nextCursor: null }) }),
  }),
};

/** A batch whose write got no answer is metered anew. */
const meteredAgain: Mutant = {
  deps: (deps) => {
    const { downloads, ids } = deps;
    const meter: typeof downloads.meter = (offer) =>
      downloads.meter(offer).catch((error: unknown) => {
        if (!(error instanceof LedgerUnavailableError)) throw error;
        return downloads.meter({ ...offer, writeId: ids.random(8) });
      });
    return { ...deps, downloads: replacing(downloads, { meter }) };
  },
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
    name: 'deletes know of no export',
    mutant: unspared,
    invariant: /^Exports/,
    seeds: 6,
    story: deletedWhileExported,
  },
  {
    name: 'downloads are metered anew',
    mutant: meteredAgain,
    invariant: /^Downloads/,
    seeds: 30,
    story: downloadedAgain,
  },
];
