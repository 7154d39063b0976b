import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ListPageRequest, ObjectListing } from '../../../../../lambda/core/store/rules/store.ts';
import { gatherObjects, listObjects } from '../../../../../lambda/subjects/exports/gather.ts';
import { ExportLease } from '../../../../../lambda/subjects/exports/lease.ts';
import { GappyListing } from '../../../../support/gappy-listing.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { Random } from '../../../../support/random.ts';
import { startsWithinPrefix } from '../../../../support/starts-within-prefix.ts';
import { ExportStack, exportPath } from '../../../../support/subjects/exports/export-stack.ts';

/** An export of one repo, whose lease was taken. */
async function leased() {
  const stack = new ExportStack();
  await stack.storeMany(3, 900);
  await stack.start({ repo: 'app' });
  const { job, lease } = await ExportLease.take(stack.deps, exportPath);
  if (!job || !lease) throw new Error('The export is open.');
  return { stack, job, lease };
}

it('an export keeps its lease while its objects are listed', async () => {
  const { stack, job, lease } = await leased();
  const { listing } = stack.deps;
  const slow: ObjectListing = {
    listPage: (request) => {
      stack.clock.advance(30_000);
      return listing.listPage(request);
    },
    listFolders: (request) => listing.listFolders(request),
  };
  expect(await gatherObjects({ ...stack.deps, listing: slow }, { job, lease })).toMatchObject({
    missing: [],
  });
  const { leaseUntilMs } = await stack.job();
  expect(leaseUntilMs).toBe(job.leaseUntilMs + 30_000);
});

it('an export whose list of objects is gone fails as such, and exports nothing else', async () => {
  const { stack, job, lease } = await leased();
  const listed = { ...job, request: { ...job.request, listedObjects: 1 } };
  await expect(gatherObjects(stack.deps, { job: listed, lease })).rejects.toThrow(
    'The list of requested objects is gone. Start it again.',
  );
});

const oidOf = (index: number) => hash('sha256', String(index), 'hex');

function store(keys: readonly string[]) {
  const objects = new MemoryObjectStore();
  for (const [index, key] of keys.entries())
    objects.putVersion(key, { sizeBytes: index, etag: `"${index}"` });
  const pages: ListPageRequest[] = [];
  const listing: ObjectListing = {
    listPage: (request) => {
      pages.push(request);
      return objects.listPage(request);
    },
    listFolders: (request) => objects.listFolders(request),
  };
  return { listing, store: objects, archives: new MemoryArchiveStore({ objects }), pages };
}

const all = {
  tenant: 'acme',
  repo: null,
  wanted: undefined,
  fileRepos: new Set<string>(),
  objectsMax: 100_000,
  onRequest: async () => {},
};

describe('the objects of an export', () => {
  it('are those of all repos, with their versions', async () => {
    const deps = store([`acme/app/${oidOf(0)}`, `acme/web/${oidOf(1)}`, `acme2/app/${oidOf(2)}`]);
    expect(await listObjects(deps, all)).toEqual({
      kind: 'listed',
      objects: [
        { oid: oidOf(0), sizeBytes: 0, etag: '"0"', key: `acme/app/${oidOf(0)}` },
        { oid: oidOf(1), sizeBytes: 1, etag: '"1"', key: `acme/web/${oidOf(1)}` },
      ],
    });
  });

  it('are all, also in a repo of many pages', async () => {
    const keys = Array.from({ length: 5500 }, (_, index) => `acme/app/${oidOf(index)}`);
    let requests = 0;
    const onRequest = async () => {
      requests += 1;
    };
    const listed = await listObjects(store(keys), { ...all, repo: 'app', onRequest });
    const found = listed.kind === 'listed' ? listed.objects.map(({ key }) => key) : [];
    expect(found.sort()).toEqual(keys.sort());
    // The first page, and the rest by first digits.
    expect(requests).toBeLessThanOrEqual(17);
  });

  it('are all, with their versions, also where many pages begin with the same digit', async () => {
    const keys = Array.from({ length: 3500 }, (_, index) => `acme/app/0${oidOf(index).slice(1)}`);
    const deps = store(keys);
    const listed = await listObjects(deps, { ...all, repo: 'app' });
    expect(listed.kind === 'listed' && listed.objects.map(({ key }) => key).sort()).toEqual(keys.sort());
    // A store tells no version that isn't asked for.
    expect(deps.pages.filter(({ readsEtags }) => readsEtags !== true)).toEqual([]);
  });

  it('of a repo on one page take one request', async () => {
    const keys = [`acme/app/${oidOf(0)}`, `acme/app/${oidOf(1)}`];
    for (const stored of [keys, []]) {
      const deps = store(stored);
      const listed = await listObjects(deps, { ...all, repo: 'app' });
      const found = listed.kind === 'listed' ? listed.objects.map(({ key }) => key) : undefined;
      expect([found?.sort(), deps.pages.length]).toEqual([[...stored].sort(), 1]);
    }
  });

  it('are all, though a store lists nothing after a key that does not begin with the prefix', async () => {
    const keys = Array.from({ length: 2500 }, (_, index) => `acme/app/${oidOf(index)}`);
    const deps = store(keys);
    const listed = await listObjects(
      { ...deps, listing: startsWithinPrefix(deps.listing) },
      { ...all, repo: 'app' },
    );
    expect(listed.kind === 'listed' && listed.objects.map(({ key }) => key).sort()).toEqual(keys.sort());
  });

  it('are no keys of another form', async () => {
    const keys = [
      'acme/readme',
      'acme/app/readme',
      `acme/app/folder/${oidOf(1)}`,
      `acme/app/${oidOf(1)}/file`,
      `acme/.hidden/${oidOf(2)}`,
      `acme/app/${oidOf(3).toUpperCase()}`,
      `acme/app/${oidOf(4)}`,
      `acme/${oidOf(5)}`,
    ];
    const listed = await listObjects(store(keys), all);
    expect(listed.kind === 'listed' && listed.objects.map(({ key }) => key)).toEqual([keys[6]]);
  });

  it('are listed with a call after each request, which keeps the lease', async () => {
    for (const count of [3, 1001]) {
      const keys = Array.from({ length: count }, (_, index) => `acme/app${index % 3}/${oidOf(index)}`);
      const deps = store(keys);
      let calls = 0;
      const onRequest = async () => {
        calls += 1;
      };
      await listObjects(deps, { ...all, onRequest });
      // One of them is for the folders.
      expect(calls).toBe(deps.pages.length + 1);
    }
  });

  it('are looked for in no folder that is no repo', async () => {
    const keys = Array.from({ length: 1001 }, (_, index) => `acme/app/${oidOf(index)}`);
    const deps = store([...keys, `acme/.hidden/${oidOf(0)}`]);
    expect(await listObjects(deps, all)).toMatchObject({ kind: 'listed' });
    const prefixes = deps.pages.map(({ prefix }) => prefix);
    expect(prefixes).toContain('acme/app/');
    expect(prefixes).not.toContain('acme/.hidden/');
  });

  it('that are wanted are found among all repos, with their names', async () => {
    const deps = store([`acme/app/${oidOf(0)}`, `acme/web/${oidOf(1)}`, `acme/web/${oidOf(2)}`]);
    const wanted = new Map([
      [oidOf(1), 'a.bin'],
      [oidOf(2), undefined],
      [oidOf(9), undefined],
    ]);
    expect(await listObjects(deps, { ...all, wanted })).toStrictEqual({
      kind: 'listed',
      objects: [
        { oid: oidOf(1), name: 'a.bin', sizeBytes: 1, etag: '"1"', key: `acme/web/${oidOf(1)}` },
        { oid: oidOf(2), sizeBytes: 2, etag: '"2"', key: `acme/web/${oidOf(2)}` },
      ],
    });
    expect(deps.archives.count('head')).toBe(0);
  });

  it('that are wanted of one repo are asked for one by one, because it may have many others', async () => {
    const deps = store([`acme/app/${oidOf(0)}`, `acme/web/${oidOf(1)}`, `acme/app/${oidOf(2)}`]);
    const wanted = new Map([
      [oidOf(0), 'a.bin'],
      [oidOf(1), undefined],
      [oidOf(2), undefined],
    ]);
    expect(await listObjects(deps, { ...all, repo: 'app', wanted })).toStrictEqual({
      kind: 'listed',
      objects: [
        { oid: oidOf(0), name: 'a.bin', sizeBytes: 0, etag: '"0"', key: `acme/app/${oidOf(0)}` },
        { oid: oidOf(2), sizeBytes: 2, etag: '"2"', key: `acme/app/${oidOf(2)}` },
      ],
    });
    expect(deps.archives.count('head')).toBe(3);
  });

  it('are not listed if they are too many', async () => {
    const keys = Array.from({ length: 11 }, (_, index) => `acme/app/${oidOf(index)}`);
    expect(await listObjects(store(keys), { ...all, objectsMax: 10 })).toEqual({ kind: 'too-many' });
    expect(await listObjects(store(keys), { ...all, objectsMax: 11 })).toMatchObject({ kind: 'listed' });
  });

  it('are not listed on once they are too many', async () => {
    const ofOneDigit = Array.from({ length: 5000 }, (_, index) => `acme/app/0${oidOf(index).slice(1)}`);
    const repo = store(ofOneDigit);
    expect(await listObjects(repo, { ...all, repo: 'app', objectsMax: 1500 })).toEqual({ kind: 'too-many' });
    expect(repo.pages.filter(({ prefix }) => prefix === 'acme/app/0')).toHaveLength(1);

    const ofManyRepos = Array.from({ length: 1100 }, (_, index) => `acme/app${index % 11}/${oidOf(index)}`);
    const tenant = store(ofManyRepos);
    expect(await listObjects(tenant, { ...all, objectsMax: 50 })).toEqual({ kind: 'too-many' });
    // The first page of the tenant, and the repos that are listed at the same time.
    expect(tenant.pages).toHaveLength(5);
  });
});

describe('of a listing whose pages are empty though more follow', () => {
  const tenant = 'acme';
  const oids = Array.from({ length: 40 }, (_, index) => oidOf(index)).sort();
  const keysOf = (repo: string) => oids.map((oid) => `${tenant}/${repo}/${oid}`);
  const objects = new MemoryObjectStore();
  for (const key of [...keysOf('app'), ...keysOf('web'), `${tenant}/stray`, 'acme2/app/x'])
    objects.put(key, 1);

  it.each([
    ['a repo', 'app', keysOf('app')],
    ['a tenant', null, [...keysOf('app'), ...keysOf('web')]],
  ])('an export of %s has all objects', async (_, repo, keys) => {
    for (let seed = 0; seed < 40; seed += 1) {
      const listing = new GappyListing(objects, new Random(seed), {
        gapChance: 0.6,
        pageSize: 1 + (seed % 5),
      });
      const input = { ...all, tenant, repo, objectsMax: 1000 };
      const listed = await listObjects(
        { listing, store: objects, archives: new MemoryArchiveStore() },
        input,
      );
      expect(listed.kind === 'listed' && listed.objects.map(({ key }) => key).sort()).toEqual(keys);
    }
  });
});
