import { beforeEach, describe, expect, it, vi } from 'vitest';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import type { FlatPlan } from '../../../../../lambda/core/ledger/rules/reconciliation.ts';
import { type ScanFlatInput, scanFlat } from '../../../../../lambda/core/ledger/scan-repos.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import {
  type ListedPage,
  type ListPageRequest,
  StoreUnavailableError,
} from '../../../../../lambda/core/store/rules/store.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { measured } from './measured.ts';

const sha = (index: number) => oidOf(index * 7919);

describe('a full count', () => {
  const counts = async (world: MemoryStack) => {
    const repos = await allPages(world.ledger.repos(tenant));
    return Object.fromEntries(
      repos.map(({ repo, objectCount, storedBytes }) => [repo, [objectCount, storedBytes]]),
    );
  };
  const fill = (world: MemoryStack, repo: string, count: number, from = 0) => {
    for (let index = 0; index < count; index += 1)
      world.objects.put(`${tenant}/${repo}/${sha(from + index)}`, 2);
  };

  it('hops over a repo that has grown, and counts it on its own', async () => {
    const world = new MemoryStack();
    for (const repo of ['a', 'b', 'c']) fill(world, repo, 3);
    await world.create();
    fill(world, 'b', 5000);
    fill(world, 'bb', 4);
    world.put({ 'b/~after': 9, 'b/ä': 9, b: 9 });
    const { lists } = await measured(world, () => world.consume({ full: true }));
    expect(await counts(world)).toEqual({
      a: [3, 6],
      b: [5002, 10_018],
      bb: [4, 8],
      c: [3, 6],
      '': [1, 9],
    });
    expect(lists).toBeLessThan(3 + 12);
  });

  it('counts a repo that is empty now as empty', async () => {
    const world = new MemoryStack();
    for (const repo of ['a', 'b', 'c']) fill(world, repo, 3);
    await world.create();
    for (let index = 0; index < 3; index += 1) await world.objects.delete([`${tenant}/b/${sha(index)}`]);
    await world.consume({ full: true });
    expect(await counts(world)).toEqual({ a: [3, 6], b: [0, 0], c: [3, 6] });
  });

  it('sees what reservations wait for', async () => {
    const world = new MemoryStack();
    for (const repo of ['a', 'b', 'c']) fill(world, repo, 3);
    await world.create(1000);
    await world.push('b', { [sha(10)]: 2, [sha(11)]: 2 });
    world.objects.put(`${tenant}/b/${sha(10)}`, 2);
    await world.consume({ full: true });
    expect((await world.record()).committedBytes).toBe(9 * 2 + 2 + 2);
    world.objects.put(`${tenant}/b/${sha(11)}`, 2);
    await world.consume({ full: true });
    expect((await world.record()).committedBytes).toBe(9 * 2 + 4);
    expect((await world.ledger.readRepo({ tenant, repo: 'b' }))?.covered.size).toBe(1);
  });

  it('falls back to each repo on its own if the store lists in another order', async () => {
    const world = new MemoryStack();
    for (const repo of ['a', 'b', 'c']) fill(world, repo, 3);
    await world.create();
    fill(world, 'c', 4);
    const { listPage } = world.objects;
    world.objects.listPage = async (request) => {
      const page = await listPage.call(world.objects, request);
      if (request.prefix !== `${tenant}/`) return page;
      return { ...page, keyAt: (index) => page.keyAt(page.keyCount - 1 - index) };
    };
    await world.consume({ full: true });
    expect(await counts(world)).toEqual({ a: [3, 6], b: [3, 6], c: [4, 8] });
  });

  it('ends as unfinished at its deadline', async () => {
    const world = new MemoryStack();
    for (const repo of ['a', 'b', 'c']) fill(world, repo, 3);
    await world.create();
    const input = { tenant, full: true, deadlineMs: world.nowMs };
    expect(await reconcile(world.deps, input)).toEqual({ kind: 'unfinished' });
  });

  it('of two hundred repos that each changed lists them together', async () => {
    const world = new MemoryStack();
    for (let repo = 0; repo < 200; repo += 1) fill(world, `repo${repo}`, 2);
    await world.create(1e6);
    for (let repo = 0; repo < 200; repo += 1) await world.push(`repo${repo}`, { [sha(50)]: 1 });
    const { lists } = await measured(world, () => world.consume());
    expect(lists).toBeLessThan(10);
    expect((await world.record()).committedBytes).toBe(200 * (4 + 1));
  });
});

describe('repos that a full count found unchanged', () => {
  it('are written again if a reconcile before was overtaken, so that its late writes are refused', async () => {
    const world = new MemoryStack();
    world.put({ 'a/1': 1, 'b/1': 1, 'c/1': 1 });
    await world.create();
    // A reconcile takes its epoch, and stops before it writes.
    const begun = await world.ledger.beginReconcile({
      tenant,
      holder: 'h',
      nowMs: world.nowMs,
      leaseUntilMs: world.nowMs,
    });
    if (begun.kind !== 'begun') throw new Error(begun.kind);
    world.nowMs += minute;
    expect((await measured(world, () => world.consume({ full: true }))).repoWrites).toBe(3);
    const unconfirmed = { repo: 'a', storedBytes: 99, objectCount: 9, scannedAtMs: 0, epoch: begun.epoch };
    const commit = {
      tenant,
      repo: { ...unconfirmed, covered: new Set<string>(), putsUntilMs: 0 },
      dirtyTokenRead: null,
    };
    expect(await world.ledger.commitRepo(commit)).toBe('superseded');
    expect((await measured(world, () => world.consume({ full: true }))).repoWrites).toBe(0);
  });

  it('are shown with the age of that count', async () => {
    const world = new MemoryStack();
    world.put({ 'a/1': 1, 'b/1': 1, 'c/1': 1 });
    await world.create();
    world.nowMs += minute;
    await world.consume({ full: true });
    expect((await world.record()).fullScannedAtMs).toBe(world.nowMs);
    world.nowMs += minute;
    await world.consume();
    expect((await world.record()).fullScannedAtMs).toBe(world.nowMs - minute);
  });
});

describe('a flat listing', () => {
  const whole: FlatPlan = {
    large: new Set(),
    ranges: [{ after: null, until: null, requests: 1 }],
    requests: 1,
  };
  let objects: MemoryObjectStore;
  let asked: ListPageRequest[];
  let clock: ManualClock;
  let pages: number;

  beforeEach(() => {
    [objects, asked, clock, pages] = [new MemoryObjectStore(), [], new ManualClock(), 0];
  });
  /** Objects of one byte below the tenant. */
  const put = (...paths: string[]) => {
    for (const path of paths) objects.put(`${tenant}/${path}`, 1);
  };
  /** Lists three keys a page. */
  const list = (more: Partial<ScanFlatInput> = {}, listPage = objects.listPage.bind(objects)) => {
    const listing = {
      listFolders: objects.listFolders.bind(objects),
      listPage: (request: ListPageRequest) => {
        asked.push(request);
        return listPage({ ...request, maxKeys: 3 });
      },
    };
    const onPage = async () => {
      pages += 1;
    };
    const input = { tenant, plan: whole, lookFor: () => new Set<string>(), onPage, ...more };
    return scanFlat({ listing, clock }, input);
  };
  const counts = async (...given: Parameters<typeof list>) => {
    const outcome = await list(...given);
    if (outcome.kind !== 'done') throw new Error(outcome.kind);
    const found = [...outcome.scans].map(([repo, { objectCount }]) => [repo, objectCount]);
    return { found: Object.fromEntries(found), large: [...outcome.large] };
  };

  it('of nothing takes one request, which begins at the first key', async () => {
    expect(await counts()).toEqual({ found: {}, large: [] });
    expect([asked, pages]).toEqual([[{ prefix: 'acme/' }], 1]);
  });

  it('assigns keys to repos across pages, and tells of each what was seen of what it looked for', async () => {
    put('a/1', 'a/2', 'b/1', 'b/2', 'c', 'd/1/2');
    objects.put('acme-2/x', 1);
    const lookFor = vi.fn((repo: string) => new Set(repo === 'b' ? ['2', '3'] : ['1/2']));
    const outcome = await list({ lookFor });
    expect(outcome).toEqual({
      kind: 'done',
      scans: new Map([
        ['a', { storedBytes: 2, objectCount: 2, seen: new Map() }],
        ['b', { storedBytes: 2, objectCount: 2, seen: new Map([['2', 1]]) }],
        ['', { storedBytes: 1, objectCount: 1, seen: new Map() }],
        ['d', { storedBytes: 1, objectCount: 1, seen: new Map([['1/2', 1]]) }],
      ]),
      large: new Set(),
    });
    expect(asked.map(({ startAfter }) => startAfter)).toEqual([undefined, 'acme/b/1']);
    // Once for each repo of a page, not for each key.
    expect(lookFor.mock.calls.flat()).toEqual(['a', 'b', 'b', '', 'd']);
  });

  it('counts each range after its beginning, up to and with its end', async () => {
    put('a/1', 'a/2', 'b/1', 'c/1', 'c/2', 'c/3');
    const range = (after: string | null, until: string | null) => ({ after, until, requests: 1 });
    const of = (...ranges: ReturnType<typeof range>[]) => counts({ plan: { ...whole, ranges } });
    expect((await of(range(null, 'a/1'))).found).toEqual({ a: 1 });
    expect((await of(range('a/1', 'b/1'))).found).toEqual({ a: 1, b: 1 });
    expect((await of(range('a/2', 'b/~'), range('c/1', null))).found).toEqual({ b: 1, c: 2 });
    expect(asked.map(({ startAfter }) => startAfter)).toEqual([
      undefined,
      'acme/a/1',
      'acme/a/2',
      'acme/c/1',
    ]);
  });

  it('reads no page after its end, though more follow', async () => {
    put('a/1', 'b/1', 'c/1', 'd/1');
    const plan = { ...whole, ranges: [{ after: null, until: 'b/~', requests: 1 }] };
    expect((await counts({ plan })).found).toEqual({ a: 1, b: 1 });
    expect(asked).toHaveLength(1);
  });

  it('goes on behind a repo that fills a page, and leaves that to a scan of its own', async () => {
    put('a/1', 'b/1', 'b/2', 'b/3', 'b/4', 'b/5', 'b/6', 'c/1');
    expect(await counts()).toEqual({ found: { a: 1, c: 1 }, large: ['b'] });
    expect(asked.map(({ startAfter }) => startAfter)).toEqual([undefined, 'acme/b/2', 'acme/b/~']);
  });

  it('goes on where it was if the repo has keys even behind all oids', async () => {
    put('b/1', 'b/2', 'b/3', 'b/~1', 'b/~2', 'b/~3', 'b/~4', 'c/1');
    expect(await counts()).toEqual({ found: { c: 1 }, large: ['b'] });
    expect(asked.map(({ startAfter }) => startAfter)).toEqual([undefined, 'acme/b/~', 'acme/b/~3']);
  });

  it('leaves nothing out of what lies beside the folders, however many pages that fills', async () => {
    put('1', '2', '3', '4', '5', '6', '7');
    expect(await counts()).toEqual({ found: { '': 7 }, large: [] });
  });

  it('takes no repo of a last page for a large one', async () => {
    put('b/1', 'b/2', 'b/3');
    expect(await counts()).toEqual({ found: { b: 3 }, large: [] });
  });

  it('tells the repos that the plan left out, and nothing of what it saw of them', async () => {
    put('a/1', 'b/~x', 'c/1');
    expect(await counts({ plan: { ...whole, large: new Set(['b']) } })).toEqual({
      found: { a: 1, c: 1 },
      large: ['b'],
    });
  });

  const page = (keys: readonly string[], isTruncated: boolean): ListedPage => ({
    keyCount: keys.length,
    totalBytes: keys.length,
    keyAt: (index) => `${tenant}/${keys[index]}`,
    sizeAt: () => 1,
    lastModifiedMsAt: () => undefined,
    etagAt: () => '',
    isTruncated,
    nextContinuationToken: undefined,
  });

  it.each([
    ['keys go back', [page(['b/1', 'a/1'], false)]],
    ['a key comes twice', [page(['a/1', 'a/1'], false)]],
    ['a page begins with the key before it', [page(['a/1', 'b/1'], true), page(['b/1'], false)]],
    ['a page begins before the one before it', [page(['a/1', 'b/1'], true), page(['a/2'], false)]],
    ['a page is empty though more follow', [page([], true)]],
  ])('is unordered if %s', async (_, answers) => {
    const left = [...answers];
    expect(await list({}, async () => left.shift() ?? page([], false))).toEqual({ kind: 'unordered' });
    // Each page was charged.
    expect([left, pages]).toEqual([[], answers.length]);
  });

  it('ends all its ranges once one is unordered', async () => {
    const ranges = ['a', 'b', 'c'].map((after) => ({ after, until: null, requests: 1 }));
    const answers = [page([], true), page(['x'], true), page(['y'], true)];
    const turned = list({ plan: { ...whole, ranges } }, async () => answers.shift() ?? page(['z'], false));
    expect(await turned).toEqual({ kind: 'unordered' });
    expect(asked).toHaveLength(3);
  });

  it('may begin with a key without a name, which comes first', async () => {
    put('');
    expect((await counts()).found).toEqual({ '': 1 });
  });

  it('is unfinished at its deadline, before a request and during one, and tells the store of it', async () => {
    put('a/1', 'b/1', 'c/1', 'd/1');
    const deadlineMs = clock.nowMs() + 10;
    const advance = async (request: ListPageRequest) => {
      clock.advance(10);
      return objects.listPage(request);
    };
    expect(await list({ deadlineMs }, advance)).toEqual({ kind: 'unfinished' });
    expect(asked).toEqual([{ prefix: 'acme/', deadlineMs }]);
    const fail = async () => {
      clock.advance(10);
      throw new StoreUnavailableError('Too slow.');
    };
    expect(await list({ deadlineMs: clock.nowMs() + 10 }, fail)).toEqual({ kind: 'unfinished' });
  });

  it.each([
    ['the store fails before the deadline', new StoreUnavailableError('Down.'), 9],
    ['something else fails, whenever that is', new TypeError('A mistake of ours.'), 10],
  ])('fails if %s', async (_, error, afterMs) => {
    const fail = async () => {
      clock.advance(afterMs);
      throw error;
    };
    await expect(list({ deadlineMs: clock.nowMs() + 10 }, fail)).rejects.toBe(error);
  });
});
