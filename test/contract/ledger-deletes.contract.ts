import { describe, expect, it } from 'vitest';
import type { Deletion } from '../../lambda/core/ledger/rules/deletion.ts';
import { allPages } from '../../lambda/core/rules/async.ts';
import { prefixText } from '../../lambda/core/rules/prefix-set.ts';
import { ledgerContext, type OpenTable, oid, scanned, tenantName } from './ledger-context.ts';

const objects = new Map([
  [oid('a'), 10],
  [oid('b'), 20],
]);
const [left, nothing] = [new Map([[oid('b'), 20]]), new Map<string, number>()];
const marked: Deletion = { id: 'd1', repo: 'app', state: 'scheduled', objects, dueAtMs: 700, deadlineMs: 0 };

export function deleteContract(table: OpenTable): void {
  describe('deletes', () => {
    const { ledger, create, begin, commit, dueAt, deletions } = ledgerContext(table);
    /** Marks two objects of a new tenant. */
    const put = async (deletion = marked) => {
      const tenant = await create({ scanned: scanned(50) });
      const key = { tenant, repo: 'app', deletionId: 'd1' };
      await ledger.putDeletion({ tenant, deletion });
      return {
        tenant,
        key,
        unmark: (...names: string[]) => ledger.unmark({ ...key, dueAtMs: 700, names }),
        claim: (before: Deletion | undefined, deadlineMs: number, dueAtMs?: number) => {
          if (!before) throw new Error('There is no deletion.');
          return ledger.claimDeletion({ tenant, before, deadlineMs, ...(dueAtMs && { dueAtMs }) });
        },
        end: (deadlineMs: number, more: { left?: typeof left; keptUntilMs?: number; prefixes?: string }) =>
          ledger.endDeletion({ ...key, deadlineMs, left: nothing, dueAtMs: 900, keptUntilMs: null, ...more }),
      };
    };

    it('note which names empty objects take, repo by repo, until they are removed', async () => {
      const tenant = await create({ scanned: scanned(50) });
      const emptied = (repo: string, id: string) => ({ repo, id, names: ['a/b', 'constructor'], dueAtMs: 7 });
      const kept = [emptied('app', '7-x'), emptied('app', '8-y'), emptied('app#1', '7-x')];
      for (const each of kept) await ledger.putEmptied({ tenant, ...each });
      // A retry of our own changes nothing.
      await ledger.putEmptied({ tenant, ...emptied('app', '8-y'), names: [] });
      expect(new Set(await allPages(ledger.emptied({ tenant })))).toEqual(new Set(kept));
      expect(await allPages(ledger.emptied({ tenant, repo: 'app' }))).toEqual(kept.slice(0, 2));
      await ledger.removeEmptied({ tenant, repo: 'app', id: '7-x' });
      expect(await allPages(ledger.emptied({ tenant }))).toEqual(expect.arrayContaining(kept.slice(1)));
      expect(await allPages(ledger.emptied({ tenant, repo: 'app' }))).toEqual([kept[1]]);
    });

    it('can be of files, in a repo that is new or of the same kind', async () => {
      const tenant = await create({ scanned: scanned(50) });
      const createRepo = (repo: string, kind?: 'files') =>
        ledger.createRepo({ tenant, repo, createdAtMs: 1, ...(kind && { kind }) });
      expect([await createRepo('a', 'files'), await createRepo('a', 'files'), await createRepo('a')]).toEqual(
        ['done', 'done', 'other-kind'],
      );
      expect([await createRepo('b'), await createRepo('b', 'files')]).toEqual(['done', 'other-kind']);
      expect(await ledger.readRepo({ tenant, repo: 'a' })).toMatchObject({ kind: 'files' });
      expect((await ledger.readRepo({ tenant, repo: 'b' }))?.kind).toBeUndefined();
      await ledger.closeRepo({ tenant, repo: 'a', closedAtMs: 5 });
      expect(await createRepo('a', 'files')).toBe('closed');
    });

    it('can be of files, in a repo that only a scan found', async () => {
      const tenant = await create({ scanned: scanned(50) });
      const commit = (repo: string, putsUntilMs: number, epoch = 1) => {
        const found = { repo, storedBytes: 3, objectCount: 1, scannedAtMs: 9, epoch, putsUntilMs };
        return ledger.commitRepo({
          tenant,
          repo: { ...found, covered: new Set() },
          dirtyTokenRead: null,
          ...(epoch > 1 && { epochRead: epoch - 1 }),
        });
      };
      const createRepo = (repo: string, createdAtMs = 1) =>
        ledger.createRepo({ tenant, repo, createdAtMs, kind: 'files' });
      for (const repo of ['found', 'watched']) await commit(repo, 0);
      await commit('pushed', 7);
      await ledger.markDirty({ tenant, repo: 'unscanned', dirtyToken: 'd' });
      const watch = { id: 'w', openedAtMs: 1, untilMs: 9 };
      await ledger.openWatch({ tenant, repo: 'watched', watch, nowMs: 1 });
      expect(await createRepo('pushed')).toBe('other-kind');
      expect(await createRepo('watched')).toBe('other-kind');
      expect(await createRepo('unscanned')).toBe('done');
      // If its answer is lost, it comes again, and the next scan changes nothing of it.
      for (const createdAtMs of [5, 6]) expect(await createRepo('found', createdAtMs)).toBe('done');
      await commit('found', 8, 2);
      expect(await createRepo('found', 7)).toBe('done');
      expect(await ledger.readRepo({ tenant, repo: 'found' })).toMatchObject({
        kind: 'files',
        createdAtMs: 5,
        objectCount: 1,
        epoch: 2,
      });
    });

    it('can be of files once that is proven, or not: what comes first decides', async () => {
      const tenant = await create({ scanned: scanned(50) });
      const make = (repo: string, createdAtMs = 1) =>
        ledger.createRepo({ tenant, repo, createdAtMs, kind: 'files', isUnproven: true });
      const read = async (repo: string) => {
        const { kind, isUnproven } = (await ledger.readRepo({ tenant, repo })) ?? {};
        return [kind, isUnproven];
      };
      for (const repo of ['a', 'b']) for (const atMs of [1, 2]) expect(await make(repo, atMs)).toBe('done');
      expect(await read('a')).toEqual(['files', true]);
      const [ofA, ofB] = [
        { tenant, repo: 'a', createdAtMs: 1 },
        { tenant, repo: 'b', createdAtMs: 1 },
      ];
      expect(await ledger.confirmKind({ ...ofA, createdAtMs: 2 })).toBe(false);
      expect(await ledger.confirmKind(ofA)).toBe(true);
      expect([await ledger.confirmKind(ofA), await ledger.dropKind(ofA), await make('a')]).toEqual([
        false,
        false,
        'done',
      ]);
      expect(await read('a')).toEqual(['files', undefined]);
      expect(await ledger.dropKind(ofB)).toBe(true);
      expect([await ledger.confirmKind(ofB), await make('b')]).toEqual([false, 'other-kind']);
      expect(await read('b')).toEqual([undefined, undefined]);
      await make('c');
      await ledger.closeRepo({ tenant, repo: 'c', closedAtMs: 5 });
      await ledger.openRepo({ tenant, repo: 'c', closedAtMs: 5 });
      expect(await read('c')).toEqual([undefined, undefined]);
    });

    it('are marked, and unmarked object by object', async () => {
      const { tenant, key, unmark } = await put();
      expect(await unmark()).toBe('unmarked');
      expect(await deletions(tenant)).toEqual([marked]);
      expect(await unmark(oid('a'), oid('f'))).toBe('unmarked');
      expect(await unmark(oid('a'))).toBe('unmarked');
      expect(await deletions(tenant)).toEqual([{ ...marked, objects: left }]);
      const none = { ...key, deletionId: 'none', dueAtMs: 700, names: [oid('a')] };
      expect(await ledger.unmark(none)).toBe('refused');
    });

    it('name any key that a store has', async () => {
      const odd = ['__proto__', '', 'constructor', 'toString', 'a b/é', ' ', oid('a'), '__proto__/x'];
      const named = { ...marked, objects: new Map(odd.map((name, index) => [name, index])) };
      const { tenant, claim, end, unmark } = await put(named);
      expect(await deletions(tenant)).toEqual([named]);
      expect(await unmark(oid('a'))).toBe('unmarked');
      await claim(named, 1000);
      const some = new Map([...named.objects].slice(0, 3));
      await end(1000, { left: some });
      const again = { ...marked, objects: some, dueAtMs: 900, deadlineMs: 1000 };
      expect(await deletions(tenant)).toEqual([again]);
      await claim(again, 2000);
      await end(2000, { left: new Map([['constructor', 2]]) });
      expect(await deletions(tenant)).toMatchObject([{ objects: new Map([['constructor', 2]]) }]);
    });

    it('are put once: a retry does not mark again what was unmarked', async () => {
      const { tenant, unmark } = await put();
      await unmark(oid('a'));
      await ledger.putDeletion({ tenant, deletion: marked });
      expect(await deletions(tenant)).toEqual([{ ...marked, objects: left }]);
    });

    it('that empty a repo keep the time of its closing', async () => {
      const emptying = { ...marked, closedAtMs: 600, afterClosingMs: 500 };
      const { tenant, claim, end } = await put(emptying);
      expect(await deletions(tenant)).toEqual([emptying]);
      const deletion = { ...emptying, state: 'deleting', deadlineMs: 1000 };
      expect(await claim(emptying, 1000)).toEqual({ kind: 'claimed', deletion });
      await end(1000, { left });
      expect(await deletions(tenant)).toMatchObject([
        { state: 'scheduled', closedAtMs: 600, afterClosingMs: 500 },
      ]);
    });

    it('are read of one repo alone', async () => {
      const { tenant } = await put();
      const repos = ['app', 'app#', 'app#d', 'b', ''];
      for (const repo of repos) await ledger.putDeletion({ tenant, deletion: { ...marked, repo } });
      for (const repo of repos)
        expect(await allPages(ledger.deletionsOf({ tenant, repo }))).toEqual([{ ...marked, repo }]);
      expect(await deletions(tenant)).toHaveLength(5);
    });

    it('are claimed by one deleter, and cannot be unmarked after that', async () => {
      const { claim, unmark } = await put();
      const entries = await Promise.all([1000, 2000, 3000].map((deadlineMs) => claim(marked, deadlineMs)));
      const won = entries.filter(({ kind }) => kind === 'claimed');
      expect(won).toMatchObject([{ deletion: { state: 'deleting', objects } }]);
      expect(await unmark(oid('a'))).toBe('refused');
    });

    it('are taken over from a deleter that died by one alone, and the lapsed one cannot end them', async () => {
      const { tenant, claim, end } = await put();
      await claim(marked, 1000);
      const [dead] = await deletions(tenant);
      expect((await claim(dead, 2000)).kind).toBe('claimed');
      expect((await claim(dead, 3000)).kind).toBe('refused');
      await end(1000, {});
      expect(await deletions(tenant)).toMatchObject([{ state: 'deleting', deadlineMs: 2000 }]);
      await end(2000, { left });
      const again = { ...marked, objects: left, dueAtMs: 900, deadlineMs: 2000 };
      expect(await deletions(tenant)).toEqual([again]);
      await claim(again, 3000);
      await end(3000, {});
      expect(await deletions(tenant)).toEqual([]);
    });

    it('are due since they were claimed, if somebody claims them before their time', async () => {
      const { tenant, claim } = await put();
      const deletion = { ...marked, state: 'deleting', deadlineMs: 1000, dueAtMs: 400 };
      expect(await claim(marked, 1000, 400)).toEqual({ kind: 'claimed', deletion });
      expect(await deletions(tenant)).toEqual([deletion]);
      expect(await dueAt(tenant, 400)).toBe('some');
    });

    it('are claimed by nobody who read them before a run that has left some of them', async () => {
      const { tenant, claim, end } = await put();
      await claim(marked, 1000);
      await end(1000, { left });
      expect((await claim(marked, 2000)).kind).toBe('refused');
      const [again] = await deletions(tenant);
      expect(again).toEqual({ ...marked, objects: left, dueAtMs: 900, deadlineMs: 1000 });
      expect((await claim(again, 2000)).kind).toBe('claimed');
    });

    it('are gone, and are recorded by what their names begin with', async () => {
      const { tenant, claim, end } = await put();
      await claim(marked, 1000);
      const prefixes = prefixText([...objects.keys()]);
      await end(1000, { keptUntilMs: 2000, prefixes });
      const times = { dueAtMs: 2000, deadlineMs: 2000 };
      const before = { ...marked, objects: nothing, state: 'deleted', prefixes, ...times } as const;
      expect(await deletions(tenant)).toEqual([before]);
      const deletion = { ...marked, dueAtMs: 3000 };
      expect(await ledger.remark({ tenant, before, deletion })).toBe('marked');
      expect(await deletions(tenant)).toEqual([{ ...deletion, deadlineMs: 2000 }]);
    });

    it('are kept as gone while a batch may still need them, and then removed', async () => {
      const { tenant, key, claim, end, unmark } = await put();
      const remove = () => ledger.removeDeletion({ ...key, deadlineMs: 2000 });
      await remove();
      await claim(marked, 1000);
      await remove();
      await end(1000, { keptUntilMs: 2000 });
      const gone = { ...marked, state: 'deleted', dueAtMs: 2000, deadlineMs: 2000 };
      expect(await deletions(tenant)).toEqual([gone]);
      expect(await unmark(oid('a'))).toBe('refused');
      expect(await dueAt(tenant, 2000)).toBe('some');
      await remove();
      expect(await deletions(tenant)).toEqual([]);
    });

    it('make a tenant due after their grace time', async () => {
      const { tenant } = await put();
      expect([await dueAt(tenant, 699), await dueAt(tenant, 700)]).toEqual(['nothing', 'some']);
    });

    it('are announced once, with a note and the entries of what may come again, and the note is removed', async () => {
      const tenant = await create({ scanned: scanned(50) });
      const note = { repo: 'app', bytes: 30, deadlineMs: 5 };
      for (let time = 0; time < 2; time += 1)
        await ledger.announceDelete({ tenant, intentId: 'n1', note, entryCount: 3 });
      const announced = { deletedBytes: 30, committedBytes: 50, entryCount: 3 };
      expect(await ledger.readTenant(tenant)).toMatchObject({
        ...announced,
        intents: new Map([['n1', note]]),
      });
      await ledger.announceDelete({ tenant, intentId: 'n2', note });
      for (let time = 0; time < 2; time += 1) await ledger.removeIntent({ tenant, intentId: 'n1' });
      expect(await ledger.readTenant(tenant)).toMatchObject({
        deletedBytes: 60,
        entryCount: 3,
        intents: new Map([['n2', note]]),
      });
    });

    it('leave no bytes behind that a commit has read, however many were deleted before', async () => {
      const tenant = await create({ scanned: scanned(50) });
      const note = { repo: 'app', bytes: Number.MAX_SAFE_INTEGER - 30, deadlineMs: 5 };
      await ledger.announceDelete({ tenant, intentId: 'n1', note });
      const begun = await begin(tenant);
      if (begun.kind !== 'begun') throw new Error('It did not begin.');
      await ledger.announceDelete({ tenant, intentId: 'n2', note: { ...note, bytes: 30 } });
      const { deletedBytes: deletedBytesRead } = begun.before;
      for (let time = 0; time < 2; time += 1)
        await commit(tenant, 1, { deletedBytesRead, confirmedBaseBytes: 40 });
      expect(await ledger.readTenant(tenant)).toMatchObject({ deletedBytes: 30, confirmedBaseBytes: 40 });
    });

    it('of dead deleters: a commit removes their notes, and no others', async () => {
      const tenant = await create({ scanned: scanned(50) });
      const note = { repo: 'app', bytes: 1, deadlineMs: 5 };
      for (const intentId of ['n1', 'n2']) await ledger.announceDelete({ tenant, intentId, note });
      await begin(tenant);
      await commit(tenant, 1, { expiredIntents: ['n1'] });
      expect([...((await ledger.readTenant(tenant))?.intents.keys() ?? [])]).toEqual(['n2']);
    });
  });

  describe('a repo that is deleted', () => {
    const { ledger, create, dueAt } = ledgerContext(table);
    const setUp = async () => {
      const tenant = await create({ dueAtMs: 9e14 });
      const path = { tenant, repo: 'app' };
      const found = { repo: 'app', storedBytes: 3, objectCount: 1, scannedAtMs: 9, epoch: 1 };
      return {
        tenant,
        read: () => ledger.readRepo(path),
        closedAtMs: async () => (await ledger.readRepo(path))?.closedAtMs,
        close: (closedAtMs: number, more?: { isForGood: true }) =>
          ledger.closeRepo({ ...path, closedAtMs, ...more }),
        open: (closedAtMs: number) => ledger.openRepo({ ...path, closedAtMs }),
        count: (more?: object) => {
          const repo = { ...found, covered: new Set<string>(), putsUntilMs: 0, ...more };
          return ledger.commitRepo({ tenant, repo, dirtyTokenRead: null });
        },
      };
    };

    it('is closed and opened again. A scan does not change that', async () => {
      const { read, close, open, count } = await setUp();
      expect(await read()).toBeUndefined();
      for (const closedAtMs of [77, 78]) await close(closedAtMs);
      expect(await read()).toEqual({
        repo: 'app',
        storedBytes: 0,
        objectCount: 0,
        scannedAtMs: 0,
        epoch: 0,
        covered: new Set(),
        putsUntilMs: 0,
        dirtyToken: null,
        closedAtMs: 77,
      });
      const points = [{ day: '2027-03-01', storedBytes: 900 }];
      await count({ points });
      expect(await read()).toMatchObject({ closedAtMs: 77, storedBytes: 3, points });
      expect([await open(78), await open(77), await open(77)]).toEqual(['refused', 'opened', 'refused']);
      const opened = await read();
      expect(opened).toMatchObject({ closedAtMs: null, storedBytes: 3 });
      // What comes under this name has grown from nothing.
      expect(opened).not.toHaveProperty('points');
    });

    it('is not closed again if the write that closed it lands once more after it was opened', async () => {
      const { tenant, closedAtMs, close, open, count } = await setUp();
      await close(77);
      await open(77);
      for (const unconfirmed of [77, 76]) await close(unconfirmed);
      expect([await closedAtMs(), await dueAt(tenant, 9e13)]).toEqual([null, 'nothing']);
      await count();
      await close(77);
      expect(await closedAtMs()).toBeNull();
      await close(78);
      expect(await closedAtMs()).toBe(78);
      await open(78);
      await close(78, { isForGood: true });
      expect(await closedAtMs()).toBe(78);
    });

    it('makes its tenant due until it is opened', async () => {
      const { tenant, close, open } = await setUp();
      for (const closedAtMs of [700, 800]) {
        await close(closedAtMs);
        expect([await dueAt(tenant, closedAtMs - 1), await dueAt(tenant, closedAtMs)]).toEqual([
          'nothing',
          'some',
        ]);
        await open(closedAtMs);
        expect(await dueAt(tenant, 9e13)).toBe('nothing');
      }
    });
  });

  describe('a tenant that is deleted', () => {
    const { ledger, create, add, begin, commit, dueAt } = ledgerContext(table);

    it('during a reconcile is due at once: the reconcile cannot change that', async () => {
      const tenant = await create({ dueAtMs: 9e14 });
      await begin(tenant, 1000);
      await ledger.closeTenant({ tenant, closedAtMs: 1001 });
      expect(await commit(tenant, 1, { dueAtMs: 9e14 })).toEqual({ kind: 'superseded' });
      expect(await ledger.readTenant(tenant)).toMatchObject({ dueAtMs: 1001, leaseUntilMs: 0 });
      expect(await begin(tenant, 1002)).toMatchObject({ kind: 'begun' });
    });

    it('is closed for good: nothing is added to its counter after that', async () => {
      const tenant = await create({ dueAtMs: 9e14 });
      const close = async (closedAtMs: number) =>
        (await ledger.closeTenant({ tenant, closedAtMs }))?.closedAtMs;
      expect([await close(5), await dueAt(tenant, 5), await close(6)]).toEqual([5, 'all', 5]);
      expect(await add(tenant, 1)).toBe('refused');
      expect(await ledger.closeTenant({ tenant: tenantName(), closedAtMs: 5 })).toBeUndefined();
    });
  });
}
