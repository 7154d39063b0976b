import { describe, expect, it } from 'vitest';
import { newCleanup, tidiedCleanup } from '../../lambda/domain/cleanup/cleanup.ts';
import type { Watch } from '../../lambda/domain/cleanup/watch.ts';
import { allPages } from '../../lambda/use-cases/all-pages.ts';
import { counted, dueOf, type LedgerUnderTest, ledgerContext, oid, tenantName } from './ledger-context.ts';

const watchOf = (id: string, openedAtMs: number): Watch => ({ id, openedAtMs, untilMs: openedAtMs + 1000 });

export function cleanupContract(open: () => Promise<LedgerUnderTest>): void {
  describe('the watch of a repo', () => {
    const { get, create } = ledgerContext(open);
    const setUp = async () => {
      const tenant = await create({ counted: counted(50) });
      const path = { tenant, repo: 'app' };
      const { ledger } = get();
      const open = (watch: Watch, nowMs = watch.openedAtMs) => ledger.openWatch({ ...path, watch, nowMs });
      const read = async () => (await ledger.readRepo(path))?.watch;
      return { ledger, path, open, read };
    };

    it('opens once: whoever opens it again finds the one that is open', async () => {
      const { open, read } = await setUp();
      expect(await open(watchOf('w1', 100))).toEqual({ kind: 'open', watch: watchOf('w1', 100) });
      expect(await open(watchOf('w1', 100))).toEqual({ kind: 'open', watch: watchOf('w1', 100) });
      expect(await open(watchOf('w2', 200))).toEqual({ kind: 'open', watch: watchOf('w1', 100) });
      expect(await read()).toEqual(watchOf('w1', 100));
    });

    it('never opens again once it has ended, however late it is written', async () => {
      const { ledger, path, open, read } = await setUp();
      await open(watchOf('w1', 100));
      await ledger.closeWatch({ ...path, watch: watchOf('w1', 100) });
      expect(await read()).toBeUndefined();
      expect(await open(watchOf('w1', 100))).toEqual({ kind: 'refused' });
      expect(await open(watchOf('w0', 99))).toEqual({ kind: 'refused' });
      expect(await open(watchOf('w2', 101))).toEqual({ kind: 'open', watch: watchOf('w2', 101) });
    });

    it('ends only if it is the one that is open', async () => {
      const { ledger, path, open, read } = await setUp();
      await open(watchOf('w1', 100));
      await ledger.closeWatch({ ...path, watch: watchOf('w0', 90) });
      expect(await read()).toEqual(watchOf('w1', 100));
      await ledger.closeWatch({ ...path, watch: watchOf('w1', 100) });
      await ledger.closeWatch({ ...path, watch: watchOf('w1', 100) });
      await ledger.closeWatch({ ...path, repo: 'none', watch: watchOf('w1', 100) });
      expect(await ledger.readRepo({ ...path, repo: 'none' })).toBeUndefined();
    });

    it('is replaced once its time is over, by a newer one', async () => {
      const { open, read } = await setUp();
      await open(watchOf('w1', 100));
      expect(await open(watchOf('w2', 1100), 1100)).toEqual({ kind: 'open', watch: watchOf('w1', 100) });
      expect(await open(watchOf('w0', 50), 1101)).toEqual({ kind: 'refused' });
      expect(await open(watchOf('w2', 1101), 1101)).toEqual({ kind: 'open', watch: watchOf('w2', 1101) });
      expect(await open(watchOf('w1', 100), 1102)).toEqual({ kind: 'open', watch: watchOf('w2', 1101) });
      expect(await read()).toEqual(watchOf('w2', 1101));
    });

    it('stays when its repo is counted, closed and opened', async () => {
      const { ledger, path, open, read } = await setUp();
      await open(watchOf('w1', 100));
      const { tenant } = path;
      const repo = { repo: 'app', epoch: 1, ...counted(3), covered: new Set<string>(), putsUntilMs: 0 };
      expect(await ledger.commitRepo({ tenant, repo, dirtyTokenRead: null })).toBe('committed');
      await ledger.closeRepo({ ...path, closedAtMs: 300 });
      await ledger.openRepo({ ...path, closedAtMs: 300 });
      await ledger.markDirty({ ...path, dirtyToken: 'd' });
      expect(await read()).toEqual(watchOf('w1', 100));
      await ledger.closeWatch({ ...path, watch: watchOf('w1', 100) });
      const next = { ...repo, epoch: 2 };
      expect(await ledger.commitRepo({ tenant, repo: next, dirtyTokenRead: 'd' })).toBe('committed');
      expect(await ledger.readRepo(path)).toMatchObject({ endedWatchMs: 100, epoch: 2 });
      expect(await open(watchOf('w1', 100))).toEqual({ kind: 'refused' });
    });
  });

  describe('what batches note', () => {
    const { get, create } = ledgerContext(open);

    it('is read as a whole, or from a time on, for its watch alone', async () => {
      const tenant = await create();
      const { ledger } = get();
      const watch = watchOf(`w${tenantName()}`, 100);
      const note = (beganMs: number, noteId: string) =>
        ledger.noteSeen({ tenant, watch, noteId, note: { beganMs, prefixes: `p-${noteId}` } });
      for (const [beganMs, id] of [
        [9, 'a'],
        [10, 'b'],
        [10, 'c'],
        [1_800_000_000_000, 'd'],
      ] as const)
        await note(beganMs, id);
      await note(10, 'b');
      await ledger.noteSeen({
        tenant,
        watch: { ...watch, id: 'another' },
        noteId: 'x',
        note: { beganMs: 10, prefixes: 'no' },
      });
      const read = async (fromMs: number) =>
        (await allPages(ledger.seen({ tenant, watchId: watch.id, fromMs }))).map(({ prefixes }) => prefixes);
      expect(await read(0)).toEqual(['p-a', 'p-b', 'p-c', 'p-d']);
      expect(await read(-5)).toEqual(['p-a', 'p-b', 'p-c', 'p-d']);
      expect(await read(10)).toEqual(['p-b', 'p-c', 'p-d']);
      expect(await read(11)).toEqual(['p-d']);
      expect(await read(1_800_000_000_001)).toEqual([]);
    });
  });

  describe('the clean-up of a repo', () => {
    const { get, create } = ledgerContext(open);

    it('is written over the version that was read', async () => {
      const tenant = await create();
      const { ledger } = get();
      const cleanup = newCleanup({ repo: 'app', watch: watchOf('w1', 100) });
      expect(await ledger.readCleanup({ tenant, repo: 'app' })).toBeUndefined();
      expect(await ledger.putCleanup({ tenant, cleanup, versionRead: null, writeId: 'id1' })).toEqual({
        ...cleanup,
        version: 1,
      });
      expect(await ledger.putCleanup({ tenant, cleanup, versionRead: null, writeId: 'id2' })).toBeUndefined();
      expect(await ledger.readCleanup({ tenant, repo: 'app' })).toEqual({ ...cleanup, version: 1 });
      const run = {
        id: 'r',
        requestedAtMs: 1,
        keepCount: 2,
        keepSha256: 'ab',
        isDryRun: false,
        isForced: true,
        minAgeMs: 3,
      };
      const sum = { objectCount: 1, bytes: 2 };
      const selection = {
        folder: 'f',
        files: 3,
        seenAtMs: 4,
        listed: sum,
        kept: sum,
        young: sum,
        inUse: sum,
        candidates: sum,
        largest: [{ oid: oid('a'), sizeBytes: 2 }],
      };
      const failure = { reason: 'too-much', message: 'Half.' } as const;
      const progress = { file: 1, line: 250, deleted: sum };
      const full = {
        ...cleanup,
        state: 'deleting',
        run,
        selection,
        failure,
        progress,
        endedAtMs: 9,
      } as const;
      expect(await ledger.putCleanup({ tenant, cleanup: full, versionRead: 1, writeId: 'id3' })).toEqual({
        ...full,
        version: 2,
      });
      expect(await ledger.putCleanup({ tenant, cleanup, versionRead: 1, writeId: 'id4' })).toBeUndefined();
      expect(await ledger.readCleanup({ tenant, repo: 'app' })).toEqual({ ...full, version: 2 });
      const selecting = { found: selection, after: ['', 'ab', null], atMs: 5 };
      const step = { ...full, state: 'selecting', selection: null, selecting } as const;
      await ledger.putCleanup({ tenant, cleanup: step, versionRead: 2, writeId: 'id5' });
      expect(await ledger.readCleanup({ tenant, repo: 'app' })).toEqual({ ...step, version: 3 });
      const after = { ...full, selecting: undefined };
      await ledger.putCleanup({ tenant, cleanup: after, versionRead: 3, writeId: 'id6' });
      expect(await ledger.readCleanup({ tenant, repo: 'app' })).toEqual({ ...full, version: 4 });
    });

    it('answers our own retry as it did before', async () => {
      const tenant = await create();
      const cleanup = newCleanup({ repo: 'app', watch: watchOf('w1', 100) });
      const input = { tenant, cleanup, versionRead: null, writeId: 'again' };
      const put = await get().ledger.putCleanup(input);
      expect(put).toBeDefined();
      expect(await get().ledger.putCleanup(input)).toEqual(put);
    });

    it('makes its tenant due until nothing is left to be done', async () => {
      const tenant = await create({ dueAtMs: 9e15 });
      const { ledger } = get();
      const cleanup = { ...newCleanup({ repo: 'app', watch: watchOf('w1', 100) }), dueAtMs: 40 };
      const isDue = async () =>
        (await dueOf(ledger, { nowMs: 50, tenantsMax: 1000 })).some((due) => due.tenant === tenant);
      await ledger.putCleanup({ tenant, cleanup, versionRead: null, writeId: 'id5' });
      expect(await isDue()).toBe(true);
      await ledger.putCleanup({ tenant, cleanup: tidiedCleanup(cleanup), versionRead: 1, writeId: 'id6' });
      expect(await isDue()).toBe(false);
    });
  });

  describe('what a clean-up has deleted', () => {
    const { get, create } = ledgerContext(open);

    it('is remembered with its last time, for its repo alone', async () => {
      const tenant = await create();
      const { ledger } = get();
      const path = { tenant, repo: 'app' };
      const many = Array.from({ length: 120 }, (_, index) => index.toString(16).padStart(64, '0'));
      await ledger.noteGone({ ...path, oids: [oid('a'), ...many], atMs: 100 });
      await ledger.noteGone({ ...path, oids: [oid('a')], atMs: 200 });
      const gone = await ledger.goneOf({ ...path, oids: [oid('a'), oid('b'), ...many] });
      expect(gone.size).toBe(121);
      expect([gone.get(oid('a')), gone.get(many[7] ?? '')]).toEqual([200, 100]);
      expect(await ledger.goneOf({ tenant, repo: 'other', oids: [oid('a')] })).toEqual(new Map());
      expect(await ledger.goneOf({ ...path, oids: [] })).toEqual(new Map());
    });

    it('is forgotten by name', async () => {
      const tenant = await create();
      const { ledger } = get();
      const path = { tenant, repo: 'app' };
      const oids = [oid('a'), oid('b')];
      await ledger.noteGone({ ...path, oids, atMs: 100 });
      await ledger.forgetGone({ ...path, oid: oid('a') });
      await ledger.forgetGone({ ...path, oid: oid('c') });
      expect(await ledger.goneOf({ ...path, oids })).toEqual(new Map([[oid('b'), 100]]));
    });
  });
}
