import { beforeEach, describe, expect, it, vi } from 'vitest';
import { deleteRepo } from '../../../../../lambda/core/ledger/deletes.ts';
import { emptiedName } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { dayOf } from '../../../../../lambda/core/rules/dates.ts';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { listStoredObjects } from '../../../../../lambda/frame/management/stored-objects.ts';
import type { DownloadPlace, Downloads } from '../../../../../lambda/subjects/downloads/download-store.ts';
import { listDownloadDays } from '../../../../../lambda/subjects/downloads/downloads.ts';
import { findGone, findOffered, offerDownload } from '../../../../../lambda/subjects/lfs/downloads.ts';
import { ScanningDeps } from '../../../../support/memory/counting-deps.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { MemoryDownloads } from '../../../../support/subjects/downloads/in-memory.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const path = { tenant, repo: 'app' };

describe('what is missing', () => {
  it('is said to be gone if a gc run has deleted it', async () => {
    const world = new MemoryStack();
    world.put({ [`app/${oidOf(1)}`]: 5 });
    await world.create();
    await world.ledger.noteGone({ ...path, oids: [oidOf(1), oidOf(2)], atMs: 77 });
    const objects = new Map([1, 2, 3].map((index) => [oidOf(index), 5]));
    const outcome = await offerDownload(world.deps, {
      tenant: await world.record(),
      tokenId: 't',
      repo: 'app',
      objects,
    });
    if (outcome.kind !== 'answered') throw new Error(outcome.kind);
    expect([...outcome.verdicts.values()]).toMatchObject([
      { kind: 'download' },
      { kind: 'gone', atMs: 77 },
      { kind: 'missing' },
    ]);
  });

  it('is only missing if its repo was deleted since the gc run', async () => {
    const world = new MemoryStack();
    world.put({ [`app/${oidOf(1)}`]: 5 });
    await world.create();
    const find = () => findGone(world.deps, { ...path, oids: [oidOf(1), oidOf(2)] });
    await world.ledger.noteGone({ ...path, oids: [oidOf(1)], atMs: world.nowMs });
    expect([...((await find())?.keys() ?? [])]).toEqual([oidOf(1)]);
    await deleteRepo(world.deps, { ...path, dryRun: false });
    await world.pass(60 * minute);
    expect((await world.ledger.readRepo(path))?.closedAtMs).toBeNull();
    expect(await find()).toEqual(new Map());
    // A gc run of the repo that has its name now tells as before.
    await world.ledger.noteGone({ ...path, oids: [oidOf(2)], atMs: world.nowMs });
    expect(await find()).toEqual(new Map([[oidOf(2), { atMs: world.nowMs }]]));
  });

  it('is only missing if the ledger does not say why', async () => {
    const { deps } = new MemoryStack();
    const { log, entries } = recordingLog();
    const failing = (error: Error) => ({ ...deps.ledger, goneOf: () => Promise.reject(error) });
    const ask = (error: Error) => findGone({ ledger: failing(error), log }, { ...path, oids: [oidOf(1)] });
    expect(await ask(new LedgerUnavailableError('Down.'))).toBeUndefined();
    expect(entries).toEqual([{ level: 'warn', message: "can't tell why objects are missing", fields: path }]);
    await expect(ask(new TypeError('A mistake.'))).rejects.toThrow('A mistake.');
  });

  it('is not asked for if nothing is missing', async () => {
    const { deps } = new MemoryStack();
    const ledger = { ...deps.ledger, goneOf: () => Promise.reject(new Error('Asked.')) };
    expect(await findGone({ ...deps, ledger }, { ...path, oids: [] })).toEqual(new Map());
  });
});

describe('find offered', () => {
  const [tenant, repo] = ['acme', 'app'];
  const oidOf = (index: number) => `${index.toString(16).padStart(4, '0')}${'0'.repeat(60)}`;
  const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

  describe('a pull of many objects', () => {
    let made: ScanningDeps;
    const put = (indexes: readonly number[], path = `${tenant}/${repo}`) => {
      for (const index of indexes) made.store.put(`${path}/${oidOf(index)}`, 5 + index);
    };
    const ask = async (indexes: readonly number[], more: { repo?: string; repoObjects?: number } = {}) => {
      made.calls.length = 0;
      const question = { tenant, repo, repoObjects: 300, oids: indexes.map(oidOf), ...more };
      const { result } = await made.measure(() => findOffered(made.deps, question));
      const count = (name: string) => made.calls.filter((call) => call.name === name).length;
      return { sizes: [...result.values()], lists: count('LIST'), heads: count('HEAD') };
    };

    beforeEach(() => {
      made = new ScanningDeps({ tableMs: 10, headMs: 10, listMs: 10 });
      put(range(0, 300));
    });

    it('lists the repo once, though it asks for a hundred after the other', async () => {
      expect(await ask(range(0, 100))).toMatchObject({ lists: 1, heads: 0 });
      for (const from of [100, 200]) {
        const { sizes, ...requests } = await ask(range(from, 100));
        expect(sizes).toEqual(range(from, 100).map((index) => 5 + index));
        expect(requests).toEqual({ lists: 0, heads: 0 });
      }
      expect(await ask([7])).toEqual({ sizes: [12], lists: 0, heads: 0 });
    });

    it('asks again for what that listing had not, and after a minute for everything', async () => {
      await ask(range(0, 100));
      put([300]);
      expect(await ask([...range(280, 20), 300, 301])).toMatchObject({ lists: 0, heads: 2 });
      expect((await ask([300, 301])).sizes).toEqual([305]);
      expect(await ask(range(400, 50))).toEqual({ sizes: [], lists: 1, heads: 0 });
      await made.advance(60_001);
      expect(await ask(range(0, 100))).toMatchObject({ lists: 1, heads: 0 });
    });

    it('is never answered from the listing of another repo', async () => {
      await ask(range(0, 100));
      put([1], `${tenant}/other`);
      expect(await ask(range(0, 20), { repo: 'other', repoObjects: 1 })).toEqual({
        sizes: [6],
        lists: 1,
        heads: 0,
      });
    });

    it('keeps nothing of a repo with very many objects, of a part of one, or of one that was asked by HEAD', async () => {
      await ask(range(0, 10));
      expect(await ask(range(0, 10))).toMatchObject({ heads: 10 });
      expect(await ask(range(0, 280), { repoObjects: 20_001 })).toMatchObject({ lists: 0, heads: 280 });
      put(range(300, 1200));
      expect((await ask(range(0, 20), { repoObjects: 0 })).lists).toBe(1);
      expect((await ask(range(0, 20), { repoObjects: 0 })).lists).toBe(1);
    });
  });
});

describe('list days', () => {
  const tenant = 'acme';
  const beganMs = Date.UTC(2026, 10, 1);
  const dayMs = 86_400_000;

  async function downloadsOf(repos: readonly string[], { days, tokens }: { days: number; tokens: number }) {
    const downloads = new MemoryDownloads();
    for (let day = 0; day < days; day += 1)
      for (const repo of repos)
        for (let token = 0; token < tokens; token += 1) {
          const offer = {
            tenant,
            repo,
            tokenId: `t${token}`,
            bytes: 1,
            objects: 1,
            atMs: beganMs + day * dayMs,
            writeId: `${day} ${token}`,
          };
          await downloads.addToDay(offer);
        }
    return downloads;
  }

  async function all(downloads: MemoryDownloads, repos: readonly string[], pageSize: number) {
    const found: string[] = [];
    const places: DownloadPlace[] = [];
    let after: DownloadPlace | undefined;
    do {
      const page = await listDownloadDays(
        { downloads },
        {
          tenant,
          from: dayOf(beganMs),
          to: '2026-11-30',
          repos,
          pageSize,
          ...(after && { after }),
        },
      );
      expect(page.days.length).toBeLessThanOrEqual(pageSize);
      found.push(...page.days.map(({ day, repo, tokenId }) => `${day} ${repo} ${tokenId}`));
      after = page.next ?? undefined;
      if (after) places.push(after);
    } while (after);
    return { found, places };
  }

  describe('downloads of some repos', () => {
    it.each([1, 3, 100])('are all found, %i to a page, and no place names another repo', async (pageSize) => {
      const downloads = await downloadsOf(['a', 'b', 'c', 'd', 'e'], { days: 4, tokens: 20 });
      const { found, places } = await all(downloads, ['d', 'b', 'none'], pageSize);
      expect(found).toHaveLength(4 * 2 * 20);
      expect(found).toEqual([...found].sort());
      expect(new Set(found.map((text) => text.split(' ')[1]))).toEqual(new Set(['b', 'd']));
      for (const { repo } of places) expect(['b', 'd', 'none']).toContain(repo);
    });

    it('take a bounded number of reads for a page, and get on with each', async () => {
      const downloads = await downloadsOf(['b', 'c'], { days: 4, tokens: 400 });
      const asked = vi.spyOn(downloads, 'days');
      const { found, places } = await all(downloads, ['a', 'z'], 5);
      expect(found).toEqual([]);
      // 16 foreign pages of 200. A place after one of them is the next repo of one's own: c is skipped with b.
      expect(asked.mock.calls.length).toBeLessThan(8);
      for (const { repo } of places) expect(['a', 'z']).toContain(repo);
    });
  });
});

describe('list stored objects', () => {
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
      found.push(
        ...page.objects.map(({ repo, oid, sizeBytes }) => `${repo} ${oid.slice(0, 1)} ${sizeBytes}`),
      );
      for (const { repo, ...sums } of page.others) {
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
      expect(objects.map(({ storedAt }) => storedAt)).toEqual(['1970-01-01T00:00:05Z', null]);
    });
  });
});

const [stored, other, absent] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string];

function setUp(given: { downloads?: Downloads; downloadLimitBytes?: number } = {}) {
  const { downloads = new MemoryDownloads(), downloadLimitBytes = null } = given;
  const objects = new MemoryObjectStore();
  for (const [oid, size] of [
    [stored, 60],
    [other, 30],
  ] as const)
    objects.put(`acme/game/${oid}`, size);
  const heads = vi.spyOn(objects, 'head');
  const { log, entries } = recordingLog();
  const clock = new ManualClock();
  const deps = memoryDeps({ objects, downloads, clock, log });
  const tenant = tenantRecord({ downloadLimitBytes });
  const offer = (asked: Readonly<Record<string, number>>) =>
    offerDownload(deps, { tenant, tokenId: 't', repo: 'game', objects: new Map(Object.entries(asked)) });
  const month = new Date(clock.nowMs()).toISOString().slice(0, 7);
  return { offer, entries, clock, heads, offered: () => downloads.month({ tenant: 'acme', month }) };
}

const isDown = () => Promise.reject(new LedgerUnavailableError('down'));
const down: Downloads = {
  meter: isDown,
  addToDay: isDown,
  meterPublic: isDown,
  correctPublic: isDown,
  publicMonth: isDown,
  month: isDown,
  months: isDown,
  days: isDown,
};

describe('an offer of downloads', () => {
  it('is metered by what it offers, not by what it was asked for', async () => {
    const { offer, offered } = setUp();
    const outcome = await offer({ [stored]: 60, [other]: 31, [absent]: 1000 });
    if (outcome.kind !== 'answered') throw new Error('refused');
    expect([...outcome.verdicts].map(([oid, { kind }]) => [oid[0], kind])).toEqual([
      ['a', 'download'],
      ['b', 'size-conflict'],
      ['c', 'missing'],
    ]);
    expect(await offered()).toEqual({ bytes: 60, objects: 1 });
  });

  it('above the limit of the month is refused as a whole, and not metered', async () => {
    const { offer, offered, clock } = setUp({ downloadLimitBytes: 100 });
    expect(await offer({ [stored]: 60 })).toMatchObject({ kind: 'answered' });
    const outcome = await offer({ [stored]: 60, [other]: 30 });
    expect(outcome).toMatchObject({ kind: 'over-limit', limitBytes: 100, offeredBytes: 60, askedBytes: 90 });
    if (outcome.kind !== 'over-limit') throw new Error('offered');
    const resets = new Date(outcome.resetsAtMs);
    expect([resets.getUTCDate(), resets.getUTCHours(), outcome.resetsAtMs > clock.nowMs()]).toEqual([
      1,
      0,
      true,
    ]);
    expect(await offer({ [other]: 30 })).toMatchObject({ kind: 'answered' });
    expect(await offered()).toEqual({ bytes: 90, objects: 2 });
  });

  it('keeps nobody else from downloading by sizes that a client made up, while the store is asked', async () => {
    const { offer, heads } = setUp({ downloadLimitBytes: 100 });
    let answer = () => {};
    heads.mockImplementationOnce(async () => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return undefined;
    });
    const made = offer({ [absent]: 1e12 });
    expect(await offer({ [stored]: 60 })).toMatchObject({ kind: 'answered' });
    answer();
    expect(await made).toMatchObject({ kind: 'answered' });
    expect(await offer({ [absent]: 1e12, [other]: 31 })).toMatchObject({ kind: 'answered' });
  });

  it('of nothing that is there is not metered, though the meter does not answer', async () => {
    const { offer, entries } = setUp({ downloads: down, downloadLimitBytes: 100 });
    expect(await offer({ [absent]: 60 })).toMatchObject({ kind: 'answered' });
    expect(entries).toEqual([]);
  });

  it('goes on without a meter that does not answer, unless there is a limit', async () => {
    const free = setUp({ downloads: down });
    expect(await free.offer({ [stored]: 60 })).toMatchObject({ kind: 'answered' });
    const error = new LedgerUnavailableError('down');
    const entry = {
      level: 'warn',
      message: 'downloads not metered',
      fields: { tenant: 'acme', repo: 'game', error },
    };
    expect(free.entries).toEqual([entry, entry]);
    await expect(setUp({ downloads: down, downloadLimitBytes: 100 }).offer({ [stored]: 60 })).rejects.toThrow(
      LedgerUnavailableError,
    );
  });

  it('within a limit is made though only its day is not written down', async () => {
    const downloads = new MemoryDownloads();
    vi.spyOn(downloads, 'addToDay').mockRejectedValue(new LedgerUnavailableError('down'));
    const { offer, offered, entries } = setUp({ downloads, downloadLimitBytes: 100 });
    expect(await offer({ [stored]: 60 })).toMatchObject({ kind: 'answered' });
    expect(await offered()).toEqual({ bytes: 60, objects: 1 });
    expect(entries).toMatchObject([{ message: 'downloads not metered' }]);
    expect(await offer({ [stored]: 60 })).toMatchObject({ kind: 'over-limit' });
  });

  it('asks why objects are missing, and of no others', async () => {
    const objects = new MemoryObjectStore();
    objects.put(`acme/game/${stored}`, 60);
    const deps = memoryDeps({ objects });
    const asked: object[] = [];
    const ledger = Object.assign(deps.ledger, {
      goneOf: async (input: object) => {
        asked.push(input);
        return new Map();
      },
    });
    const sizes = new Map([
      [stored, 60],
      [absent, 5],
    ]);
    const input = { tenant: tenantRecord(), tokenId: 't', repo: 'game', objects: sizes };
    await offerDownload({ ...deps, ledger }, input);
    expect(asked).toEqual([{ tenant: 'acme', repo: 'game', oids: [absent, emptiedName] }]);
  });

  it('signs as of its beginning, and says how long the URL is still good', async () => {
    const objects = new MemoryObjectStore();
    objects.put(`acme/game/${stored}`, 60);
    const clock = new ManualClock();
    const beganMs = clock.nowMs();
    const signed: object[] = [];
    const signer = {
      signUpload: () => Promise.reject(new Error('Nothing is uploaded.')),
      signDownload: async (input: object) => {
        signed.push(input);
        clock.advance(2_000);
        return { href: 'https://store.example/', header: {} };
      },
    };
    const deps = memoryDeps({ objects, clock, signer });
    const lifetimeMs = deps.settings.urlLifetimeMs;
    const input = { tenant: tenantRecord(), tokenId: 't', repo: 'game', objects: new Map([[stored, 60]]) };
    const outcome = await offerDownload(deps, input);
    expect(outcome.kind === 'answered' && outcome.verdicts.get(stored)).toMatchObject({
      expiresInMs: lifetimeMs - 2_000,
    });
    expect(signed).toEqual([{ key: `acme/game/${stored}`, sizeBytes: 60, signedAtMs: beganMs, lifetimeMs }]);
  });
});
