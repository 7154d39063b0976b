import { sumEntries } from '../../../../lambda/core/ledger/rules/reservation.ts';
import { LedgerUnavailableError } from '../../../../lambda/core/rules/errors.ts';
import { findDownloads, offerFound } from '../../../../lambda/subjects/lfs/downloads.ts';
import { replacing } from '../../replacing.ts';
import type { Mutant } from '../../world.ts';
import { downloadedAgain, downloadedInVain } from './stories-downloads.ts';

/** Mistakes in what is metered. */

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

export const downloadMutants = [
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
