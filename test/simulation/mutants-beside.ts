import { sumEntries } from '../../lambda/core/ledger/rules/reservation.ts';
import { LedgerUnavailableError } from '../../lambda/core/rules/errors.ts';
import { findDownloads, offerFound } from '../../lambda/frame/lfs/downloads.ts';
import { replacing } from './replacing.ts';
import {
  cleanedWhilePushed,
  cleanedWithoutFiles,
  downloadedAgain,
  downloadedInVain,
} from './stories-beside.ts';
import type { Story } from './story.ts';
import type { Mutant } from './world.ts';

/** Mistakes in gc runs and downloads. */

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

/** What is asked for is metered before the store has answered. */
const meteredFirst: Mutant = {
  offerDownload: async (deps, input) => {
    const { tenant, repo, tokenId, objects } = input;
    const asked = { bytes: sumEntries(objects), objects: objects.size };
    const [meter] = deps.meters;
    const outcome = await meter?.({ tenant, repo, tokenId, atMs: deps.clock.nowMs(), ...asked });
    const found = await findDownloads(deps, input);
    return outcome ?? offerFound({ ...deps, meters: [] }, { ...input, found });
  },
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
    name: 'a gc run that fails stops reconciles',
    mutant: failsAltogether,
    invariant: /^I6/,
    seeds: 12,
    story: cleanedWithoutFiles,
  },
  {
    name: 'downloads are metered before the store answers',
    mutant: meteredFirst,
    invariant: /^Downloads/,
    seeds: 6,
    story: downloadedInVain,
  },
  {
    name: 'downloads are metered anew',
    mutant: meteredAgain,
    invariant: /^Downloads/,
    seeds: 30,
    story: downloadedAgain,
  },
];
