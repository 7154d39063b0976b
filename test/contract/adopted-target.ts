import {
  adoptedArchives,
  adoptedListing,
  adoptedSigner,
  adoptedStore,
} from '../../lambda/core/store/adopted.ts';
import {
  type AdoptedRepo,
  AdoptedRepos,
  type NameLayout,
} from '../../lambda/core/store/rules/adopted-repos.ts';
import type { ArchiveStoreTarget } from './archive-store.contract.ts';
import { type KeyNames, type ObjectStoreTarget, sha256Hex } from './object-store-context.ts';

/** Places that the tests of a contract may use. */
const placesMax = 200;
const tenant = 'acme';

/** The adopted repo that is the nth place of a contract, and its neighbours in the bucket. */
const repoAt = (place: number, names: NameLayout): AdoptedRepo => ({
  tenant,
  repo: `r${place}`,
  path: `there/${place}/`,
  names,
});

export const adoptedPrefix = (place: number) => `${tenant}/r${place}/`;

/** An adopted repo has objects alone: a text becomes an oid, and the order stays. */
export const oidNames: KeyNames = {
  of: (text) => oidNames.beginning(text).padEnd(64, '0'),
  beginning: (text) => Buffer.from(text).toString('hex'),
};

function adoptedPlaces(names: NameLayout) {
  return new AdoptedRepos(Array.from({ length: placesMax }, (_, index) => repoAt(index + 1, names)));
}

/**
 * A store as a stage sees it that has adopted repos of a layout: each place is one of them. At the repo's own path lies what
 * must not be seen.
 */
export function adoptedTarget(inner: ObjectStoreTarget, names: NameLayout): Omit<ObjectStoreTarget, 'sdk'> {
  const repos = adoptedPlaces(names);
  const hidden = new Set<string>();
  return {
    store: adoptedStore(inner.store, repos),
    listing: adoptedListing(
      {
        listPage: (request) => inner.listing.listPage(request),
        listFolders: (request) => inner.listing.listFolders(request),
        warmUp: async () => {},
      },
      repos,
    ),
    ...(inner.signer && { signer: adoptedSigner(inner.signer, repos) }),
    put: async (key, body) => {
      const hiddenKey = `${key.slice(0, -64)}${'e'.repeat(64)}`;
      if (!hidden.has(hiddenKey)) await inner.put(hiddenKey, Buffer.from('hidden'));
      hidden.add(hiddenKey);
      await inner.put(repos.storedKey(key) ?? '', body);
    },
    stop: () => inner.stop(),
  };
}

/** Archives of a bucket with adopted repos of a layout. What archives are made of are objects of those. */
export function adoptedArchivesTarget(inner: ArchiveStoreTarget, names: NameLayout): ArchiveStoreTarget {
  const repos = adoptedPlaces(names);
  const stored = (key: string) => repos.storedKey(key) ?? '';
  return {
    ...inner,
    store: adoptedArchives(inner.store, repos),
    sources: {
      keyOf: (place, name) => adoptedPrefix(place) + sha256Hex(Buffer.from(name)),
      put: (key, bytes) => inner.store.put(stored(key), bytes),
      delete: (key) => inner.store.delete([stored(key)]),
    },
  };
}
