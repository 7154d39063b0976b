import { describe, expect, it } from 'vitest';
import type { Watch } from '../../lambda/core/ledger/rules/watch.ts';
import { allPages } from '../../lambda/core/rules/async.ts';
import { ledgerContext, type OpenTable, oid, scanned, tenantName } from './ledger-context.ts';

const watchOf = (id: string, openedAtMs: number): Watch => ({ id, openedAtMs, untilMs: openedAtMs + 1000 });

/** What batches note of a repo while it is watched. */
export function watchContract(table: OpenTable): void {
  describe('the watch of a repo', () => {
    const { ledger, create } = ledgerContext(table);
    const setUp = async () => {
      const tenant = await create({ scanned: scanned(50) });
      const path = { tenant, repo: 'app' };
      const open = (watch: Watch, nowMs = watch.openedAtMs) => ledger.openWatch({ ...path, watch, nowMs });
      const read = async () => (await ledger.readRepo(path))?.watch;
      const close = (watch: Watch) => ledger.closeWatch({ ...path, watch });
      return { path, open, close, read };
    };

    it('opens once: whoever opens it again finds the one that is open', async () => {
      const { open, read } = await setUp();
      expect(await open(watchOf('w1', 100))).toEqual({ kind: 'open', watch: watchOf('w1', 100) });
      expect(await open(watchOf('w1', 100))).toEqual({ kind: 'open', watch: watchOf('w1', 100) });
      expect(await open(watchOf('w2', 200))).toEqual({ kind: 'open', watch: watchOf('w1', 100) });
      expect(await read()).toEqual(watchOf('w1', 100));
    });

    it('never opens again once it has ended, however late it is written', async () => {
      const { open, close, read } = await setUp();
      await open(watchOf('w1', 100));
      await close(watchOf('w1', 100));
      expect(await read()).toBeUndefined();
      expect(await open(watchOf('w1', 100))).toEqual({ kind: 'refused' });
      expect(await open(watchOf('w0', 99))).toEqual({ kind: 'refused' });
      expect(await open(watchOf('w2', 101))).toEqual({ kind: 'open', watch: watchOf('w2', 101) });
    });

    it('ends only if it is the one that is open', async () => {
      const { path, open, close, read } = await setUp();
      await open(watchOf('w1', 100));
      await close(watchOf('w0', 90));
      expect(await read()).toEqual(watchOf('w1', 100));
      await close(watchOf('w1', 100));
      await close(watchOf('w1', 100));
      await ledger.closeWatch({ ...path, repo: 'none', watch: watchOf('w1', 100) });
      expect(await ledger.readRepo({ ...path, repo: 'none' })).toBeUndefined();
    });

    it('is in the way of others until it is closed, also once its time is over', async () => {
      const { open, close, read } = await setUp();
      await open(watchOf('w1', 100));
      expect(await open(watchOf('w2', 1100), 1100)).toEqual({ kind: 'open', watch: watchOf('w1', 100) });
      expect(await open(watchOf('w2', 1101), 1101)).toEqual({ kind: 'refused' });
      expect(await read()).toEqual(watchOf('w1', 100));
      await close(watchOf('w1', 100));
      expect(await open(watchOf('w2', 1101), 1101)).toEqual({ kind: 'open', watch: watchOf('w2', 1101) });
    });

    it('is replaced by a newer one that knows it has ended', async () => {
      const { path, open, read } = await setUp();
      const over = async (watch: Watch, id: string) =>
        ledger.openWatch({ ...path, watch, nowMs: watch.openedAtMs, over: id });
      await open(watchOf('w1', 100));
      expect(await over(watchOf('w2', 200), 'w0')).toEqual({ kind: 'open', watch: watchOf('w1', 100) });
      expect(await over(watchOf('w2', 100), 'w1')).toEqual({ kind: 'open', watch: watchOf('w1', 100) });
      expect(await over(watchOf('w2', 200), 'w1')).toEqual({ kind: 'open', watch: watchOf('w2', 200) });
      expect(await over(watchOf('w3', 300), 'w1')).toEqual({ kind: 'open', watch: watchOf('w2', 200) });
      expect(await read()).toEqual(watchOf('w2', 200));
    });

    it('stays when its repo is counted, closed and opened', async () => {
      const { path, open, close, read } = await setUp();
      await open(watchOf('w1', 100));
      const { tenant } = path;
      const repo = { repo: 'app', epoch: 1, ...scanned(3), covered: new Set<string>(), putsUntilMs: 0 };
      expect(await ledger.commitRepo({ tenant, repo, dirtyTokenRead: null })).toBe('committed');
      await ledger.closeRepo({ ...path, closedAtMs: 300 });
      await ledger.openRepo({ ...path, closedAtMs: 300 });
      await ledger.markDirty({ ...path, dirtyToken: 'd' });
      expect(await read()).toEqual(watchOf('w1', 100));
      await close(watchOf('w1', 100));
      const next = { ...repo, epoch: 2 };
      expect(await ledger.commitRepo({ tenant, repo: next, dirtyTokenRead: 'd' })).toBe('committed');
      expect(await ledger.readRepo(path)).toMatchObject({ endedWatchMs: 100, epoch: 2 });
      expect(await open(watchOf('w1', 100))).toEqual({ kind: 'refused' });
    });
  });

  describe('what batches note', () => {
    const { ledger, create } = ledgerContext(table);

    it('is read as a whole, or from a time on, for its watch alone', async () => {
      const tenant = await create();
      const watch = watchOf(`w${tenantName()}`, 100);
      const note = (beganMs: number, intentId: string) =>
        ledger.noteSeen({ tenant, watch, intentId, note: { beganMs, prefixes: `p-${intentId}` } });
      await note(9, 'a');
      for (const id of ['b', 'c', 'b']) await note(10, id);
      await note(1_800_000_000_000, 'd');
      const another = { ...watch, id: 'another' };
      await ledger.noteSeen({ tenant, watch: another, intentId: 'x', note: { beganMs: 10, prefixes: 'no' } });
      const read = async (fromMs: number) =>
        (await allPages(ledger.seen({ tenant, watchId: watch.id, fromMs }))).map(({ prefixes }) => prefixes);
      expect(await read(0)).toEqual(['p-a', 'p-b', 'p-c', 'p-d']);
      expect(await read(-5)).toEqual(['p-a', 'p-b', 'p-c', 'p-d']);
      expect(await read(10)).toEqual(['p-b', 'p-c', 'p-d']);
      expect(await read(11)).toEqual(['p-d']);
      expect(await read(1_800_000_000_001)).toEqual([]);
    });
  });

  describe('what a gc run has deleted', () => {
    const { ledger, create } = ledgerContext(table);

    it('is remembered with its last time, for its repo alone', async () => {
      const tenant = await create();
      const path = { tenant, repo: 'app' };
      const many = Array.from({ length: 120 }, (_, index) => index.toString(16).padStart(64, '0'));
      await ledger.noteGone({ ...path, oids: [oid('a'), ...many], atMs: 100 });
      await ledger.noteGone({ ...path, oids: [oid('a'), oid('c')], atMs: 200, rule: '30/3' });
      await ledger.noteGone({ ...path, oids: [oid('c')], atMs: 300 });
      const gone = await ledger.goneOf({ ...path, oids: [oid('a'), oid('b'), oid('c'), ...many] });
      expect(gone.size).toBe(122);
      const [a, c, one] = [oid('a'), oid('c'), many[7] ?? ''].map((each) => gone.get(each));
      expect([a, c, one]).toEqual([{ atMs: 200, rule: '30/3' }, { atMs: 300 }, { atMs: 100 }]);
      expect(await ledger.goneOf({ tenant, repo: 'other', oids: [oid('a')] })).toEqual(new Map());
      expect(await ledger.goneOf({ ...path, oids: [] })).toEqual(new Map());
    });
  });
}
