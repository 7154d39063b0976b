import type { StoreProbe } from '../../ports/store-probe.ts';
import type { Clock } from '../../rules/system.ts';
import type { ObjectListing } from '../../store/rules/store.ts';

/** No tenant has this name, so there is nothing to be listed. */
const prefix = 'v1/';
const answerMs = 6_000;

/** Lists nothing: one LIST, which takes the bucket, the credentials and the right to list. */
export function createStoreProbe(
  { listing, clock }: { listing: Pick<ObjectListing, 'listPage'>; clock: Pick<Clock, 'nowMs'> },
  place: Pick<StoreProbe, 'kind' | 'endpoint' | 'bucket'>,
): StoreProbe {
  return {
    ...place,
    async probe() {
      await listing.listPage({ prefix, maxKeys: 1, deadlineMs: clock.nowMs() + answerMs });
    },
  };
}
