import type { Ledger } from '../../../../lambda/core/ledger/ledger.ts';
import type { ArchiveStore } from '../../../../lambda/core/store/rules/archive-store.ts';
import { replacing } from '../../replacing.ts';
import type { Mutant } from '../../world.ts';
import { madeInLargeRepo, sentByTwo } from './stories-parts.ts';

/** Mistakes with files in parts. */

const withArchives = (change: (archives: ArchiveStore) => Partial<ArchiveStore>): Mutant => ({
  deps: (deps) => ({ ...deps, archives: replacing(deps.archives, change(deps.archives)) }),
});

const withLedger = (change: (ledger: Ledger) => Partial<Ledger>): Mutant => ({
  ledger: (ledger) => replacing(ledger, change(ledger)),
});

/** What is ended goes on. */
const neverAborted = withArchives(() => ({ abort: async () => undefined }));

/** Something is stored under the name already. */
const madeAnyway = withArchives((archives) => ({
  complete: (upload, parts, options) => archives.complete(upload, parts, { ...options, ifAbsent: false }),
}));

/** What was made of parts is free at once, though nothing has counted it. */
const freeAtOnce = withLedger((ledger) => ({
  endChunked: (input) => ledger.endChunked({ ...input, isGone: true }),
}));

/** An upload is claimed for as long as one PUT. */
const claimedAsPut = withLedger((ledger) => ({
  issueReservation: ({ chunked, ...input }) =>
    ledger.issueReservation({ ...input, ...(chunked && { chunked: { ...chunked, untilMs: 0 } }) }),
}));

/** Name, invariant that each breaks, and within how many seeds it's found: three times what it took. */
export const partMutants = [
  { name: 'parts that are never aborted', mutant: neverAborted, invariant: /^Parts/, seeds: 48 },
  { name: 'parts that replace a file', mutant: madeAnyway, invariant: /^I7/, seeds: 6, story: sentByTwo },
  {
    name: 'a file of parts that is free at once',
    mutant: freeAtOnce,
    invariant: /^I1/,
    seeds: 6,
    story: madeInLargeRepo,
  },
  { name: 'parts that are claimed as one PUT is', mutant: claimedAsPut, invariant: /^(Parts|I1)/, seeds: 15 },
].map((row) => ({ focus: 'files' as const, ...row }));
