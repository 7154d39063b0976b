import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  closeReposOfClosedTenant,
  emptyClosedRepos,
  listInDeletions,
} from '../../../../../lambda/core/ledger/empty-repos.ts';
import { keptUntilMs } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import type { Belongings, Forgotten } from '../../../../../lambda/core/ledger/seams.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { type ObjectListing, StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

describe('the repos of a closed tenant', () => {
  let world: MemoryStack;
  beforeEach(() => {
    world = new MemoryStack();
  });

  /** @returns the repos that were closed. */
  const close = async () => {
    const closeRepo = vi.spyOn(world.ledger, 'closeRepo');
    await closeReposOfClosedTenant(world.deps, { account: await world.record(), untilMs: 9e15 });
    return closeRepo.mock.calls.map(([{ repo, closedAtMs }]) => [repo, closedAtMs]).sort();
  };
  const closeTenant = () => world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });

  it('are left alone while it is open', async () => {
    world.put({ 'app/1': 1 });
    await world.create();
    expect(await close()).toEqual([]);
  });

  it('are closed if the bucket lists them, also what lies in no folder', async () => {
    await world.create();
    await closeTenant();
    world.put({ 'app/1': 1, 'web/1': 0, 'note.txt': 1 });
    expect(await close()).toEqual([
      ['', world.nowMs],
      ['app', world.nowMs],
      ['web', world.nowMs],
    ]);
  });

  it('are closed if the ledger has reservations or objects of them, though the bucket lists none', async () => {
    world.put({ 'gone/1': 1, 'empty/1': 1 });
    await world.create();
    await world.push('app', { [oidOf(1)]: 1 });
    const found = { storedBytes: 0, objectCount: 0, scannedAtMs: world.nowMs, epoch: 9 };
    const repo = { repo: 'empty', ...found, covered: new Set<string>(), putsUntilMs: 0 };
    await world.ledger.commitRepo({ tenant, repo, dirtyTokenRead: null });
    for (const key of await world.keys()) await world.objects.delete([`${tenant}/${key}`]);
    await closeTenant();
    expect((await close()).map(([name]) => name)).toEqual(['app', 'gone']);
  });

  it('are closed once more by the same closing if an upload arrived after it had ended', async () => {
    const closedAtMs = world.nowMs;
    world.put({ 'app/1': 1 });
    await world.create();
    await closeTenant();
    await close();
    await world.ledger.openRepo({ tenant, repo: 'app', closedAtMs });
    await close();
    expect(await world.repo('app')).toMatchObject({ closedAtMs });
  });

  it('are closed several at a time, within the time that there is, and the others by the next run', async () => {
    for (let index = 0; index < 100; index += 1) world.put({ [`repo${index}/1`]: 1 });
    await world.create();
    await closeTenant();
    const closeRepo = world.ledger.closeRepo.bind(world.ledger);
    let [under, most] = [0, 0];
    world.ledger.closeRepo = async (input) => {
      under += 1;
      most = Math.max(most, under);
      await Promise.resolve();
      under -= 1;
      world.nowMs += 1000;
      await closeRepo(input);
    };
    const run = async () =>
      closeReposOfClosedTenant(world.deps, { account: await world.record(), untilMs: world.nowMs + 50_000 });
    const closed = async () =>
      (await allPages(world.ledger.repos(tenant))).filter(({ closedAtMs }) => closedAtMs !== null).length;
    expect([await run(), most]).toEqual([false, 16]);
    expect([(await closed()) > 50, (await closed()) < 100]).toEqual([true, true]);
    expect([await run(), await closed()]).toEqual([true, 100]);
  });

  it('are closed once', async () => {
    world.put({ 'app/1': 1, 'web/1': 1 });
    await world.create();
    await world.ledger.closeRepo({ tenant, repo: 'app', closedAtMs: 5 });
    await closeTenant();
    world.nowMs += minute;
    expect((await close()).map(([name]) => name)).toEqual(['web']);
  });
});

describe('the closed repos of a tenant', () => {
  let world: MemoryStack;
  const empty = (forMs = 1000 * minute) =>
    emptyClosedRepos(world.deps, { tenant, untilMs: world.nowMs + forMs });
  const close = async (...repos: string[]) => {
    for (const repo of repos) await world.ledger.closeRepo({ tenant, repo, closedAtMs: world.nowMs });
  };
  const isClosed = async (repo: string) => typeof (await world.repo(repo))?.closedAtMs === 'number';
  const areClosed = async () => [await isClosed('a'), await isClosed('b')];
  /** Batches from before the closing must have ended by then. */
  const passBatches = () => {
    world.nowMs += world.deps.settings.pendingVoidAfterMs + 1;
  };
  const mark = (id: string, ...names: string[]) =>
    world.mark(Object.fromEntries(names.map((name) => [name, 1])), {
      id,
      repo: 'a',
      dueAtMs: world.nowMs + minute,
    });
  /** Each delete of an object takes so long. */
  const deletesTake = (durationMs: number) => {
    world.beforeDelete = () => {
      world.nowMs += durationMs;
    };
  };
  const answerNothing = () => {
    world.beforeDelete = () => {
      throw new StoreUnavailableError('No answer.');
    };
  };

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ 'a/1': 1, 'a/2': 2, 'b/1': 3, 'open/1': 4 });
    await world.create();
  });

  it('are emptied of any name that a store has', async () => {
    for (const name of ['__proto__', '', 'constructor', '__proto__/x'])
      world.objects.put(`${tenant}/a/${name}`, 7);
    await close('a');
    await empty();
    passBatches();
    expect(await empty()).toBe('done');
    expect([await isClosed('a'), await world.keys()]).toEqual([false, ['b/1', 'open/1']]);
  });

  it('are emptied, and no others; there is nothing to do without any', async () => {
    expect(await empty()).toBe('done');
    await close('a', 'b');
    expect(await empty()).toBe('opening');
    expect([await world.keys(), await isClosed('open')]).toEqual([['open/1'], false]);
  });

  it('keep what the last run of a deletion removed until a reconcile has taken it off', async () => {
    const { deadlineMs } = await world.entry(await mark('d', '1', '2'));
    const objects = new Map([['1', { sizeBytes: 1, lastModifiedMs: 1 }]]);
    const removal = { runMs: deadlineMs, beganMs: world.nowMs, endedMs: world.nowMs, objects };
    const ended = { left: new Map([['2', 2]]), dueAtMs: world.nowMs, keptUntilMs: null, removal };
    await world.ledger.endDeletion({ tenant, repo: 'a', deletionId: 'd', deadlineMs, ...ended });
    await close('a');
    const read = await world.deletions();
    await empty();
    expect(await world.deletions()).toEqual(read);
    expect(read).toMatchObject([{ removal }]);
  });

  it.each([
    ['every batch from before their closing must have ended, and that is logged', minute],
    ['no listing of before tells a batch what was in them', 1],
  ])('are opened once %s', async (_, pendingVoidAfterMs) => {
    const info = vi.spyOn(world.deps.log, 'info');
    const settings = { ...world.deps.settings, pendingVoidAfterMs };
    const emptyThen = () => emptyClosedRepos({ ...world.deps, settings }, { tenant, untilMs: 9e15 });
    await close('a');
    await emptyThen();
    world.nowMs = Math.max(world.nowMs + pendingVoidAfterMs, keptUntilMs(settings, world.nowMs));
    expect([await emptyThen(), await isClosed('a')]).toEqual(['opening', true]);
    expect(info).not.toHaveBeenCalledWith('repo emptied', { tenant, repo: 'a' });
    world.nowMs += 1;
    expect([await emptyThen(), await isClosed('a')]).toEqual(['done', false]);
    expect(info).toHaveBeenCalledWith('repo emptied', { tenant, repo: 'a' });
    info.mockRestore();
  });

  it('are opened once what belongs to them is forgotten', async () => {
    const forgotten: [string, boolean][] = [];
    let outcome: Forgotten = 'unfinished';
    const more: Belongings = {
      forgetRepo: async ({ repo }) => {
        forgotten.push([repo, await isClosed(repo)]);
        return outcome;
      },
    };
    Object.assign(world.deps, { belongings: [more] });
    await close('a');
    await empty();
    passBatches();
    await empty();
    expect(await isClosed('a')).toBe(true);
    outcome = 'done';
    expect([await empty(), await isClosed('a')]).toEqual(['done', false]);
    expect(forgotten).toEqual([
      ['a', true],
      ['a', true],
    ]);
  });

  describe('of which a deletion is written once more after the repo was opened', () => {
    const writeLate = async () => {
      const writes = vi.spyOn(world.ledger, 'putDeletion');
      await close('a');
      passBatches();
      await empty();
      const [[again] = []] = writes.mock.calls;
      writes.mockRestore();
      if (!again) throw new Error('Nothing was deleted.');
      world.put({ 'a/1': 1, 'a/2': 2 });
      await world.ledger.putDeletion(again);
      return again.deletion;
    };
    const deletionsOf = () => allPages(world.ledger.deletionsOf({ tenant, repo: 'a' }));
    const all = ['a/1', 'a/2', 'b/1', 'open/1'];

    it('keep what was pushed since', async () => {
      await writeLate();
      expect(await isClosed('a')).toBe(false);
      await world.consume();
      expect([await world.keys(), await deletionsOf()]).toEqual([all, []]);
    });

    it('keep it if the repo is closed again, until that closing is at work', async () => {
      await writeLate();
      world.nowMs += 1;
      await close('a');
      await empty();
      expect([await world.keys(), await deletionsOf()]).toEqual([['b/1', 'open/1'], []]);
    });

    it('keep it if somebody had begun the deletion that came back', async () => {
      await world.entry(await writeLate(), world.nowMs);
      world.nowMs += minute;
      await world.consume();
      expect(await world.keys()).toEqual(all);
      // Who began it may have deleted something.
      expect(await deletionsOf()).toMatchObject([{ state: 'deleted' }]);
      expect(await world.usage()).toMatchObject({ storedBytes: 10 });
    });
  });

  it('are continued with until the time is up: the first one in any case, and the next up to the last moment', async () => {
    await close('a', 'b');
    deletesTake(500);
    expect(await empty(999)).toBe('unfinished');
    expect(await world.keys()).toEqual(['b/1', 'open/1']);
    world.put({ 'a/1': 1, 'a/2': 2 });
    expect(await empty(1000)).toBe('unfinished');
    expect(await world.keys()).toEqual(['open/1']);
    world.put({ 'a/1': 1 });
    expect(await empty(-1)).toBe('unfinished');
    expect(await world.keys()).toEqual(['open/1']);
  });

  it('are left for later if the time is up, though nothing had to be deleted before', async () => {
    await world.objects.delete([`${tenant}/a/1`, `${tenant}/a/2`]);
    await close('a', 'b');
    expect(await empty(-1)).toBe('unfinished');
    expect(await world.keys()).toEqual(['b/1', 'open/1']);
  });

  it('stay closed if a deletion of theirs is refused, or a reservation holds what is listed', async () => {
    await close('b');
    const entry = vi.spyOn(world.ledger, 'claimDeletion').mockResolvedValue({ kind: 'refused' });
    expect(await empty()).toBe('done');
    entry.mockRestore();
    await world.upload('a', { [oidOf(1)]: 5 });
    await world.ledger.openRepo({ tenant, repo: 'b', closedAtMs: world.nowMs });
    await close('a');
    expect(await empty()).toBe('done');
  });

  it.each([
    ['of what is listed', async () => undefined],
    ['of an object that was marked before', () => mark('d', '1')],
  ])(
    'wait after a delete %s that the store did not answer: the next repo would leave another note',
    async (_, prepare) => {
      await prepare();
      await close('a', 'b');
      answerNothing();
      expect(await empty()).toBe('done');
      expect((await world.record()).intents.size).toBe(1);
      expect(await world.deletions()).toMatchObject([{ repo: 'a', state: 'deleting' }]);
    },
  );

  describe('of a tenant with very many entries', () => {
    const [one, two] = [oidOf(1), oidOf(2)];
    beforeEach(async () => {
      world = new MemoryStack({ unconfirmedEntriesMax: 0 });
      await world.create();
      await world.push('a', { [oidOf(9)]: 1 });
      world.nowMs += 37 * minute;
      await world.consume();
      // A PUT may bring back what has been there for less than a day.
      world.put({ [`a/${one}`]: 1, [`a/${two}`]: 1 });
    });

    it('wait with all that is marked once some of it has to wait', async () => {
      await mark('d1', one);
      await mark('d2', two);
      await close('a');
      const entry = vi.spyOn(world.ledger, 'claimDeletion');
      expect(await empty()).toBe('done');
      expect(entry).toHaveBeenCalledTimes(1);
      expect(await world.keys()).toHaveLength(2);
    });

    it('wait with what is listed, and are not about to be opened', async () => {
      await close('a');
      expect(await empty()).toBe('done');
      expect(await world.keys()).toHaveLength(2);
    });
  });

  it('have one deletion if the store deletes nothing of them, and others are emptied beside them', async () => {
    world = new MemoryStack();
    const names = Array.from({ length: 4500 }, (_, index) => [`a/${index}`, 1]);
    world.put({ ...Object.fromEntries(names), 'b/1': 3 });
    await world.create();
    await close('a', 'b');
    let isLocked = true;
    world.beforeDelete = (key) => {
      if (isLocked && key.startsWith(`${tenant}/a/`)) throw new StoreUnavailableError('Access denied.');
    };
    for (let runs = 0; runs < 4; runs += 1) {
      await world.consume();
      world.nowMs += 2 * minute;
    }
    expect((await world.deletions()).filter(({ repo }) => repo === 'a')).toHaveLength(1);
    expect((await world.keys()).filter((key) => key.startsWith('b'))).toEqual([]);
    isLocked = false;
    await world.consume();
    expect(await world.keys()).toEqual([]);
  });

  it('lose marked objects first, without their grace time, and stop between two deletions when the time is up', async () => {
    await mark('d1', '1');
    await mark('d2', '2');
    await close('a');
    deletesTake(500);
    expect([await empty(499), await world.keys()]).toEqual(['unfinished', ['a/2', 'b/1', 'open/1']]);
    expect([await empty(500), await world.keys()]).toEqual(['opening', ['b/1', 'open/1']]);
  });

  it('are emptied though another one cannot be listed, which is told at the end', async () => {
    await close('a', 'b');
    const { listing } = world.deps;
    const listPage: typeof listing.listPage = async (request) => {
      if (request.prefix === `${tenant}/a/`) throw new StoreUnavailableError('Access denied.');
      return listing.listPage(request);
    };
    const { log, entries } = recordingLog();
    const deps = { ...world.deps, log, listing: { ...listing, listPage } };
    await expect(emptyClosedRepos(deps, { tenant, untilMs: 9e15 })).rejects.toThrow('Access denied.');
    expect(await world.keys()).toEqual(['a/1', 'a/2', 'open/1']);
    expect(entries.filter(({ level }) => level === 'warn')).toMatchObject([{ fields: { repo: 'a' } }]);
  });

  it('are left for later if the time is up before all that belongs to them is forgotten', async () => {
    await close('a', 'b');
    await empty();
    passBatches();
    const { belongings } = world.deps;
    const forgetRepo = vi.fn(async () => {
      world.nowMs += 2;
      return 'unfinished' as const;
    });
    Object.assign(world.deps, { belongings: [{ forgetRepo }] });
    expect([await empty(1), await areClosed()]).toEqual(['unfinished', [true, true]]);
    expect(forgetRepo).toHaveBeenCalledTimes(1);
    Object.assign(world.deps, { belongings });
    expect([await empty(), await areClosed()]).toEqual(['done', [false, false]]);
  });

  it('stay closed while somebody else deletes some of their objects, which are left to them', async () => {
    await world.entry(await mark('d1', '1'));
    await close('a', 'b');
    expect([await empty(), await world.keys()]).toEqual(['opening', ['a/1', 'open/1']]);
    passBatches();
    const put = vi.spyOn(world.ledger, 'putDeletion');
    expect([await empty(), await areClosed()]).toEqual(['done', [true, false]]);
    expect(put).not.toHaveBeenCalled();
    expect(await world.keys()).toEqual(['a/1', 'open/1']);
  });

  it('keep what a live reservation holds, marked or not, and try that once in a run', async () => {
    const [held, alsoHeld] = [oidOf(1), oidOf(2)];
    await world.upload('a', { [held]: 5, [alsoHeld]: 6 });
    await mark('d1', held, '1');
    await close('a');
    const [entry, put] = [vi.spyOn(world.ledger, 'claimDeletion'), vi.spyOn(world.ledger, 'putDeletion')];
    expect(await empty()).toBe('done');
    expect(entry).toHaveBeenCalledTimes(2);
    expect(put.mock.calls.map(([{ deletion }]) => [...deletion.objects.keys()].sort())).toEqual([
      [alsoHeld, '2'].sort(),
    ]);
    expect(await world.keys()).toEqual([`a/${held}`, `a/${alsoHeld}`, 'b/1', 'open/1'].sort());
    world.nowMs += 40 * minute;
    expect(await empty()).toBe('done');
    expect([await world.keys(), await isClosed('a')]).toEqual([['b/1', 'open/1'], false]);
  });
});

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
