import type { CoreDeps } from '../../../core/ledger/core-deps.ts';
import type { HostPorts } from '../../hosts/ports.ts';
import type { LfsPorts, PublicAccess, ReadThrough } from '../../lfs/seams.ts';
import { publicTokenId } from '../rules/public-reads.ts';
import * as stores from '../stores.ts';
import { type AdmitCopiesDeps, admitCopies } from './admit-copies.ts';
import { anonymousLimitReached, publicLimitReached } from './lfs-messages.ts';
import { type OfferPubliclyDeps, offerPublicly } from './public-offers.ts';
import { findPublicRepo } from './public-repos.ts';
import { lfsCopies } from './routes.ts';
import { askUpstream } from './upstream.ts';

/** Anybody may download from a public repo, up to its ceiling. */
const publicAccess =
  (deps: OfferPubliclyDeps & Parameters<typeof findPublicRepo>[0] & Pick<CoreDeps, 'log'>): PublicAccess =>
  async ({ lfsUrl, ...place }) => {
    const found = await findPublicRepo(deps, place);
    if (!found) return undefined;
    const { tenant, publicRead, repo } = found;
    const repoObjects = repo && repo.epoch > 0 ? repo.objectCount : undefined;
    return async (objects) => {
      const outcome = await offerPublicly(deps, { tenant, publicRead, repoObjects, objects });
      if (outcome.kind === 'answered') return outcome;
      const { askedBytes } = outcome;
      const isCeiling = outcome.kind === 'over-ceiling';
      deps.log.info('downloads refused', { ...place, tokenId: publicTokenId, askedBytes, isCeiling });
      const message = isCeiling
        ? publicLimitReached({ ...outcome, ...place, lfsUrl })
        : anonymousLimitReached({ ...outcome, ...place });
      return { kind: 'refused', message };
    };
  };

/** What is missing here is downloaded from the git host that the repo is linked to, and copied. */
function readThrough(deps: AdmitCopiesDeps & Pick<HostPorts, 'gitHosts'>): ReadThrough {
  return {
    ask: async ({ upstream, ...asked }) => {
      const host = deps.gitHosts.find(({ id }) => id === upstream.host);
      return host ? askUpstream(deps, { ...asked, upstream: { ...upstream, host } }) : new Map();
    },
    copy: (place, { objects, verdicts }) => {
      const offers = [...verdicts].flatMap(([oid, verdict]) =>
        verdict.kind === 'upstream' ? [[oid, { ...verdict, sizeBytes: objects.get(oid) ?? 0 }] as const] : [],
      );
      return admitCopies(deps, { ...place, offers: new Map(offers) });
    },
  };
}

/** What batches ask. */
function downloadSeams(
  deps: Parameters<typeof publicAccess>[0] & Parameters<typeof readThrough>[0],
): LfsPorts {
  return { publicAccess: publicAccess(deps), readThrough: readThrough(deps) };
}

export const downloadBatches = {
  operations: lfsCopies,
  seams: downloadSeams,
  stores,
  queues: { copyQueue: 'Copy' },
} as const;
