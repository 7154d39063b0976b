import { describe, expect, it } from 'vitest';
import { listInDeletions } from '../../../../../../lambda/core/ledger/empty-repos.ts';
import { sha256Hex } from '../../../../../../lambda/core/rules/hash.ts';
import { listTenant } from '../../../../../../lambda/core/scan/find-stored.ts';
import { AdoptedListing } from '../../../../../../lambda/core/store/adopted-listing.ts';
import { AdoptedRepos } from '../../../../../../lambda/core/store/rules/adopted-repos.ts';
import {
  hasKeys,
  listFolderPages,
  listPages,
  nextPage,
  type ObjectListing,
  StoreUnavailableError,
} from '../../../../../../lambda/core/store/rules/store.ts';
import { listStoredObjects } from '../../../../../../lambda/frame/management/stored-objects.ts';
import { GappyListing } from '../../../../../support/gappy-listing.ts';
import { MemoryObjectStore } from '../../../../../support/memory/object-store.ts';
import { Random } from '../../../../../support/random.ts';

const tenant = 'acme';
const oids = Array.from({ length: 40 }, (_, index) => sha256Hex(String(index))).sort();
const keysOf = (repo: string) => oids.map((oid) => `${tenant}/${repo}/${oid}`);

/** Each way to list all objects of the repo `app`, by its keys. */
const waysOfRepo: Readonly<Record<string, (listing: ObjectListing) => Promise<readonly string[]>>> = {
  'its pages': async (listing) => {
    const keys: string[] = [];
    for await (const page of listPages(listing, { prefix: 'acme/app/' }))
      for (let index = 0; index < page.keyCount; index += 1) keys.push(page.keyAt(index));
    return keys;
  },
  'its deletions': async (listing) => {
    const keys: string[] = [];
    for await (const objects of listInDeletions({ listing }, { tenant, repo: 'app' }))
      for (const name of objects.keys()) keys.push(`acme/app/${name}`);
    return keys;
  },
  'the objects that people see': async (listing) => {
    const keys: string[] = [];
    let after: string | undefined;
    do {
      const page = await listStoredObjects(
        { listing },
        { tenant, repo: 'app', pageSize: 7, ...(after && { after }) },
      );
      expect(page.objects.length > 0 || page.next === null).toBe(true);
      for (const { repo, oid } of page.objects) keys.push(`${tenant}/${repo}/${oid}`);
      after = page.next ?? undefined;
    } while (after !== undefined);
    return keys;
  },
};

describe('a listing whose pages are empty though more follow', () => {
  const store = new MemoryObjectStore();
  for (const key of [...keysOf('app'), ...keysOf('web'), `${tenant}/stray`, 'acme2/app/x']) store.put(key, 1);
  const gappy = (seed: number, gapChance = 0.6) =>
    new GappyListing(store, new Random(seed), { gapChance, pageSize: 1 + (seed % 5) });
  const seeds = Array.from({ length: 40 }, (_, seed) => seed);

  it.each(Object.entries(waysOfRepo))('has all objects of a repo in %s', async (_, list) => {
    for (const seed of seeds) expect(await list(gappy(seed))).toEqual(keysOf('app'));
  });

  it('has all folders of a tenant', async () => {
    for (const seed of seeds) {
      const { folders, rootObjects } = await listTenant({ listing: gappy(seed) }, { tenant });
      expect([[...folders], rootObjects.objectCount]).toEqual([['app', 'web'], 1]);
    }
  });

  it('has what lies in no folder among the deletions of the repo without a name', async () => {
    for (const seed of seeds) {
      const names: string[] = [];
      for await (const objects of listInDeletions({ listing: gappy(seed) }, { tenant, repo: '' }))
        names.push(...objects.keys());
      expect(names).toEqual(['stray']);
    }
  });

  it('has all objects of an adopted repo', async () => {
    const adopted = new MemoryObjectStore();
    for (const oid of oids) adopted.put(`old/${oid}`, 1);
    const repos = new AdoptedRepos([{ tenant, repo: 'app', path: 'old/', names: 'oid' }]);
    for (const seed of seeds) {
      const inner = new GappyListing(adopted, new Random(seed), { gapChance: 0.6, pageSize: 3 });
      const pages = listPages(new AdoptedListing(inner, repos), { prefix: 'acme/app/' });
      let count = 0;
      for await (const { keyCount } of pages) count += keyCount;
      expect(count).toBe(oids.length);
    }
  });

  it('has keys, or none', async () => {
    for (const seed of seeds) {
      expect(await hasKeys(gappy(seed), 'acme/app/')).toBe(true);
      expect(await hasKeys(gappy(seed), 'acme/none/')).toBe(false);
    }
  });

  it('tells of each request', async () => {
    let requests = 0;
    const counting: ObjectListing = {
      listPage: (request) => {
        requests += 1;
        return gappyOnce.listPage(request);
      },
      listFolders: (request) => gappyOnce.listFolders(request),
    };
    const gappyOnce = gappy(3);
    let told = 0;
    const onPage = async () => {
      told += 1;
    };
    for await (const page of listPages(counting, { prefix: 'acme/app/' }, onPage))
      expect(page.keyCount).toBeGreaterThan(0);
    expect(told).toBe(requests);
    expect(told).toBeGreaterThan(oids.length / 4);
  });

  it.each(Object.entries(waysOfRepo))('that never ends fails in %s', async (_, list) => {
    await expect(list(gappy(1, 1))).rejects.toThrow(StoreUnavailableError);
  });

  it('that never ends fails after a thousand empty pages', async () => {
    let requests = 0;
    const onPage = async () => {
      requests += 1;
    };
    await expect(nextPage(gappy(1, 1), { prefix: 'acme/app/' }, onPage)).rejects.toThrow(
      'The store returned 1000 pages in a row without a new key below "acme/app/".',
    );
    expect(requests).toBe(1000);
    const folders = async () => {
      let pages = 0;
      for await (const _ of listFolderPages(gappy(1, 1), 'acme/')) pages += 1;
      return pages;
    };
    await expect(folders()).rejects.toThrow('without a new key');
  });

  it("that doesn't say where it continues fails", async () => {
    const cut: ObjectListing = {
      ...store,
      listFolders: (request) => store.listFolders(request),
      listPage: async (request) => ({
        ...(await store.listPage({ ...request, maxKeys: 0 })),
        keyCount: 0,
        isTruncated: true,
        nextContinuationToken: undefined,
      }),
    };
    await expect(nextPage(cut, { prefix: 'acme/' })).rejects.toThrow(StoreUnavailableError);
  });
});
