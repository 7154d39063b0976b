import type { UploadWay } from '../../core/ledger/rules/upload-way.ts';
import type { Claims } from '../../core/ledger/seams.ts';
import { beginUploads, removeUploads, resumeUploads } from './begin.ts';
import { endUploadsOf } from './end.ts';
import { chunkedMax, isChunked } from './rules/sizes.ts';
import { claimedForMs } from './rules/upload.ts';

/** Objects that are sent in chunks. */
export const chunkedWay = (
  deps: Parameters<typeof beginUploads>[0] & Parameters<typeof resumeUploads>[0],
): UploadWay => ({
  bytesMax: chunkedMax(deps.settings),
  takes: (sizeBytes) => isChunked(deps.settings, sizeBytes),
  claimedForMs,
  resume: (input) => resumeUploads(deps, input),
  begin: (input) => beginUploads(deps, input),
  remove: (input) => removeUploads(deps, input),
});

export const chunkClaims = (deps: Parameters<typeof endUploadsOf>[0]): Claims => ({
  end: ({ states, ...input }) =>
    endUploadsOf(deps, { ...input, states: states === 'open' ? ['open'] : ['open', 'assembling'] }),
});
