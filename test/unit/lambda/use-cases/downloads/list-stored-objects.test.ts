import { describe, expect, it } from 'vitest';
import { listStoredObjects } from '../../../../../lambda/use-cases/downloads/list-stored-objects.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';

const tenant = 'acme';
const oidOf = (digit: string) => digit.repeat(64);

function storeWith(...keys: string[]): MemoryObjectStore {
  const store = new MemoryObjectStore();
  for (const [index, key] of keys.entries()) store.put(key, index);
  return store;
}

/** The objects of all pages, and how many pages there were. */
async function all(listing: MemoryObjectStore, input: { repo?: string; pageSize: number }) {
  const found: string[] = [];
  const others = new Map<string, string>();
  let next: string | null = null;
  let pages = 0;
  do {
    expect(pages).toBeLessThan(100);
    const after: { after?: string } = next === null ? {} : { after: next };
    const page = await listStoredObjects({ listing }, { tenant, ...input, ...after });
    found.push(...page.objects.map(({ repo, oid, sizeBytes }) => `${repo} ${oid.slice(0, 1)} ${sizeBytes}`));
    for (const [repo, sums] of page.others) {
      const before = others.get(repo)?.split(' ').map(Number) ?? [0, 0];
      others.set(repo, `${(before[0] ?? 0) + sums.objectCount} ${(before[1] ?? 0) + sums.sizeBytes}`);
    }
    next = page.next;
    pages += 1;
  } while (next !== null);
  return { found, others: Object.fromEntries(others), pages };
}

describe('the objects of a tenant', () => {
  it('are those of its repos, and not of a tenant or repo whose name begins with its own', async () => {
    const store = storeWith(
      `acme/app/${oidOf('a')}`,
      `acme/app2/${oidOf('b')}`,
      `acme2/app/${oidOf('c')}`,
      `acme/app/${oidOf('0')}`,
    );
    expect((await all(store, { pageSize: 10 })).found).toEqual(['app 0 3', 'app a 0', 'app2 b 1']);
    expect((await all(store, { pageSize: 10, repo: 'app' })).found).toEqual(['app 0 3', 'app a 0']);
  });

  it('are without keys that git-lfs does not make, however many fill a page', async () => {
    const strange = [
      `acme/${oidOf('1')}`,
      `acme//${oidOf('2')}`,
      `acme/-app/${oidOf('3')}`,
      `acme/app/deep/${oidOf('4')}`,
      `acme/app/${oidOf('5')}/x`,
      `acme/app/${oidOf('6')}/`,
      `acme/app/${oidOf('A')}`,
      `acme/app/${'7'.repeat(63)}`,
      `acme/app/${'ä'.repeat(500)}`,
      'acme/app/',
    ];
    const store = storeWith(...strange, `acme/app/${oidOf('5')}`, `acme/zoo/${oidOf('0')}`);
    for (const pageSize of [1, 2, 3, 1000]) {
      const { found, others, pages } = await all(store, { pageSize });
      expect(found).toEqual(['app 5 10', 'zoo 0 11']);
      // How many, and their bytes: those of no repo, and of each folder.
      expect(others).toEqual({ '': '2 1', '-app': '1 2', app: '7 42' });
      expect(pages).toBe(Math.ceil(12 / pageSize));
    }
  });

  it('say when they were stored, if the store says so', async () => {
    const store = new MemoryObjectStore();
    store.put(`acme/app/${oidOf('a')}`, 1, undefined, 5000);
    store.put(`acme/app/${oidOf('b')}`, 1);
    const { objects } = await listStoredObjects({ listing: store }, { tenant, pageSize: 10 });
    expect(objects.map(({ lastModifiedMs }) => lastModifiedMs)).toEqual([5000, undefined]);
  });
});
