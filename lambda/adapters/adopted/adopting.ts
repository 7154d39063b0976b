import { AdoptedRepos } from '../../domain/adopted-repos.ts';
import type { ArchiveStore } from '../../ports/archive-store.ts';
import type { ObjectListing } from '../../ports/object-listing.ts';
import type { ObjectStore, UrlSigner } from '../../ports/object-store.ts';
import { AdoptedArchiveStore } from './archive-store.ts';
import { AdoptedListing } from './listing.ts';
import { AdoptedObjectStore } from './object-store.ts';
import { AdoptedUrlSigner } from './url-signer.ts';

type WarmListing = ObjectListing & { warmUp(): Promise<void> };

/** Everything that sends keys to the bucket, or gets keys from it, must pass through here. */
export interface Adopting {
  readonly repos: AdoptedRepos;
  store(store: ObjectStore): ObjectStore;
  signer(signer: UrlSigner): UrlSigner;
  listing(listing: WarmListing): WarmListing;
  archives(archives: ArchiveStore): ArchiveStore;
}

/** Without adopted repos nothing stands between a function and the bucket. */
export function createAdopting(repos: ConstructorParameters<typeof AdoptedRepos>[0]): Adopting {
  const adopted = new AdoptedRepos(repos);
  const isNone = repos.length === 0;
  return {
    repos: adopted,
    store: (store) => (isNone ? store : new AdoptedObjectStore(store, adopted)),
    signer: (signer) => (isNone ? signer : new AdoptedUrlSigner(signer, adopted)),
    listing: (listing) => (isNone ? listing : new AdoptedListing(listing, adopted)),
    archives: (archives) => (isNone ? archives : new AdoptedArchiveStore(archives, adopted)),
  };
}
