import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { compareKeys } from '../../../../../lambda/core/rules/names.ts';
import {
  AdoptedListing,
  JoinedPage,
  type PagePart,
} from '../../../../../lambda/core/store/adopted-listing.ts';
import {
  AdoptedPathError,
  type AdoptedRepo,
  AdoptedRepos,
  nameLayouts,
  storedNameOf,
} from '../../../../../lambda/core/store/rules/adopted-repos.ts';
import {
  type ListedPage,
  type ListPageRequest,
  type ObjectListing,
  StoreUnavailableError,
} from '../../../../../lambda/core/store/rules/store.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';

const oidOf = (digits: string) => digits.padEnd(64, '0');
const game: AdoptedRepo = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'ab/cd/rest' };
const storedKey = ({ path, names }: AdoptedRepo, digits: string) => path + storedNameOf(names, oidOf(digits));

/** A bucket, and what was asked of it. */
class Bucket implements ObjectListing {
  readonly memory = new MemoryObjectStore();
  readonly requests: ListPageRequest[] = [];
  #puts = 0;

  put(...keys: string[]): void {
    for (const key of keys) {
      this.#puts += 1;
      this.memory.put(key, this.#puts, undefined, 1000 * this.#puts);
    }
  }

  async listPage(request: ListPageRequest): Promise<ListedPage> {
    this.requests.push(request);
    return this.memory.listPage(request);
  }

  listFolders(request: { prefix: string; continuationToken?: string }) {
    return this.memory.listFolders(request);
  }
}

function bucketWith(repos: readonly AdoptedRepo[], ...keys: string[]) {
  const bucket = new Bucket();
  bucket.put(...keys);
  return { bucket, listing: new AdoptedListing(bucket, new AdoptedRepos(repos)) };
}

const keysOf = (page: ListedPage) => Array.from({ length: page.keyCount }, (_, index) => page.keyAt(index));

/** All keys, by the tokens of the pages. Each page that says that others follow must have some. */
async function allKeys(listing: ObjectListing, request: ListPageRequest): Promise<string[]> {
  const keys: string[] = [];
  let continuationToken: string | undefined;
  do {
    const page = await listing.listPage({ ...request, ...(continuationToken && { continuationToken }) });
    expect(page.nextContinuationToken !== undefined).toBe(page.isTruncated);
    if (page.isTruncated) expect(page.keyCount).toBeGreaterThan(0);
    expect(page.keyCount).toBeLessThanOrEqual(request.maxKeys ?? 1000);
    keys.push(...keysOf(page));
    if (new Set(keys).size < keys.length) throw new Error(`${keys.at(-1)} was listed twice.`);
    continuationToken = page.nextContinuationToken;
  } while (continuationToken !== undefined);
  return keys;
}

describe('a listing of an adopted repo', () => {
  it('shows its objects as if they lay at the path of the repo', async () => {
    const stored = ['aa', 'ab', 'f0'].map((digits) => storedKey(game, digits));
    const { bucket, listing } = bucketWith([game], ...stored);
    const page = await listing.listPage({ prefix: 'acme/game/', readsTimes: true, readsEtags: true });
    expect(keysOf(page)).toEqual(['aa', 'ab', 'f0'].map((digits) => `acme/game/${oidOf(digits)}`));
    expect(page).toMatchObject({ keyCount: 3, totalBytes: 6, isTruncated: false });
    expect([0, 1, 2].map((index) => page.sizeAt(index))).toEqual([1, 2, 3]);
    expect(page.lastModifiedMsAt(1)).toBe(2000);
    expect(page.etagAt(1)).toBe(bucket.memory.versionOf(stored[1] ?? '')?.etag);
    for (const read of ['keyAt', 'sizeAt', 'lastModifiedMsAt', 'etagAt'] as const)
      expect(() => page[read](3), read).toThrow(RangeError);
    expect(bucket.requests).toEqual([{ prefix: 'lfs/', maxKeys: 1000, readsTimes: true, readsEtags: true }]);
  });

  it('asks by the first digits of oids as they are stored', async () => {
    const { bucket, listing } = bucketWith(
      [game],
      ...['0a', 'abc1', 'abc2', 'abd'].map((d) => storedKey(game, d)),
    );
    const page = await listing.listPage({
      prefix: 'acme/game/abc',
      startAfter: `acme/game/${oidOf('abc1')}`,
    });
    expect(keysOf(page)).toEqual([`acme/game/${oidOf('abc2')}`]);
    expect(bucket.requests).toMatchObject([{ prefix: 'lfs/ab/c', startAfter: storedKey(game, 'abc1') }]);
  });

  it('asks nothing where nothing can be', async () => {
    const { bucket, listing } = bucketWith([game], storedKey(game, 'ab'));
    for (const request of [
      { prefix: 'acme/game/readme' },
      { prefix: 'acme/game/x/' },
      { prefix: 'acme/game/', startAfter: 'acme/game/~' },
      { prefix: 'acme/game/', startAfter: 'acme/h' },
      { prefix: 'acme/game/0', startAfter: `acme/game/${oidOf('ab')}` },
    ])
      expect(await listing.listPage(request)).toMatchObject({
        keyCount: 0,
        totalBytes: 0,
        isTruncated: false,
      });
    expect(bucket.requests).toEqual([]);
    expect(keysOf(await listing.listPage({ prefix: 'acme/game/', startAfter: 'acme/a' }))).toHaveLength(1);
    expect(bucket.requests).toEqual([{ prefix: 'lfs/', maxKeys: 1000 }]);
  });

  it('hides what is none of its objects, with its bytes, and what lies at its own path', async () => {
    const { listing } = bucketWith(
      [game],
      'lfs/.tmp/1',
      storedKey(game, 'ab'),
      `${storedKey(game, 'ab')}.zstd`,
      storedKey(game, 'ac'),
      'lfs/ab/cd/upload-1',
      'lfs/zz',
      `acme/game/${oidOf('ff')}`,
      'lfs2/x',
    );
    const page = await listing.listPage({ prefix: 'acme/game/' });
    expect(keysOf(page)).toEqual([`acme/game/${oidOf('ab')}`, `acme/game/${oidOf('ac')}`]);
    expect(page).toMatchObject({ totalBytes: 2 + 4, isTruncated: false });
    expect(page.sizeAt(1)).toBe(4);
  });

  it('passes other folders by a request each, and asks no page of one key twice', async () => {
    const others = Array.from({ length: 2500 }, (_, index) => `acme2/game/${oidOf(`a${index}`)}`);
    const whole: AdoptedRepo = { ...game, path: '' };
    const { bucket, listing } = bucketWith([whole], ...others, storedKey(whole, 'ad'));
    const page = await listing.listPage({ prefix: 'acme/game/', maxKeys: 1 });
    expect(keysOf(page)).toEqual([`acme/game/${oidOf('ad')}`]);
    expect(bucket.requests.map(({ startAfter, maxKeys }) => [startAfter, maxKeys])).toEqual([
      [undefined, 1],
      ['ac~', 1000],
    ]);
  });

  it('gives up after a bounded number of pages without an object, and passes on how to stop', async () => {
    let pages = 0;
    const { signal } = new AbortController();
    const foreign = async (request: ListPageRequest): Promise<ListedPage> => {
      expect(request).toMatchObject({ signal, deadlineMs: 5 });
      pages += 1;
      const memory = new MemoryObjectStore();
      // Each could be followed by an object.
      memory.put(
        `lfs/${String(pages)
          .padStart(4, '0')
          .replace(/^(..)(..)$/, '$1/$2/')}`,
        1,
      );
      const page = await memory.listPage({ prefix: '' });
      return { ...page, keyAt: (index) => page.keyAt(index), isTruncated: true, nextContinuationToken: 't' };
    };
    const inner = { listPage: foreign, listFolders: () => Promise.reject(new Error('Not asked.')) };
    const listing = new AdoptedListing(inner, new AdoptedRepos([game]));
    const listed = listing.listPage({ prefix: 'acme/game/', signal, deadlineMs: 5 });
    await expect(listed).rejects.toThrow(StoreUnavailableError);
    await expect(listed).rejects.toThrow('1000 pages of the bucket below "lfs/" have nothing of');
    expect(pages).toBe(1000);
  });

  it('shows what a page has after one request, though the repo has more', async () => {
    const { bucket, listing } = bucketWith([game], 'lfs/ab/cd', storedKey(game, 'ab'), storedKey(game, 'cd'));
    const page = await listing.listPage({ prefix: 'acme/game/', maxKeys: 2 });
    expect([page.keyCount, page.isTruncated, bucket.requests.length]).toEqual([1, true, 1]);
  });

  it('has no keys but those of its page', async () => {
    const { listing } = bucketWith([game], storedKey(game, 'ab'));
    const page = await listing.listPage({ prefix: 'acme/game/' });
    for (const read of ['keyAt', 'sizeAt', 'etagAt', 'lastModifiedMsAt'] as const)
      expect(() => page[read](1)).toThrow('The page has 1 keys, none at 1.');
  });

  it('goes on behind an empty page of the store', async () => {
    const memory = new MemoryObjectStore();
    memory.put(storedKey(game, 'ab'), 7);
    const tokens: unknown[] = [];
    const inner: ObjectListing = {
      listPage: async ({ continuationToken, ...request }) => {
        tokens.push(continuationToken);
        if (continuationToken !== undefined) return memory.listPage(request);
        const none = await memory.listPage({ prefix: 'none' });
        return { ...none, keyCount: 0, totalBytes: 0, isTruncated: true, nextContinuationToken: 'on' };
      },
      listFolders: (request) => memory.listFolders(request),
    };
    const listing = new AdoptedListing(inner, new AdoptedRepos([game]));
    expect(await listing.listPage({ prefix: 'acme/game/' })).toMatchObject({
      keyCount: 1,
      isTruncated: false,
    });
    expect(tokens).toEqual([undefined, 'on']);
  });

  it('in any order has the pages of the store, with their own tokens', async () => {
    const keys = ['a1', 'b2', 'c3'].map((digits) => storedKey(game, digits));
    const { bucket, listing } = bucketWith([game], ...keys);
    const request = { prefix: 'acme/game/', inAnyOrder: true, maxKeys: 2 };
    const first = await listing.listPage(request);
    expect(bucket.requests).toEqual([{ ...request, prefix: 'lfs/' }]);
    expect(keysOf(first)).toEqual([`acme/game/${oidOf('a1')}`, `acme/game/${oidOf('b2')}`]);
    const { nextContinuationToken = '' } = await bucket.memory.listPage({ prefix: 'lfs/', maxKeys: 2 });
    expect(first.nextContinuationToken).toBe(nextContinuationToken);
    const last = await listing.listPage({ ...request, continuationToken: nextContinuationToken });
    expect(keysOf(last)).toEqual([`acme/game/${oidOf('c3')}`]);
    // No object is where the request looks.
    expect(keysOf(await listing.listPage({ ...request, prefix: 'acme/game/zz' }))).toEqual([]);
  });

  it('is refused if the store lists what is not below, or not in order', async () => {
    const { bucket, listing } = bucketWith([game], storedKey(game, 'a1'));
    const request = { prefix: 'acme/game/' };
    const inOrder = 'The store doesn\'t list keys below "lfs/" in order.';
    const pages: [change: (page: ListedPage) => Partial<ListedPage>, message: string, startAfter?: string][] =
      [
        [() => ({ keyAt: () => 'other/key' }), 'The store listed a key without the requested prefix.'],
        [() => ({ isInOrder: false }), inOrder],
        [() => ({ keyAt: () => storedKey(game, 'a1') }), inOrder, 'a1'],
        [() => ({ keyAt: () => storedKey(game, 'a1') }), inOrder, 'b2'],
      ];
    for (const [change, message, digits] of pages) {
      bucket.listPage = async (asked) => {
        const page = await bucket.memory.listPage({ prefix: asked.prefix });
        return Object.assign(Object.create(page), page, change(page));
      };
      const startAfter = digits === undefined ? {} : { startAfter: `acme/game/${oidOf(digits)}` };
      await expect(listing.listPage({ ...request, ...startAfter })).rejects.toThrow(message);
    }
  });

  it('refuses a token that it has not made', async () => {
    const { listing } = bucketWith([game]);
    const listed = listing.listPage({ prefix: 'acme/game/', continuationToken: 'x' });
    await expect(listed).rejects.toThrow(RangeError);
    await expect(listed).rejects.toThrow('The continuation token is of another listing.');
  });
});

describe('a listing of a tenant with adopted repos', () => {
  const art: AdoptedRepo = { tenant: 'acme', repo: 'art', path: 'org/Art/', names: 'oid' };

  it('has them in their places', async () => {
    const { listing } = bucketWith(
      [game, art],
      'acme/a/1',
      'acme/b/1',
      'acme/game/hidden',
      'acme/game/~/hidden',
      'acme/game2/1',
      'acme/z',
      storedKey(game, 'ab'),
      storedKey(art, 'cd'),
    );
    const keys = [
      'acme/a/1',
      `acme/art/${oidOf('cd')}`,
      'acme/b/1',
      `acme/game/${oidOf('ab')}`,
      'acme/game2/1',
      'acme/z',
    ];
    expect(keysOf(await listing.listPage({ prefix: 'acme/' }))).toEqual(keys);
    for (let maxKeys = 1; maxKeys <= 7; maxKeys += 1)
      expect(await allKeys(listing, { prefix: 'acme/', maxKeys })).toEqual(keys);
    const { commonPrefixes, keys: beside } = await listing.listFolders({ prefix: 'acme/' });
    expect(commonPrefixes).toEqual(['acme/a/', 'acme/art/', 'acme/b/', 'acme/game/', 'acme/game2/']);
    expect(beside).toEqual([{ key: 'acme/z', sizeBytes: 6 }]);
  });

  it('that is filled to its last key says so only if keys of another stretch may follow', async () => {
    const { bucket, listing } = bucketWith([game], 'acme/a/1', storedKey(game, 'ab'), 'acme/z/1');
    const filled = async (maxKeys: number) => {
      bucket.requests.length = 0;
      const page = await listing.listPage({ prefix: 'acme/', maxKeys });
      expect(page.keyCount).toBe(maxKeys);
      // Nobody is asked for pages of no keys.
      for (const request of bucket.requests) expect(request.maxKeys).toBeGreaterThan(0);
      return page.isTruncated;
    };
    expect([await filled(1), await filled(2), await filled(3)]).toEqual([true, true, false]);
  });

  it('does not ask again for what lies before the key after which it goes on', async () => {
    const { bucket, listing } = bucketWith([game], 'acme/a/1', storedKey(game, 'ab'), 'acme/z/1');
    const listedAfter = async (startAfter: string) => {
      bucket.requests.length = 0;
      const page = await listing.listPage({ prefix: 'acme/', startAfter });
      return [keysOf(page), bucket.requests.map(({ prefix }) => prefix)];
    };
    expect(await listedAfter(`acme/game/${oidOf('ab')}`)).toEqual([['acme/z/1'], ['lfs/', 'acme/']]);
    expect(await listedAfter('acme/game/')).toEqual([
      [`acme/game/${oidOf('ab')}`, 'acme/z/1'],
      ['lfs/', 'acme/'],
    ]);
    expect(await listedAfter('acme/m/1')).toEqual([['acme/z/1'], ['acme/']]);
  });

  it('is filled by the next stretch though the store has more behind the end of this one', async () => {
    const behind = Array.from({ length: 5 }, (_, index) => `acme/z/${index}`);
    const { listing } = bucketWith([game], 'acme/a/1', storedKey(game, 'ab'), ...behind);
    expect(keysOf(await listing.listPage({ prefix: 'acme/', maxKeys: 2 }))).toEqual([
      'acme/a/1',
      `acme/game/${oidOf('ab')}`,
    ]);
  });

  it('begins at the beginning if it is to begin before that', async () => {
    const { bucket, listing } = bucketWith([game], 'acme/a/1', storedKey(game, 'ab'));
    expect(keysOf(await listing.listPage({ prefix: 'acme/', startAfter: 'aaa' }))).toHaveLength(2);
    expect(bucket.requests[0]).toEqual({ prefix: 'acme/', maxKeys: 1000 });
  });

  it('has the mark of its folder once', async () => {
    const { listing } = bucketWith([game], 'acme/', 'acme/a/', 'acme/game/', storedKey(game, 'ab'));
    const keys = ['acme/', 'acme/a/', `acme/game/${oidOf('ab')}`];
    for (let maxKeys = 1; maxKeys <= 4; maxKeys += 1)
      expect(await allKeys(listing, { prefix: 'acme/', maxKeys })).toEqual(keys);
  });

  it('has no folder of one without objects', async () => {
    const { listing } = bucketWith([game, art], 'acme/game/hidden', 'lfs/none', storedKey(art, 'cd'));
    expect((await listing.listFolders({ prefix: 'acme/' })).commonPrefixes).toEqual(['acme/art/']);
  });

  it('has their folders on the first page alone', async () => {
    const folders = Array.from({ length: 1500 }, (_, index) => `acme/r${index}/1`);
    const { bucket, listing } = bucketWith([game], ...folders, storedKey(game, 'ab'));
    const first = await listing.listFolders({ prefix: 'acme/' });
    bucket.requests.length = 0;
    expect(first.commonPrefixes).toContain('acme/game/');
    const continuationToken = first.nextContinuationToken ?? '';
    const second = await listing.listFolders({ prefix: 'acme/', continuationToken });
    expect(second.commonPrefixes).not.toContain('acme/game/');
    // Nothing is asked of the repo once more.
    expect(bucket.requests).toEqual([]);
    expect(first.commonPrefixes.length + second.commonPrefixes.length).toBe(1501);
  });

  it('has the objects of an adopted repo in no folder', async () => {
    const { listing } = bucketWith([game], storedKey(game, 'ab'));
    expect(await listing.listFolders({ prefix: 'acme/game/' })).toEqual({
      commonPrefixes: [],
      keys: [{ key: `acme/game/${oidOf('ab')}`, sizeBytes: 1 }],
      nextContinuationToken: undefined,
    });
  });

  it('is that of a bucket in which they lay at their own paths, whatever it has', async () => {
    const digits = fc.array(fc.constantFrom('0', 'a', 'f'), { maxLength: 6 }).map((parts) => parts.join(''));
    const name = fc.oneof(
      digits.map(oidOf),
      digits,
      fc.constantFrom('', '/', '~', 'readme', '.tmp/1', 'zz', '\u{10000}'),
    );
    const repo = fc.constantFrom('a', 'art', 'game', 'game2', 'gam', 'z');
    const ownKey = fc.tuple(fc.constantFrom('acme', 'beta'), repo, name).map((parts) => parts.join('/'));
    const beside = fc.tuple(fc.constantFrom('acme/', 'beta/', 'lfs2/'), name).map((parts) => parts.join(''));
    const stretch = fc.constantFrom('acme/', 'acme/game/', 'acme/art/', 'acme/game/a', 'acme/g', 'beta/');
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.oneof(ownKey, beside), { maxLength: 25 }),
        fc.uniqueArray(digits, { maxLength: 12, selector: oidOf }),
        fc.uniqueArray(name, { maxLength: 8 }),
        fc.tuple(fc.constantFrom(...nameLayouts), fc.constantFrom('lfs/', '')),
        stretch,
        fc.option(fc.oneof(ownKey, name), { nil: undefined }),
        fc.integer({ min: 1, max: 9 }),
        async (own, adopted, foreign, [names, path], prefix, startAfter, maxKeys) => {
          const first = { ...game, names, path };
          const repos = path === '' ? [first] : [first, art];
          const { bucket, listing } = bucketWith(repos);
          const isHidden = (key: string) =>
            repos.some(({ tenant, repo: each }) => key.startsWith(`${tenant}/${each}/`));
          const expected = new Map<string, number>();
          const put = (stored: string, key: string | undefined) => {
            if (bucket.memory.versionOf(stored)) return;
            bucket.put(stored);
            const size = bucket.memory.versionOf(stored)?.sizeBytes ?? 0;
            if (key !== undefined) expected.set(key, size);
          };
          for (const key of own) put(key, isHidden(key) ? undefined : key);
          for (const each of adopted)
            for (const place of repos)
              put(storedKey(place, each), `${place.tenant}/${place.repo}/${oidOf(each)}`);
          // Nothing of the layouts, or it would be an object.
          for (const each of foreign) if (each.length !== 64) put(`${path}${each}.other`, undefined);
          const keys = [...expected.keys()]
            .filter((key) => key.startsWith(prefix))
            .filter((key) => startAfter === undefined || compareKeys(key, startAfter) > 0)
            .sort(compareKeys);
          const request = { prefix, maxKeys, ...(startAfter !== undefined && { startAfter }) };
          expect(await allKeys(listing, request)).toEqual(keys);
          const page = await listing.listPage(request);
          const shown = keys.slice(0, page.keyCount);
          expect(keysOf(page)).toEqual(shown);
          expect(page.totalBytes).toBe(shown.reduce((sum, key) => sum + (expected.get(key) ?? 0), 0));
          if (!page.isTruncated) expect(shown).toHaveLength(keys.length);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('a listing that meets no adopted repo', () => {
  it('is passed on as it is', async () => {
    const { bucket, listing } = bucketWith([game], 'beta/a/1', 'beta/a/2');
    const request = { prefix: 'beta/', maxKeys: 1 };
    const page = await listing.listPage(request);
    expect(bucket.requests[0]).toBe(request);
    const next = await listing.listPage({ ...request, continuationToken: page.nextContinuationToken ?? '' });
    expect(keysOf(next)).toEqual(['beta/a/2']);
    expect(await listing.listFolders({ prefix: 'beta/' })).toMatchObject({ commonPrefixes: ['beta/a/'] });
  });

  it('is refused where it would show an adopted path as that of another tenant', async () => {
    const { bucket, listing } = bucketWith([game], storedKey(game, 'ab'));
    for (const prefix of ['', 'l', 'lfs/', 'lfs/ab/']) {
      await expect(listing.listPage({ prefix }), prefix).rejects.toThrow(AdoptedPathError);
      if (prefix !== '')
        await expect(listing.listFolders({ prefix }), prefix).rejects.toThrow(AdoptedPathError);
    }
    expect(bucket.requests).toEqual([]);
  });

  it('of the whole bucket has its folders and those of adopted repos, without the path that they are at', async () => {
    const { listing } = bucketWith([game], storedKey(game, 'ab'), 'own/app/x', 'lfsx/app/x');
    const { commonPrefixes } = await listing.listFolders({ prefix: '' });
    expect(commonPrefixes).toEqual(['acme/game/', 'lfsx/', 'own/']);
  });

  it('warms up what it lists with', async () => {
    const { bucket } = bucketWith([]);
    const warmUp = vi.fn(async () => {});
    const warm = Object.assign(bucket, { warmUp });
    await new AdoptedListing(warm, new AdoptedRepos([game])).warmUp();
    expect(warmUp).toHaveBeenCalledTimes(1);
  });

  it('may be one that cannot be warmed up', async () => {
    const { listing } = bucketWith([game]);
    await expect(listing.warmUp()).resolves.toBeUndefined();
  });
});

const pageOf = async (...sizes: readonly number[]) => {
  const memory = new MemoryObjectStore();
  for (const [index, size] of sizes.entries()) memory.put(`k${index}`, size, undefined, 1000 + index);
  return memory.listPage({ prefix: '', readsTimes: true });
};
const tokenAfter = (lastKey: string) => `after ${lastKey}`;
const keyOf = (storedKey: string) => `own/${storedKey}`;

describe('a page that is joined', () => {
  const joined = (isTruncated: boolean, ...parts: readonly PagePart[]) =>
    new JoinedPage(parts, isTruncated ? tokenAfter : undefined);

  it('has the bytes of the keys that it shows, and not of the others', async () => {
    const page = await pageOf(1, 20, 300);
    const bytesOf = (...indexes: readonly number[]) => joined(false, { page, indexes, keyOf }).totalBytes;
    expect([bytesOf(0, 1, 2), bytesOf(0, 1), bytesOf(0, 2), bytesOf(1)]).toEqual([321, 21, 301, 20]);
  });

  it('has the keys of its parts one after the other, and goes on after the last', async () => {
    const page = await pageOf(1, 20, 300);
    const some = { page, indexes: [0, 2], keyOf };
    const first = { page, indexes: [0], keyOf: (storedKey: string) => `z/${storedKey}` };
    const made = joined(true, some, first);
    const read = [0, 1, 2].map((index) => [
      made.keyAt(index),
      made.sizeAt(index),
      made.lastModifiedMsAt(index),
    ]);
    expect(read).toEqual([
      ['own/k0', 1, 1000],
      ['own/k2', 300, 1002],
      ['z/k0', 1, 1000],
    ]);
    expect([made.keyCount, made.nextContinuationToken]).toEqual([3, 'after z/k0']);
    expect(joined(false, some).nextContinuationToken).toBeUndefined();
    expect(() => made.keyAt(3)).toThrow('The page has 3 keys, none at 3.');
  });

  it('tells class and suffix of each key as its part does, and none where that tells none', async () => {
    const page = await pageOf(1, 20);
    const tells = { storageClassAt: (at: number) => `CLASS${at}`, suffixAt: (at: number) => `.s${at}` };
    const silent = { storageClassAt: undefined, suffixAt: undefined };
    const partOf = (own: typeof tells | typeof silent, index: number) => ({
      page: Object.assign(Object.create(page), page, own) as ListedPage,
      indexes: [index],
      keyOf,
    });
    const made = joined(false, partOf(tells, 1), partOf(silent, 0));
    expect([0, 1].map((index) => made.storageClassAt(index))).toEqual(['CLASS1', '']);
    expect([0, 1].map((index) => made.suffixAt(index))).toEqual(['.s1', '']);
  });

  it('of keys that a part does not have is a mistake', async () => {
    const page = await pageOf(1);
    expect(() => joined(false, { page, indexes: [0, 1], keyOf })).toThrow();
    expect(() => joined(false, { page, indexes: [1], keyOf }).keyAt(0)).toThrow();
  });
});
