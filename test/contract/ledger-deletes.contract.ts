import { describe, expect, it } from 'vitest';
import { prefixText } from '../../lambda/domain/cleanup/prefixes.ts';
import type { Deletion } from '../../lambda/domain/deletion.ts';
import { allPages } from '../../lambda/use-cases/all-pages.ts';
import { unlimitedRepo } from '../support/tenant-record.ts';
import {
  counted,
  deletionPages,
  dueOf,
  type LedgerUnderTest,
  ledgerContext,
  oid,
  plainCommit,
  tenantName,
} from './ledger-context.ts';

export function deleteContract(open: () => Promise<LedgerUnderTest>): void {
  describe('deletes', () => {
    const { get, create } = ledgerContext(open);
    const objects = new Map([
      [oid('a'), 10],
      [oid('b'), 20],
    ]);
    const deletion = (id: string): Deletion => ({
      id,
      repo: 'app',
      state: 'marked',
      objects,
      dueAtMs: 700,
      deadlineMs: 0,
    });
    const put = async () => {
      const tenant = await create({ counted: counted(50) });
      await get().ledger.putDeletion({ tenant, deletion: deletion('d1') });
      return { tenant, key: { tenant, repo: 'app', deletionId: 'd1' } };
    };

    it('are marked, and unmarked object by object', async () => {
      const { tenant, key } = await put();
      expect(await get().ledger.unmark({ ...key, dueAtMs: 700, names: [oid('a'), oid('f')] })).toBe(
        'unmarked',
      );
      expect(await get().ledger.unmark({ ...key, dueAtMs: 700, names: [oid('a')] })).toBe('unmarked');
      expect(await allPages(get().ledger.deletions(tenant))).toEqual([
        { ...deletion('d1'), objects: new Map([[oid('b'), 20]]) },
      ]);
      expect(await get().ledger.unmark({ ...key, dueAtMs: 700, deletionId: 'none', names: [oid('a')] })).toBe(
        'refused',
      );
    });

    it('are listed a page at a time, each once, of the tenant or of one repo', async () => {
      const [tenant, other] = [await create(), await create()];
      const long = 'x'.repeat(1000);
      const names = ['', 'app', 'app#', 'app#r', 'app.x', 'apq', '\u{1f5bf}', long, `${long}y`];
      for (const repo of names)
        for (const id of ['d1', 'gc-d-2', 'd3'])
          await get().ledger.putDeletion({ tenant, deletion: { ...deletion(id), repo } });
      await get().ledger.putDeletion({ tenant: other, deletion: deletion('theirs') });
      const walk = (input: { repo?: string; pageSize: number }) =>
        allPages(deletionPages(get().ledger, { tenant, ...input }));
      const all = await allPages(get().ledger.deletions(tenant));
      expect(all).toHaveLength(27);
      for (const pageSize of [1, 2, 27, 28, 1000]) expect(await walk({ pageSize })).toEqual(all);
      for (const repo of names) {
        const found = await walk({ repo, pageSize: 2 });
        expect(found, repo).toEqual(await allPages(get().ledger.deletionsOf({ tenant, repo })));
        expect(found).toHaveLength(3);
      }
      expect(await walk({ repo: 'none', pageSize: 2 })).toEqual([]);
      const begun = await get().ledger.listDeletions({ tenant, repo: 'apq', pageSize: 2 });
      expect([begun.deletions.length, begun.next]).toEqual([2, { repo: 'apq', deletionId: 'd3' }]);
      const whole = await get().ledger.listDeletions({ tenant, repo: 'apq', pageSize: 4 });
      expect([whole.deletions.length, whole.next]).toEqual([3, null]);
      expect(await get().ledger.listDeletions({ tenant: tenantName(), pageSize: 2 })).toEqual({
        deletions: [],
        next: null,
      });
    });

    it('are listed after one that is gone, or never was, too', async () => {
      const tenant = await create();
      for (const id of ['d1', 'd3']) await get().ledger.putDeletion({ tenant, deletion: deletion(id) });
      const idsAfter = async (after: { repo: string; deletionId: string }) => {
        const page = await get().ledger.listDeletions({ tenant, after, pageSize: 5 });
        return page.deletions.map(({ id }) => id);
      };
      expect(await idsAfter({ repo: 'app', deletionId: 'd2' })).toEqual(['d3']);
      expect(await idsAfter({ repo: 'aaa', deletionId: 'd9' })).toEqual(['d1', 'd3']);
      for (const last of ['zoo', '\uffff', '\u{10ffff}'])
        expect(await idsAfter({ repo: last, deletionId: 'd0' })).toEqual([]);
    });

    it('are left as they are if no object is to be unmarked', async () => {
      const { tenant, key } = await put();
      expect(await get().ledger.unmark({ ...key, dueAtMs: 700, names: [] })).toBe('unmarked');
      expect(await allPages(get().ledger.deletions(tenant))).toEqual([deletion('d1')]);
    });

    it('are put once: a retry does not mark again what was unmarked', async () => {
      const { tenant, key } = await put();
      await get().ledger.unmark({ ...key, dueAtMs: 700, names: [oid('a')] });
      await get().ledger.putDeletion({ tenant, deletion: deletion('d1') });
      expect(await allPages(get().ledger.deletions(tenant))).toMatchObject([
        { objects: new Map([[oid('b'), 20]]) },
      ]);
    });

    it('that empty a repo keep the time of its closing', async () => {
      const tenant = await create({ counted: counted(50) });
      const emptying = { ...deletion('d1'), closedAtMs: 600, afterClosingMs: 500 };
      const key = { tenant, repo: 'app', deletionId: 'd1' };
      await get().ledger.putDeletion({ tenant, deletion: emptying });
      const read = () => allPages(get().ledger.deletions(tenant));
      expect(await read()).toEqual([emptying]);
      const claim = await get().ledger.claimDeletion({ tenant, before: emptying, deadlineMs: 1000 });
      expect(claim).toEqual({
        kind: 'claimed',
        deletion: { ...emptying, state: 'deleting', deadlineMs: 1000 },
      });
      const left = new Map([[oid('b'), 20]]);
      await get().ledger.endDeletion({ ...key, deadlineMs: 1000, left, dueAtMs: 800, keptUntilMs: null });
      expect(await read()).toMatchObject([{ state: 'marked', closedAtMs: 600, afterClosingMs: 500 }]);
    });

    it('are read of one repo alone', async () => {
      const { tenant } = await put();
      for (const repo of ['app#', 'app#d', 'b', ''])
        await get().ledger.putDeletion({ tenant, deletion: { ...deletion('d1'), repo } });
      for (const repo of ['app', 'app#', 'app#d', 'b', ''])
        expect(await allPages(get().ledger.deletionsOf({ tenant, repo }))).toEqual([
          { ...deletion('d1'), repo },
        ]);
      expect(await allPages(get().ledger.deletions(tenant))).toHaveLength(5);
    });

    it('are claimed by one deleter, and cannot be unmarked after that', async () => {
      const { tenant, key } = await put();
      const before = deletion('d1');
      const claims = await Promise.all(
        [1000, 2000, 3000].map((deadlineMs) => get().ledger.claimDeletion({ tenant, before, deadlineMs })),
      );
      const won = claims.filter((claim) => claim.kind === 'claimed');
      expect(won).toHaveLength(1);
      expect(won[0]).toMatchObject({ deletion: { state: 'deleting', objects } });
      expect(await get().ledger.unmark({ ...key, dueAtMs: 700, names: [oid('a')] })).toBe('refused');
    });

    it('are taken over from a deleter that died, which then cannot end them', async () => {
      const { tenant, key } = await put();
      await get().ledger.claimDeletion({ tenant, before: deletion('d1'), deadlineMs: 1000 });
      const [dead] = await allPages(get().ledger.deletions(tenant));
      if (!dead) throw new Error('There is no deletion.');
      expect((await get().ledger.claimDeletion({ tenant, before: dead, deadlineMs: 2000 })).kind).toBe(
        'claimed',
      );
      await get().ledger.endDeletion({
        ...key,
        deadlineMs: 1000,
        left: new Map(),
        dueAtMs: 0,
        keptUntilMs: null,
      });
      expect(await allPages(get().ledger.deletions(tenant))).toHaveLength(1);
      const left = new Map([[oid('b'), 20]]);
      await get().ledger.endDeletion({ ...key, deadlineMs: 2000, left, dueAtMs: 900, keptUntilMs: null });
      expect(await allPages(get().ledger.deletions(tenant))).toEqual([
        { ...deletion('d1'), objects: left, dueAtMs: 900, deadlineMs: 2000 },
      ]);
      const before = { ...deletion('d1'), dueAtMs: 900, deadlineMs: 2000 };
      await get().ledger.claimDeletion({ tenant, before, deadlineMs: 3000 });
      await get().ledger.endDeletion({
        ...key,
        deadlineMs: 3000,
        left: new Map(),
        dueAtMs: 0,
        keptUntilMs: null,
      });
      expect(await allPages(get().ledger.deletions(tenant))).toEqual([]);
    });

    it('are due since they were claimed, if somebody claims them before their time', async () => {
      const { tenant } = await put();
      const before = deletion('d1');
      const claim = await get().ledger.claimDeletion({ tenant, before, deadlineMs: 1000, dueAtMs: 400 });
      const claimed = { ...before, state: 'deleting', deadlineMs: 1000, dueAtMs: 400 } as const;
      expect(claim).toEqual({ kind: 'claimed', deletion: claimed });
      expect(await allPages(get().ledger.deletions(tenant))).toEqual([claimed]);
      expect(await dueOf(get().ledger, { nowMs: 400, tenantsMax: 1000 })).toContainEqual({
        tenant,
        full: false,
      });
    });

    it('are claimed by nobody who read them before a run that has left some of them', async () => {
      const { tenant, key } = await put();
      const before = deletion('d1');
      await get().ledger.claimDeletion({ tenant, before, deadlineMs: 1000 });
      const left = new Map([[oid('b'), 20]]);
      await get().ledger.endDeletion({ ...key, deadlineMs: 1000, left, dueAtMs: 900, keptUntilMs: null });
      const claim = async (of: Deletion | undefined) =>
        of && (await get().ledger.claimDeletion({ tenant, before: of, deadlineMs: 2000 })).kind;
      expect(await claim(before)).toBe('refused');
      const [marked] = await allPages(get().ledger.deletions(tenant));
      expect(marked).toEqual({ ...before, objects: left, dueAtMs: 900, deadlineMs: 1000 });
      expect(await claim(marked)).toBe('claimed');
    });

    it('are gone, and are recorded by what their names begin with', async () => {
      const { tenant, key } = await put();
      await get().ledger.claimDeletion({ tenant, before: deletion('d1'), deadlineMs: 1000 });
      const prefixes = prefixText([...objects.keys()]);
      const end = { ...key, deadlineMs: 1000, left: new Map(), dueAtMs: 0, keptUntilMs: 2000, prefixes };
      await get().ledger.endDeletion(end);
      const gone = { ...deletion('d1'), objects: new Map(), state: 'gone', prefixes } as const;
      expect(await allPages(get().ledger.deletions(tenant))).toEqual([
        { ...gone, dueAtMs: 2000, deadlineMs: 2000 },
      ]);
      const again = { ...deletion('d1'), dueAtMs: 3000 };
      const before = { ...gone, dueAtMs: 2000, deadlineMs: 2000 };
      expect(await get().ledger.remark({ tenant, before, deletion: again })).toBe('marked');
      expect(await allPages(get().ledger.deletions(tenant))).toEqual([{ ...again, deadlineMs: 2000 }]);
    });

    it('are taken over from a dead deleter by one alone', async () => {
      const { tenant } = await put();
      await get().ledger.claimDeletion({ tenant, before: deletion('d1'), deadlineMs: 1000 });
      const [dead] = await allPages(get().ledger.deletions(tenant));
      if (!dead) throw new Error('There is no deletion.');
      const takeOver = async (deadlineMs: number) =>
        (await get().ledger.claimDeletion({ tenant, before: dead, deadlineMs })).kind;
      expect([await takeOver(2000), await takeOver(3000)]).toEqual(['claimed', 'refused']);
      expect(await allPages(get().ledger.deletions(tenant))).toMatchObject([{ deadlineMs: 2000 }]);
    });

    it('are kept as gone while a batch may still need them, and then removed', async () => {
      const { tenant, key } = await put();
      await get().ledger.removeDeletion({ ...key, deadlineMs: 2000 });
      await get().ledger.claimDeletion({ tenant, before: deletion('d1'), deadlineMs: 1000 });
      await get().ledger.removeDeletion({ ...key, deadlineMs: 2000 });
      await get().ledger.endDeletion({
        ...key,
        deadlineMs: 1000,
        left: new Map(),
        dueAtMs: 0,
        keptUntilMs: 2000,
      });
      const gone = { ...deletion('d1'), state: 'gone', dueAtMs: 2000, deadlineMs: 2000 } as const;
      expect(await allPages(get().ledger.deletions(tenant))).toEqual([gone]);
      expect(await get().ledger.unmark({ ...key, dueAtMs: 700, names: [oid('a')] })).toBe('refused');
      const due = await dueOf(get().ledger, { nowMs: 2000, tenantsMax: 1000 });
      expect(due).toContainEqual({ tenant, full: false });
      await get().ledger.removeDeletion({ ...key, deadlineMs: 2000 });
      expect(await allPages(get().ledger.deletions(tenant))).toEqual([]);
    });

    it('make a tenant due after their grace time', async () => {
      const { tenant } = await put();
      expect(await dueOf(get().ledger, { nowMs: 699, tenantsMax: 1000 })).not.toContainEqual({
        tenant,
        full: false,
      });
      expect(await dueOf(get().ledger, { nowMs: 700, tenantsMax: 1000 })).toContainEqual({
        tenant,
        full: false,
      });
    });

    it('are announced once, with a note, and the note is removed', async () => {
      const tenant = await create({ counted: counted(50) });
      const note = { repo: 'app', bytes: 30, deadlineMs: 5 };
      await get().ledger.announceDelete({ tenant, noteId: 'n1', note });
      await get().ledger.announceDelete({ tenant, noteId: 'n1', note });
      const notes = new Map([['n1', note]]);
      expect(await get().ledger.readTenant(tenant)).toMatchObject({
        deletedBytes: 30,
        notes,
        committedBytes: 50,
        claimCount: 0,
      });
      await get().ledger.removeNote({ tenant, noteId: 'n1' });
      await get().ledger.removeNote({ tenant, noteId: 'n1' });
      expect(await get().ledger.readTenant(tenant)).toMatchObject({ deletedBytes: 30, notes: new Map() });
    });

    it('leave no bytes behind that a commit has read, however many were deleted before', async () => {
      const tenant = await create({ counted: counted(50) });
      const note = { repo: 'app', bytes: Number.MAX_SAFE_INTEGER - 30, deadlineMs: 5 };
      await get().ledger.announceDelete({ tenant, noteId: 'n1', note });
      const times = { nowMs: 1, leaseUntilMs: 2 };
      const begun = await get().ledger.beginReconcile({ tenant, holder: 'h', ...times });
      if (begun.kind !== 'begun') throw new Error('It did not begin.');
      await get().ledger.announceDelete({ tenant, noteId: 'n2', note: { ...note, bytes: 30 } });
      const { epoch, before } = begun;
      const commit = {
        ...plainCommit,
        expiredNotes: [],
        dueAtMs: 9e15,
        deletedBytesRead: before.deletedBytes,
      };
      for (let time = 0; time < 2; time += 1)
        await get().ledger.commitTenant({ tenant, epoch, ...commit, floorBaseBytes: 40 });
      expect(await get().ledger.readTenant(tenant)).toMatchObject({ deletedBytes: 30, floorBaseBytes: 40 });
    });

    it('are announced once with the reservation that is made of them, and its claims', async () => {
      const tenant = await create();
      const announce = { tenant, noteId: 'n1', note: { repo: 'app', bytes: 30, deadlineMs: 5 } };
      for (let time = 0; time < 2; time += 1)
        await get().ledger.announceDelete({ ...announce, claimCount: 3 });
      expect((await get().ledger.readTenant(tenant))?.claimCount).toBe(3);
    });

    it('of dead deleters: a commit removes their notes, and no others', async () => {
      const tenant = await create({ counted: counted(50) });
      for (const noteId of ['n1', 'n2']) {
        await get().ledger.announceDelete({ tenant, noteId, note: { repo: 'app', bytes: 1, deadlineMs: 5 } });
      }
      await get().ledger.beginReconcile({ tenant, holder: 'h1', nowMs: 1000, leaseUntilMs: 2000 });
      await get().ledger.commitTenant({
        tenant,
        epoch: 1,
        ...plainCommit,
        expiredNotes: ['n1'],
        dueAtMs: 9e15,
      });
      expect([...((await get().ledger.readTenant(tenant))?.notes.keys() ?? [])]).toEqual(['n2']);
    });

    it('close a repo and open it again. A scan does not change that', async () => {
      const tenant = await create();
      const path = { tenant, repo: 'app' };
      expect(await get().ledger.readRepo(path)).toBeUndefined();
      await get().ledger.closeRepo({ ...path, closedAtMs: 77 });
      await get().ledger.closeRepo({ ...path, closedAtMs: 78 });
      expect(await get().ledger.readRepo(path)).toEqual({
        repo: 'app',
        storedBytes: 0,
        objectCount: 0,
        countedAtMs: 0,
        epoch: 0,
        covered: new Set(),
        putsUntilMs: 0,
        dirtyToken: null,
        closedAtMs: 77,
      });
      const found = { repo: 'app', storedBytes: 3, objectCount: 1, countedAtMs: 9, epoch: 1 };
      const points = [{ day: '2027-03-01', storedBytes: 900 }];
      await get().ledger.commitRepo({
        tenant,
        repo: { ...found, covered: new Set(), putsUntilMs: 0, points },
        dirtyTokenRead: null,
      });
      expect(await get().ledger.readRepo(path)).toMatchObject({ closedAtMs: 77, storedBytes: 3, points });
      expect(await get().ledger.openRepo({ ...path, closedAtMs: 78 })).toBe('refused');
      expect(await get().ledger.openRepo({ ...path, closedAtMs: 77 })).toBe('opened');
      expect(await get().ledger.openRepo({ ...path, closedAtMs: 77 })).toBe('refused');
      const opened = await get().ledger.readRepo(path);
      expect(opened).toMatchObject({ closedAtMs: null, storedBytes: 3 });
      // What comes under this name has grown from nothing.
      expect(opened).not.toHaveProperty('points');
    });

    it('do not close a repo again if the write that closed it lands once more after it was opened', async () => {
      const tenant = await create({ dueAtMs: 9e14 });
      const path = { tenant, repo: 'app' };
      const closedAtMs = async () => (await get().ledger.readRepo(path))?.closedAtMs;
      await get().ledger.closeRepo({ ...path, closedAtMs: 77 });
      await get().ledger.openRepo({ ...path, closedAtMs: 77 });
      for (const late of [77, 76]) await get().ledger.closeRepo({ ...path, closedAtMs: late });
      expect(await closedAtMs()).toBeNull();
      expect(await dueOf(get().ledger, { nowMs: 9e13, tenantsMax: 1000 })).not.toContainEqual(
        expect.objectContaining({ tenant }),
      );
      const repo = { repo: 'app', storedBytes: 3, objectCount: 1, countedAtMs: 9, epoch: 1 };
      const commit = { ...repo, covered: new Set<string>(), putsUntilMs: 0 };
      await get().ledger.commitRepo({ tenant, repo: commit, dirtyTokenRead: null });
      await get().ledger.closeRepo({ ...path, closedAtMs: 77 });
      expect(await closedAtMs()).toBeNull();
      await get().ledger.closeRepo({ ...path, closedAtMs: 78 });
      expect(await closedAtMs()).toBe(78);
      await get().ledger.openRepo({ ...path, closedAtMs: 78 });
      await get().ledger.closeRepo({ ...path, closedAtMs: 78, isForGood: true });
      expect(await closedAtMs()).toBe(78);
    });

    it('of a repo make its tenant due until the repo is opened', async () => {
      const tenant = await create({ dueAtMs: 9e14 });
      const isDue = async (nowMs: number) => {
        const due = await dueOf(get().ledger, { nowMs, tenantsMax: 1000 });
        return due.some((found) => found.tenant === tenant && !found.full);
      };
      const path = { tenant, repo: 'app' };
      for (const closedAtMs of [700, 800]) {
        await get().ledger.closeRepo({ ...path, closedAtMs });
        expect([await isDue(closedAtMs - 1), await isDue(closedAtMs)]).toEqual([false, true]);
        await get().ledger.openRepo({ ...path, closedAtMs });
        expect(await isDue(9e13)).toBe(false);
      }
    });

    it('close a tenant during a reconcile, which then cannot change when the tenant is due', async () => {
      const tenant = await create({ dueAtMs: 9e14 });
      await get().ledger.beginReconcile({ tenant, holder: 'h1', nowMs: 1000, leaseUntilMs: 16_000 });
      await get().ledger.closeTenant({ tenant, closedAtMs: 1001 });
      const commit = { tenant, ...plainCommit, expiredNotes: [], dueAtMs: 9e14 };
      expect(await get().ledger.commitTenant({ ...commit, epoch: 1 })).toEqual({ kind: 'superseded' });
      expect(await get().ledger.readTenant(tenant)).toMatchObject({ dueAtMs: 1001, leaseUntilMs: 0 });
      expect(
        await get().ledger.beginReconcile({ tenant, holder: 'h2', nowMs: 1002, leaseUntilMs: 9000 }),
      ).toMatchObject({
        kind: 'begun',
      });
    });

    it('close a tenant for good: nothing is added to its counter after that', async () => {
      const tenant = await create({ dueAtMs: 9e14 });
      expect((await get().ledger.closeTenant({ tenant, closedAtMs: 5 }))?.closedAtMs).toBe(5);
      expect(await dueOf(get().ledger, { nowMs: 5, tenantsMax: 1000 })).toContainEqual({
        tenant,
        full: true,
      });
      expect((await get().ledger.closeTenant({ tenant, closedAtMs: 6 }))?.closedAtMs).toBe(5);
      expect(
        (await get().ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 1, limitBytes: 100 })).kind,
      ).toBe('refused');
      expect(await get().ledger.closeTenant({ tenant: tenantName(), closedAtMs: 5 })).toBeUndefined();
    });
  });
}
