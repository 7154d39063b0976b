import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { RepoRecord } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import { type ScanReposInput, scanRepos } from '../../../../../lambda/core/ledger/scan-repos.ts';
import { createPathScan } from '../../../../../lambda/core/scan/path-scan.ts';
import type { PathScanInput, PathScanOutcome } from '../../../../../lambda/core/scan/rules/scan-plan.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';

const tenant = 'acme';
const none: ReadonlySet<string> = new Set();

const known = (repo: string, objectCount: number, epoch = 1): RepoRecord => ({
  repo,
  storedBytes: 0,
  objectCount,
  scannedAtMs: 0,
  epoch,
  dirtyToken: null,
  covered: none,
  putsUntilMs: 0,
  closedAtMs: null,
});

/** The end of a scan that found five objects of one byte. */
const done = (requests: number): PathScanOutcome => ({
  kind: 'done',
  storedBytes: 5,
  objectCount: 5,
  seen: new Map(),
  recent: new Set(),
  requests,
});

/** The end of one that has listed this much of a repo. */
const unfinished = (requests: number, objectCount: number) => {
  const range = { prefix: `${tenant}/app/`, ranges: [], isSequential: false, objectsExpected: null };
  return {
    kind: 'unfinished',
    requests,
    rest: { ...range, storedBytes: 0, objectCount, seen: [], requests },
  } as const;
};

describe('a scan of the repos of a tenant', () => {
  let objects: MemoryObjectStore;
  let clock: ManualClock;
  /** What was asked of the store: `flat`, `folders`, and the name of each repo that was scanned on its own. */
  let asked: string[];
  let scanned: PathScanInput[];
  /** LIST requests that the lease was charged for. */
  let charged: number;
  let renewals: number;
  /** The renewal that finds the lease taken. */
  let takenAt: number;

  beforeEach(() => {
    [objects, clock, asked, scanned] = [new MemoryObjectStore(), new ManualClock(), [], []];
    [charged, renewals, takenAt] = [0, 0, 0];
  });
  /** Objects of one byte. */
  const fill = (path: string, count: number) => {
    for (let index = 0; index < count; index += 1)
      objects.put(`${tenant}/${path}${String(index).padStart(6, '0')}`, 1);
  };
  const depsOf = () => {
    const { settings } = memoryDeps();
    const listing = {
      listPage: (request: Parameters<typeof objects.listPage>[0]) => {
        if (request.prefix === `${tenant}/`) asked.push('flat');
        return objects.listPage(request);
      },
      listFolders: (request: Parameters<typeof objects.listFolders>[0]) => {
        asked.push('folders');
        return objects.listFolders(request);
      },
    };
    const scan = createPathScan({ listing, clock, settings });
    return {
      clock,
      listing,
      settings,
      scan: {
        scan: (input: PathScanInput) => {
          asked.push(input.prefix.slice(tenant.length + 1, -1));
          scanned.push(input);
          return scan.scan(input);
        },
      },
    };
  };
  /** A flat page has its keys in another order than S3's. */
  const backwards = () => {
    const deps = depsOf();
    const { listPage } = deps.listing;
    deps.listing.listPage = async (request) => {
      const page = await listPage(request);
      if (request.prefix !== `${tenant}/`) return page;
      return { ...page, keyAt: (index) => page.keyAt(page.keyCount - 1 - index) };
    };
    return deps;
  };
  const input = (more: Partial<ScanReposInput>): ScanReposInput => ({
    tenant,
    known: [],
    due: none,
    isFull: false,
    largeRepos: none,
    lookFor: () => none,
    isAwaited: false,
    lease: {
      renew: async () => {
        renewals += 1;
        return renewals === takenAt ? 'superseded' : 'ours';
      },
      release: async () => undefined,
      addShardRequests: () => {},
      addRequests: (more) => {
        charged += more;
      },
      chargedUntilMs: () => 0,
    },
    ...more,
  });
  const run = async (more: Partial<ScanReposInput>, deps = depsOf()) => scanRepos(deps, input(more));
  /** Repo → objects found, for a scan that was done. */
  const counts = async (more: Partial<ScanReposInput>, deps = depsOf()) => {
    const outcome = await run(more, deps);
    if (outcome.kind !== 'done') throw new Error(outcome.kind);
    expect(outcome.requests).toBe(charged);
    return Object.fromEntries([...outcome.scans].map(([repo, { objectCount }]) => [repo, objectCount]));
  };

  describe('of a repo that has outgrown its last count', () => {
    const due = new Set(['app']);
    const deps = (largeRepoObjects: number) => {
      const all = depsOf();
      return { ...all, settings: { ...all.settings, largeRepoObjects } };
    };

    it('ends after twice the pages of the largest that is no large repo', async () => {
      fill('app/', 9000);
      fill('web/', 2);
      const record = known('app', 7);
      const outcome = await run(
        { known: [record, known('web', 2)], due: new Set(['app', 'web']) },
        deps(1000),
      );
      expect(outcome).toMatchObject({ kind: 'done', outgrown: [record] });
      expect(outcome.kind === 'done' && [...outcome.scans.keys()]).toEqual(['web']);
      expect(charged).toBeLessThan(5);
    });

    it('tells of one that the ledger does not know', async () => {
      fill('app/', 9000);
      const outcome = await run({ isFull: true }, deps(1000));
      expect(outcome).toMatchObject({ outgrown: [{ repo: 'app', epoch: 0, objectCount: 0 }] });
    });

    it('counts what has no name as ever, however much that is', async () => {
      fill('/', 9000);
      expect(await counts({ known: [known('', 7)], due: new Set(['']) }, deps(1000))).toEqual({ '': 9000 });
    });

    describe('as its first pages show', () => {
      const inputs: PathScanInput[] = [];
      /** The first scan ends like this, and the next one at the end of the repo. */
      const ending = (requests: number, objectCount: number) => {
        inputs.length = 0;
        const first = unfinished(requests, objectCount);
        const scan = async (asked: PathScanInput) => {
          inputs.push(asked);
          return inputs.length === 1 ? first : done(requests + 1);
        };
        return {
          rest: first.rest,
          run: () => run({ known: [known('app', 7)], due }, { ...deps(1000), scan: { scan } }),
        };
      };

      it('is a large repo from the threshold on', async () => {
        expect(await ending(2, 1000).run()).toMatchObject({ kind: 'done', outgrown: [{ repo: 'app' }] });
        expect(inputs.map(({ requestsMax }) => requestsMax)).toEqual([2]);
      });

      it('is listed on from where they end, with no bound, if it is none', async () => {
        const { rest, run: runIt } = ending(2, 999);
        expect(await runIt()).toMatchObject({ kind: 'done', outgrown: [] });
        expect(inputs.map(({ resume, requestsMax }) => [resume, requestsMax])).toEqual([
          [undefined, 2],
          [rest, undefined],
        ]);
      });

      it('is unfinished if the time was up before', async () => {
        expect(await ending(1, 5000).run()).toEqual({ kind: 'unfinished' });
        expect(inputs).toHaveLength(1);
      });
    });

    it('goes on while somebody waits, and while it is emptied', async () => {
      fill('app/', 9000);
      expect(await counts({ known: [known('app', 7)], due, isAwaited: true }, deps(1000))).toEqual({
        app: 9000,
      });
      const closed = { ...known('app', 7), closedAtMs: 5 };
      charged = 0;
      expect(await counts({ known: [closed], due }, deps(1000))).toEqual({ app: 9000 });
    });
  });

  describe('that is not full', () => {
    it('lists nothing if no repo is due', async () => {
      fill('app/', 2);
      expect(await counts({ known: [known('app', 1)] })).toEqual({});
      expect(asked).toEqual([]);
    });

    it('scans the one that is due, with all that is known of it', async () => {
      fill('app/', 2);
      fill('web/', 2);
      const lookFor = vi.fn(() => new Set(['000001', 'absent']));
      const deadlineMs = clock.nowMs() + 1;
      const records = [known('app', 7), known('web', 7)];
      const outcome = await run({ known: records, due: new Set(['app']), lookFor, deadlineMs });
      expect(outcome).toMatchObject({
        kind: 'done',
        scans: new Map([['app', { storedBytes: 2, objectCount: 2, seen: new Map([['000001', 1]]) }]]),
        requests: 1,
      });
      const { onPage, ...given } = scanned[0] ?? {};
      expect(given).toEqual({
        prefix: 'acme/app/',
        isAwaited: false,
        requestsMax: 200,
        hintObjects: 7,
        lookFor: new Set(['000001', 'absent']),
        deadlineMs,
      });
      expect([onPage, asked, charged, lookFor.mock.calls]).toEqual([
        expect.any(Function),
        ['app'],
        1,
        [['app']],
      ]);
    });

    it('expects nothing of a repo that no scan has counted, and sets no deadline of its own', async () => {
      fill('app/', 2);
      await counts({ known: [known('app', 7, 0)], due: new Set(['app']) });
      expect(scanned[0]).not.toHaveProperty('hintObjects');
      expect(scanned[0]).not.toHaveProperty('deadlineMs');
    });

    it('lists two repos together if that is one request less, and finds one empty', async () => {
      fill('app/', 2);
      fill('other/', 2);
      const records = [known('app', 5), known('other', 2), known('web', 5)];
      const found = { app: 2, other: 2, web: 0, new: 0 };
      expect(await counts({ known: records, due: new Set(['app', 'web', 'new']) })).toEqual(found);
      expect(asked).toEqual(['flat']);
    });

    it('scans two repos on their own if listing them together takes as many requests', async () => {
      fill('app/', 2);
      const records = [known('app', 5), known('other', 995), known('web', 5)];
      expect(await counts({ known: records, due: new Set(['app', 'web']) })).toEqual({ app: 2, web: 0 });
      expect(asked).toEqual(['app', 'web']);
    });

    it('lists them together with what lies beside the folders, if that is due, for one request less', async () => {
      fill('', 3);
      fill('app/', 2);
      const records = [known('', 5), known('app', 5)];
      expect(await counts({ known: records, due: new Set(['', 'app']) })).toEqual({ '': 3, app: 2 });
      expect(asked).toEqual(['flat']);
    });

    it('does not, if that takes as many requests as the folders and the repo', async () => {
      fill('', 3);
      fill('app/', 2);
      const records = [known('', 5), known('app', 5), known('other', 995)];
      expect(await counts({ known: records, due: new Set(['', 'app']) })).toEqual({ '': 3, app: 2 });
      expect(asked).toEqual(['folders', 'app', '']);
    });

    it('lists the folders if what lies beside them is due, and scans none that is not', async () => {
      fill('', 3);
      fill('/', 2);
      fill('app/', 2000);
      const records = [known('', 1), known('app', 2000)];
      expect(await counts({ known: records, due: new Set(['']) })).toEqual({ '': 5 });
      expect(asked).toEqual(['folders', '']);
    });

    it('leaves large repos out of a flat listing, unless they are due', async () => {
      fill('a/', 1);
      fill('b/', 1);
      fill('c/', 1);
      fill('d/', 1);
      fill('large/', 1200);
      const due = ['a', 'b', 'c', 'd'];
      const records = [...due.map((repo) => known(repo, 1)), known('large', 1000)];
      const small = { a: 1, b: 1, c: 1, d: 1 };
      expect(await counts({ known: records, due: new Set(due) })).toEqual(small);
      expect(asked).toEqual(['flat', 'flat']);
      [asked, charged] = [[], 0];
      expect(await counts({ known: records, due: new Set([...due, 'large']) })).toEqual({
        ...small,
        large: 1200,
      });
      expect(asked).toEqual(['flat', 'flat', 'large']);
    });

    it('scans a repo on its own that turned out to be large, due or not', async () => {
      for (const repo of ['a', 'b', 'c', 'd']) fill(`${repo}/`, 1);
      fill('grown/', 2500);
      const due = ['a', 'b', 'c', 'd'];
      const records = [...due, 'grown'].map((repo) => known(repo, 1));
      expect(await counts({ known: records, due: new Set(due) })).toEqual({
        a: 1,
        b: 1,
        c: 1,
        d: 1,
        grown: 2500,
      });
      expect(asked.filter((name) => name !== 'flat')).toEqual(['grown']);
    });
  });

  describe('that is full', () => {
    it('finds the folders of a tenant that was never counted, and what lies beside them', async () => {
      fill('', 3);
      fill('app/', 2);
      fill('web/', 1);
      expect(await counts({ isFull: true })).toEqual({ app: 2, web: 1, '': 3 });
      expect(asked.sort()).toEqual(['app', 'folders', 'web']);
    });

    it('finds the folders of such a tenant even if the ledger knows that one of them has changed', async () => {
      fill('app/', 2);
      expect(await counts({ isFull: true, due: new Set(['app']) })).toEqual({ app: 2 });
      expect(asked).toEqual(['folders', 'app']);
    });

    it('counts a repo that has no folder any more as empty', async () => {
      fill('app/', 1500);
      const records = [known('app', 1500), known('gone', 1500)];
      expect(await counts({ isFull: true, known: records })).toEqual({ app: 1500, gone: 0 });
      expect(asked).toEqual(['folders', 'app', 'gone']);
    });

    it('knows no repo without a name, unless something lies there or did before', async () => {
      fill('app/', 1500);
      expect(await counts({ isFull: true, known: [known('app', 1500)] })).toEqual({ app: 1500 });
      [asked, charged] = [[], 0];
      const records = [known('', 0), known('app', 1500)];
      expect(await counts({ isFull: true, known: records })).toEqual({ app: 1500, '': 0 });
      expect(asked).toEqual(['folders', 'app']);
    });

    it('adds the folder without a name to what lies beside the folders', async () => {
      fill('', 3);
      fill('/', 4);
      fill('app/', 1);
      const outcome = await run({ isFull: true });
      const { scans } = outcome.kind === 'done' ? outcome : { scans: new Map() };
      expect(scans.get('')).toEqual({ storedBytes: 7, objectCount: 7, seen: new Set() });
    });

    it('lists a known tenant flat if that takes fewer requests than its folders and repos', async () => {
      fill('', 3);
      fill('app/', 2);
      expect(await counts({ isFull: true, known: [known('app', 9)] })).toEqual({ app: 2, '': 3 });
      expect(asked).toEqual(['flat']);
    });

    it('counts the requests for the folders: a page for each thousand, with what lies beside them', async () => {
      const records = (count: number, objectCount: number) =>
        Array.from({ length: count }, (_, index) => known(`r${1000 + index}`, objectCount));
      // Large repos are scanned on their own either way. Between 999 of them lie 1,000 ranges.
      const large = records(999, 1000);
      const small = [known('a', 1), known('b', 1)];
      const scan = { scan: async () => done(1) };
      const listed = async (all: RepoRecord[]) => {
        asked = [];
        await run({ isFull: true, known: all }, { ...depsOf(), scan });
        return asked[0];
      };
      expect(await listed([...large, ...small])).toBe('folders');
      expect(await listed(records(998, 1))).toBe('flat');
    });

    it.each([
      [16, false],
      [17, true],
    ])('the first time with %i folders lists them together: %s', async (folders, isFlat) => {
      const expected: Record<string, number> = {};
      for (let index = 0; index < folders; index += 1) {
        fill(`r${10 + index}/`, 2);
        expected[`r${10 + index}`] = 2;
      }
      expect(await counts({ isFull: true })).toEqual(expected);
      expect([asked[0], asked.includes('flat')]).toEqual(['folders', isFlat]);
      expect(asked).toHaveLength(isFlat ? 2 : 17);
    });

    it('the first time lists folders together in ranges that end behind one of them', async () => {
      for (let index = 0; index < 401; index += 1) fill(`r${1000 + index}/`, 1);
      const deps = depsOf();
      const { listPage } = deps.listing;
      const begins: (string | undefined)[] = [];
      deps.listing.listPage = (request) => {
        begins.push(request.startAfter);
        return listPage(request);
      };
      expect(Object.keys(await counts({ isFull: true }, deps))).toHaveLength(401);
      expect(begins.sort()).toEqual(['acme/r1199/~', 'acme/r1399/~', undefined]);
    });

    it('the first time scans each of many folders if the store lists in another order', async () => {
      for (let index = 0; index < 17; index += 1) fill(`r${10 + index}/`, 2);
      expect(Object.keys(await counts({ isFull: true }, backwards()))).toHaveLength(17);
      expect(asked).toHaveLength(1 + 1 + 17);
    });

    it('does not list many new folders together if the ledger knows a repo', async () => {
      for (let index = 0; index < 20; index += 1) fill(`r${10 + index}/`, 2);
      fill('large/', 1500);
      expect(Object.keys(await counts({ isFull: true, known: [known('large', 1500)] }))).toHaveLength(21);
      expect(asked).not.toContain('flat');
    });

    it('scans each repo on its own if the store lists in another order', async () => {
      fill('a/', 2);
      fill('b/', 2);
      const records = [known('a', 2), known('b', 2)];
      expect(await run({ isFull: true, known: records }, backwards())).toMatchObject({
        kind: 'done',
        scans: new Map([
          ['a', { objectCount: 2 }],
          ['b', { objectCount: 2 }],
        ]),
        requests: 4,
      });
      expect([asked, charged]).toEqual([['flat', 'folders', 'a', 'b'], 4]);
    });
  });

  describe('that somebody waits for', () => {
    const awaited = () => scanned.map(({ isAwaited }) => isAwaited);

    it.each([
      [4, true],
      [5, false],
    ])('begins each of %i repos of unknown size with 16 requests: %s', async (count, isAwaited) => {
      for (let index = 0; index < count; index += 1) fill(`r${index}/`, 1);
      await counts({ isFull: true, isAwaited: true });
      expect(awaited()).toEqual(Array(count).fill(isAwaited));
    });

    it('begins all repos of known size so, however many they are', async () => {
      const large = Array.from({ length: 6 }, (_, index) => known(`r${index}`, 1000));
      await counts({ isFull: true, isAwaited: true, known: large });
      expect(awaited()).toEqual(Array(6).fill(true));
    });
  });

  it('is charged for every page of a scan once, however its progress is told', async () => {
    const scan = {
      scan: async ({ onPage }: PathScanInput): Promise<PathScanOutcome> => {
        for (const requests of [1, 3, 3]) {
          await onPage?.({ storedBytes: 0, objectCount: 0, share: undefined, requests });
          expect(charged).toBe(requests);
        }
        return done(4);
      },
    };
    expect(await counts({ due: new Set(['app']) }, { ...depsOf(), scan })).toEqual({ app: 5 });
    expect([charged, renewals]).toEqual([4, 3]);
  });

  it('is charged for two LISTs for each thousand objects of the smallest large repo, and for no more', async () => {
    const told: number[] = [];
    const scan = {
      scan: async ({ onPage }: PathScanInput): Promise<PathScanOutcome> => {
        for (const requests of [199, 200, 201]) {
          await onPage?.({ storedBytes: 0, objectCount: 0, share: undefined, requests });
          told.push(charged);
        }
        return done(900);
      },
    };
    await run({ due: new Set(['app']) }, { ...depsOf(), scan });
    expect([told, charged]).toEqual([[199, 200, 200], 200]);
  });

  describe('beside large repos', () => {
    const largeRepos = new Set(['giant']);

    it('lists none of them, on its own or with others', async () => {
      for (const repo of ['giant/', 'other/']) fill(repo, 2);
      const records = [known('giant', 2), known('other', 2)];
      expect(await counts({ isFull: true, largeRepos, due: largeRepos })).toEqual({ other: 2 });
      charged = 0;
      const due = new Set(['giant', 'other']);
      expect(await counts({ known: records, largeRepos, due })).toEqual({ other: 2 });
    });

    it('leaves them out of a flat listing, as it does all large repos', async () => {
      const names = ['a', 'b', 'c', 'd'];
      for (const repo of [...names, 'giant']) fill(`${repo}/`, 1);
      const records = [...names, 'giant'].map((repo) => known(repo, 1));
      const listed = vi.spyOn(objects, 'listPage');
      const found = await counts({ known: records, largeRepos, isFull: true });
      expect(found).toEqual({ a: 1, b: 1, c: 1, d: 1 });
      expect(asked).toEqual(['flat', 'flat']);
      const after = listed.mock.calls.map(([request]) => request.startAfter);
      expect(after.some((key) => key?.startsWith(`${tenant}/giant`))).toBe(true);
    });
  });

  it.each([
    ['a repo', { due: new Set(['app']) }],
    ['folders', { isFull: true }],
    ['repos listed together', { isFull: true, known: [known('app', 1)] }],
  ])('ends once another reconcile has the lease, in %s', async (_, more) => {
    fill('app/', 2);
    takenAt = 1;
    expect(await run(more)).toEqual({ kind: 'superseded' });
    expect(renewals).toBe(1);
  });

  it.each([
    ['a repo', { due: new Set(['app']) }],
    ['repos listed together', { isFull: true, known: [known('app', 1)] }],
  ])('is unfinished at its deadline, in %s', async (_, more) => {
    fill('app/', 2);
    expect(await run({ ...more, deadlineMs: clock.nowMs() })).toEqual({ kind: 'unfinished' });
  });

  it('is unfinished if a large repo is, that was left out of a flat listing', async () => {
    for (const repo of ['a', 'b', 'c', 'd']) fill(`${repo}/`, 1);
    const records = ['a', 'b', 'c', 'd'].map((repo) => known(repo, 1));
    const scan = { scan: async () => unfinished(1, 0) };
    const all = { isFull: true, known: [...records, known('large', 5000)] };
    expect(await run(all, { ...depsOf(), scan })).toEqual({ kind: 'unfinished' });
    expect(asked).toEqual(['flat', 'flat']);
  });

  it('fails as the store does', async () => {
    const scan = { scan: () => Promise.reject(new Error('No answer.')) };
    await expect(run({ due: new Set(['app']) }, { ...depsOf(), scan })).rejects.toThrow('No answer.');
  });
});
