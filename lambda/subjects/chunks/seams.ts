import type { UploadWay } from '../../core/ledger/rules/upload-way.ts';
import type { Claims } from '../../core/ledger/seams.ts';
import { beginUploads, removeUploads, resumeUploads } from './begin.ts';
import { endUploadsOf } from './end.ts';
import { chunkedMax, isChunked } from './rules/sizes.ts';
import { claimedForMs } from './rules/upload.ts';
import * as stores from './stores.ts';

/** Objects that are sent in chunks. */
const chunkedWay = (
  deps: Parameters<typeof beginUploads>[0] & Parameters<typeof resumeUploads>[0],
): UploadWay => ({
  bytesMax: chunkedMax(deps.settings),
  takes: (sizeBytes) => isChunked(deps.settings, sizeBytes),
  claimedForMs,
  // As they came, as parts, and as the object.
  diskCopies: 3,
  resume: (input) => resumeUploads(deps, input),
  begin: (input) => beginUploads(deps, input),
  remove: (input) => removeUploads(deps, input),
});

export const chunkBatches = { way: chunkedWay, stores };

const claims = (deps: Parameters<typeof endUploadsOf>[0]): Claims => ({
  end: ({ states, ...input }) =>
    endUploadsOf(deps, { ...input, states: states === 'open' ? ['open'] : ['open', 'assembling'] }),
});

export const chunkClaims = { claims, stores };
