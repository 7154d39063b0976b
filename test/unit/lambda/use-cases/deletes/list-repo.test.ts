import { beforeEach, describe, expect, it } from 'vitest';
import type { ObjectListing } from '../../../../../lambda/store/rules/store.ts';
import { listInDeletions } from '../../../../../lambda/use-cases/deletes/list-repo.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { oidOf, tenant } from '../../../../support/memory/stack.ts';

describe('a repo listed for its deletion', () => {
  let listing: MemoryObjectStore;
  const put = (names: readonly string[], sizeBytes = 1) => {
    for (const name of names) listing.put(`${tenant}/${name}`, sizeBytes);
  };
  const namesOf = (count: number) => Array.from({ length: count }, (_, index) => oidOf(index));
  const list = async (repo: string, from: ObjectListing = listing) => {
    const parts: ReadonlyMap<string, number>[] = [];
    for await (const objects of listInDeletions({ listing: from }, { tenant, repo })) {
      parts.push(objects);
      if (parts.length > 10) throw new Error('The listing has no end.');
    }
    return parts;
  };
  const namesIn = (parts: readonly ReadonlyMap<string, number>[]) =>
    parts.flatMap((part) => [...part.keys()]);

  beforeEach(() => {
    listing = new MemoryObjectStore();
    put(['stray', 'app/a', 'app/b/c', 'app2/x', '/nameless', '/', 'stray/']);
  });

  it('has the names below it, and what lies in no folder is no part of it', async () => {
    put(['app/big'], 7);
    expect(await list('app')).toEqual([
      new Map([
        ['a', 1],
        ['b/c', 1],
        ['big', 7],
      ]),
    ]);
  });

  it('without a name has what lies in no folder, and what lies below an empty name', async () => {
    expect(namesIn(await list(''))).toEqual(['stray', '/', '/nameless']);
  });

  it('that is empty is no deletion', async () => {
    expect(await list('none')).toEqual([]);
    expect(await list('', new MemoryObjectStore())).toEqual([]);
  });

  it('is listed to its end, each object once, though nothing is deleted meanwhile', async () => {
    const names = namesOf(2500);
    put(names.map((name) => `web/${name}`));
    const parts = await list('web');
    expect(parts.map((part) => part.size)).toEqual([1000, 1000, 500]);
    expect(namesIn(parts)).toEqual(names);
  });

  it('without a name is listed to its end, too', async () => {
    const names = namesOf(2500);
    put(names);
    expect(namesIn(await list(''))).toEqual([...names, 'stray', '/', '/nameless']);
  });

  it('comes in parts of a thousand, even from a store that gives more at once than it was asked for', async () => {
    const keys = namesOf(2001).map((name) => ({ key: `${tenant}/${name}`, sizeBytes: 1 }));
    const generous: ObjectListing = {
      listPage: (request) => listing.listPage({ ...request, prefix: 'none/' }),
      listFolders: async () => ({ commonPrefixes: [], keys, nextContinuationToken: undefined }),
    };
    expect((await list('', generous)).map((part) => part.size)).toEqual([1000, 1000, 1]);
  });

  it('comes in parts whose names have 200,000 bytes together, at most', async () => {
    // 2 bytes a letter: 250 names of 800 bytes.
    const names = Array.from({ length: 250 }, (_, index) => String(index).padStart(400, 'é'));
    put(names.map((name) => `long/${name.replace(/\d/g, (digit) => 'àáâãäåæçèë'[Number(digit)] ?? digit)}`));
    expect((await list('long')).map((part) => part.size)).toEqual([250]);
    put(['long/z']);
    expect((await list('long')).map((part) => part.size)).toEqual([250, 1]);
  });
});
