import { beforeAll, describe, expect, it } from 'vitest';
import type { Deletion } from '../../lambda/domain/deletion.ts';
import type { Reservation } from '../../lambda/domain/reservation.ts';
import type { Ledger, RepoCommit, TenantCommit } from '../../lambda/ports/ledger.ts';
import type { TokenRecord, TokenStore } from '../../lambda/ports/token-store.ts';

export interface LedgerUnderTest {
  readonly ledger: Ledger;
  readonly tokens: TokenStore;
}

let serial = 0;
const tenantName = () => `t${Date.now().toString(36)}${process.pid}${serial++}`;
const oid = (digit: string) => digit.repeat(64);

function reservation(id: string, more: Partial<Reservation> = {}): Reservation {
  return {
    id,
    repo: 'app',
    state: 'pending',
    claims: new Map([[oid('a'), 10]]),
    createdAtMs: 1000,
    expiresAtMs: 2000,
    deadAtMs: 3000,
    ...more,
  };
}

const counted = (storedBytes: number) => ({ storedBytes, objectCount: 1, countedAtMs: 5000 });

async function collect<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) all.push(...page);
  return all;
}

/** What every ledger must do, whatever it stands on. */
export function ledgerContract(open: () => Promise<LedgerUnderTest>): void {
  let ledger: Ledger;
  let tokens: TokenStore;
  beforeAll(async () => {
    ({ ledger, tokens } = await open());
  });

  const create = async (more: Partial<Parameters<Ledger['createTenant']>[0]> = {}) => {
    const tenant = tenantName();
    const base = { tenant, plan: null, limitBytes: 100, createdAtMs: 1, counted: counted(0), dueAtMs: 9e15 };
    expect(await ledger.createTenant({ ...base, ...more })).toBe('created');
    return tenant;
  };

  describe('tenants', () => {
    it('reads back what was created, and refuses to create it again', async () => {
      const tenant = await create({ plan: 'pro', counted: counted(7) });
      const again = { tenant, plan: null, limitBytes: null, createdAtMs: 2, counted: null, dueAtMs: 0 };
      expect(await ledger.createTenant(again)).toBe('exists');
      expect(await ledger.readTenant(tenant)).toEqual({
        tenant,
        plan: 'pro',
        limitBytes: 100,
        createdAtMs: 1,
        committedBytes: 7,
        epoch: 0,
        appliedEpoch: 0,
        floorBaseBytes: 7,
        floorUntilMs: Number.MAX_SAFE_INTEGER,
        deletedBytes: 0,
        notes: new Map(),
        counted: counted(7),
        leaseUntilMs: 0,
        closedAtMs: null,
      });
    });

    it('answers undefined for a tenant that is absent', async () => {
      expect(await ledger.readTenant(tenantName())).toBeUndefined();
      expect(await ledger.updateTenant(tenantName(), { limitBytes: 1 })).toBeUndefined();
    });

    it('keeps the largest safe integer exact', async () => {
      const tenant = await create({ limitBytes: Number.MAX_SAFE_INTEGER });
      const sumBytes = Number.MAX_SAFE_INTEGER;
      expect(await ledger.count({ tenant, sumBytes, limitBytes: Number.MAX_SAFE_INTEGER })).toEqual({
        kind: 'counted',
      });
      expect((await ledger.readTenant(tenant))?.committedBytes).toBe(Number.MAX_SAFE_INTEGER);
    });

    it('changes and lifts the limit', async () => {
      const tenant = await create();
      expect((await ledger.updateTenant(tenant, { limitBytes: 5 }))?.limitBytes).toBe(5);
      expect((await ledger.updateTenant(tenant, { limitBytes: null, plan: 'p' }))?.limitBytes).toBeNull();
      expect((await ledger.readTenant(tenant))?.plan).toBe('p');
    });

    it('lists by name, a page at a time', async () => {
      const names = [await create(), await create(), await create()].sort();
      const all: string[] = [];
      let after: string | undefined;
      for (;;) {
        const page = await ledger.listTenants({ pageSize: 2, ...(after && { after }) });
        all.push(...page.map((tenant) => tenant.tenant));
        after = page.at(-1)?.tenant;
        if (page.length < 2) break;
      }
      expect(all.filter((name) => names.includes(name))).toEqual(names);
      expect(all).toEqual([...new Set(all)].sort());
    });
  });

  describe('count', () => {
    it('adds up to the limit and not one byte beyond', async () => {
      const tenant = await create();
      expect((await ledger.count({ tenant, sumBytes: 60, limitBytes: 100 })).kind).toBe('counted');
      expect((await ledger.count({ tenant, sumBytes: 41, limitBytes: 100 })).kind).toBe('refused');
      expect((await ledger.count({ tenant, sumBytes: 40, limitBytes: 100 })).kind).toBe('counted');
      expect((await ledger.readTenant(tenant))?.committedBytes).toBe(100);
    });

    it('refuses where the limit is not the one that was read, and tells the tenant as it is', async () => {
      const tenant = await create();
      await ledger.updateTenant(tenant, { limitBytes: 50 });
      const outcome = await ledger.count({ tenant, sumBytes: 1, limitBytes: 100 });
      expect(outcome).toMatchObject({ kind: 'refused', tenant: { limitBytes: 50, committedBytes: 0 } });
      await ledger.updateTenant(tenant, { limitBytes: null });
      expect((await ledger.count({ tenant, sumBytes: 1, limitBytes: 50 })).kind).toBe('refused');
      expect((await ledger.count({ tenant, sumBytes: 1, limitBytes: null })).kind).toBe('counted');
    });

    it('admits nothing below a limit while usage was never counted; without one it does', async () => {
      const tenant = await create({ counted: null });
      expect((await ledger.count({ tenant, sumBytes: 1, limitBytes: 100 })).kind).toBe('refused');
      await ledger.updateTenant(tenant, { limitBytes: null });
      expect((await ledger.count({ tenant, sumBytes: 1, limitBytes: null })).kind).toBe('counted');
    });

    it('refuses a sum beyond 2^53 − 1 rather than rounding it', async () => {
      const tenant = await create({ limitBytes: null, counted: counted(10) });
      const sumBytes = Number.MAX_SAFE_INTEGER;
      expect((await ledger.count({ tenant, sumBytes, limitBytes: null })).kind).toBe('refused');
    });

    it('answers absent for a tenant that is absent', async () => {
      expect(await ledger.count({ tenant: tenantName(), sumBytes: 1, limitBytes: 1 })).toEqual({
        kind: 'absent',
      });
    });

    it('of many at once admits exactly what fits', async () => {
      const tenant = await create({ limitBytes: 100 });
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, () => ledger.count({ tenant, sumBytes: 10, limitBytes: 100 })),
      );
      expect(outcomes.filter((outcome) => outcome.kind === 'counted')).toHaveLength(10);
      expect((await ledger.readTenant(tenant))?.committedBytes).toBe(100);
    });
  });

  describe('reservations', () => {
    it('are pending, then issued with what was admitted', async () => {
      const tenant = await create();
      const claims = new Map([
        [oid('a'), 10],
        [oid('b'), 0],
      ]);
      await ledger.putReservation({ tenant, reservation: reservation('r1', { claims }) });
      const id = { tenant, reservationId: 'r1' };
      expect(await ledger.readReservation(id)).toEqual(reservation('r1', { claims }));
      const admitted = new Map([[oid('b'), 0]]);
      expect(await ledger.issueReservation({ ...id, claims: admitted })).toBe('issued');
      expect(await collect(ledger.reservations(tenant))).toEqual([
        reservation('r1', { state: 'issued', claims: admitted }),
      ]);
    });

    it('are put once: a retry changes nothing, not even an issued one', async () => {
      const tenant = await create();
      await ledger.putReservation({ tenant, reservation: reservation('r1') });
      await ledger.issueReservation({ tenant, reservationId: 'r1', claims: new Map() });
      await ledger.putReservation({ tenant, reservation: reservation('r1') });
      expect((await ledger.readReservation({ tenant, reservationId: 'r1' }))?.state).toBe('issued');
    });

    it('are not re-created by an issue', async () => {
      const tenant = await create();
      const id = { tenant, reservationId: 'gone' };
      expect(await ledger.issueReservation({ ...id, claims: new Map() })).toBe('gone');
      expect(await ledger.readReservation(id)).toBeUndefined();
    });

    it('are voided only while pending', async () => {
      const tenant = await create();
      await ledger.putReservation({ tenant, reservation: reservation('p') });
      await ledger.putReservation({ tenant, reservation: reservation('i') });
      await ledger.issueReservation({ tenant, reservationId: 'i', claims: new Map() });
      expect(await ledger.voidReservation({ tenant, reservationId: 'p' })).toBe('gone');
      expect(await ledger.voidReservation({ tenant, reservationId: 'p' })).toBe('gone');
      expect(await ledger.voidReservation({ tenant, reservationId: 'i' })).toBe('issued');
      expect((await collect(ledger.reservations(tenant))).map(({ id }) => id)).toEqual(['i']);
    });

    it('are deleted in any state, and that is told once', async () => {
      const tenant = await create();
      await ledger.putReservation({ tenant, reservation: reservation('r1') });
      expect(await ledger.deleteReservation({ tenant, reservationId: 'r1' })).toBe('deleted');
      expect(await ledger.deleteReservation({ tenant, reservationId: 'r1' })).toBe('absent');
    });

    it('are read on every page, and only the tenant’s own', async () => {
      const [tenant, other] = [await create(), await create()];
      const claims = new Map(
        Array.from({ length: 1000 }, (_, index) => [index.toString(16).padStart(64, '0'), index]),
      );
      const ids = Array.from({ length: 30 }, (_, index) => `r${String(index).padStart(3, '0')}`);
      for (const id of ids) await ledger.putReservation({ tenant, reservation: reservation(id, { claims }) });
      await ledger.putReservation({ tenant: other, reservation: reservation('theirs') });
      const found = await collect(ledger.reservations(tenant));
      expect(found.map(({ id }) => id).sort()).toEqual(ids);
      expect(found[0]?.claims).toEqual(claims);
    });
  });

  describe('reconcile', () => {
    const begin = (tenant: string, nowMs: number) =>
      ledger.beginReconcile({ tenant, nowMs, leaseUntilMs: nowMs + 15_000 });
    const commit = (tenant: string, epoch: number, more: Partial<TenantCommit> = {}): TenantCommit => ({
      tenant,
      epoch,
      correctionBytes: 0,
      floorBaseBytes: 0,
      floorUntilMs: 1,
      counted: counted(3),
      expiredNotes: [],
      dueAtMs: null,
      ...more,
    });

    it('takes the next epoch, one at a time, and tells the tenant as it was before', async () => {
      const tenant = await create({ counted: counted(4) });
      expect(await begin(tenant, 1000)).toMatchObject({
        kind: 'begun',
        epoch: 1,
        before: { epoch: 0, committedBytes: 4, leaseUntilMs: 0 },
      });
      expect(await begin(tenant, 15_999)).toEqual({ kind: 'busy', leaseUntilMs: 16_000 });
      expect(await begin(tenant, 16_000)).toMatchObject({ kind: 'begun', epoch: 2 });
      expect(await begin(tenantName(), 1)).toEqual({ kind: 'absent' });
    });

    it('renews and releases the lease only while the epoch is its own', async () => {
      const tenant = await create();
      await begin(tenant, 1000);
      expect(await ledger.setLease({ tenant, epoch: 1, leaseUntilMs: 0 })).toBe('ours');
      expect(await begin(tenant, 1001)).toMatchObject({ kind: 'begun', epoch: 2 });
      expect(await ledger.setLease({ tenant, epoch: 1, leaseUntilMs: 9e12 })).toBe('superseded');
      expect((await ledger.readTenant(tenant))?.leaseUntilMs).toBe(16_001);
    });

    it('corrects the counter by a difference, and keeps what was counted meanwhile', async () => {
      const tenant = await create({ counted: counted(50) });
      await begin(tenant, 1000);
      await ledger.count({ tenant, sumBytes: 7, limitBytes: 100 });
      const outcome = await ledger.commitTenant(
        commit(tenant, 1, { correctionBytes: 30 - 50, floorBaseBytes: 30, floorUntilMs: 77 }),
      );
      expect(outcome).toMatchObject({
        kind: 'committed',
        tenant: {
          committedBytes: 37,
          appliedEpoch: 1,
          floorBaseBytes: 30,
          floorUntilMs: 77,
          counted: counted(3),
          leaseUntilMs: 0,
        },
      });
    });

    it('is applied once, however often it is sent', async () => {
      const tenant = await create({ counted: counted(50) });
      await begin(tenant, 1000);
      const once = commit(tenant, 1, { correctionBytes: -20 });
      expect((await ledger.commitTenant(once)).kind).toBe('committed');
      expect((await ledger.commitTenant(once)).kind).toBe('committed');
      expect((await ledger.readTenant(tenant))?.committedBytes).toBe(30);
    });

    it('gives up where a later one began', async () => {
      const tenant = await create({ counted: counted(50) });
      await begin(tenant, 1000);
      await begin(tenant, 100_000);
      expect((await ledger.commitTenant(commit(tenant, 1, { correctionBytes: -20 }))).kind).toBe(
        'superseded',
      );
      expect((await ledger.commitTenant(commit(tenant, 2))).kind).toBe('committed');
      expect((await ledger.readTenant(tenant))?.committedBytes).toBe(50);
    });

    const repoCommit = (epoch: number, more: Partial<RepoCommit> = {}): RepoCommit => ({
      repo: 'app',
      storedBytes: 3,
      objectCount: 1,
      countedAtMs: 9,
      epoch,
      covered: new Set(['r1']),
      ...more,
    });
    const write = (tenant: string, repo: RepoCommit, dirtyTokenRead: string | null = null) =>
      ledger.commitRepo({ tenant, repo, dirtyTokenRead });

    it('writes a repo once per epoch, and never an older one over a newer', async () => {
      const tenant = await create();
      expect(await write(tenant, repoCommit(2))).toBe('committed');
      expect(await write(tenant, repoCommit(2))).toBe('committed');
      expect(await write(tenant, repoCommit(1))).toBe('superseded');
      expect(await write(tenant, repoCommit(3, { covered: new Set() }))).toBe('committed');
      expect(await collect(ledger.repos(tenant))).toEqual([
        { ...repoCommit(3, { covered: new Set() }), dirtyToken: null, closedAtMs: null },
      ]);
    });

    it('clears only the dirty mark that it read', async () => {
      const tenant = await create();
      await ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'd1' });
      expect(await collect(ledger.repos(tenant))).toMatchObject([
        { repo: 'app', epoch: 0, dirtyToken: 'd1' },
      ]);
      expect(await write(tenant, repoCommit(1))).toBe('superseded');
      expect(await write(tenant, repoCommit(1), 'd1')).toBe('committed');
      await ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'd2' });
      expect(await write(tenant, repoCommit(2), 'd1')).toBe('superseded');
      expect(await write(tenant, repoCommit(2), 'd2')).toBe('committed');
      expect((await collect(ledger.repos(tenant)))[0]?.dirtyToken).toBeNull();
    });

    it('keeps a repo with any name, the empty one too', async () => {
      const tenant = await create();
      for (const repo of ['', 'a b', 'ä/%', '.']) await write(tenant, repoCommit(1, { repo }));
      const names = (await collect(ledger.repos(tenant))).map((record) => record.repo);
      expect(names.sort()).toEqual(['', '.', 'a b', 'ä/%'].sort());
    });
  });

  describe('deletes', () => {
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
      await ledger.putDeletion({ tenant, deletion: deletion('d1') });
      return { tenant, key: { tenant, repo: 'app', deletionId: 'd1' } };
    };

    it('are marked, and unmarked object by object', async () => {
      const { tenant, key } = await put();
      expect(await ledger.unmark({ ...key, names: [oid('a'), oid('f')] })).toBe('unmarked');
      expect(await ledger.unmark({ ...key, names: [oid('a')] })).toBe('unmarked');
      expect(await collect(ledger.deletions(tenant))).toEqual([
        { ...deletion('d1'), objects: new Map([[oid('b'), 20]]) },
      ]);
      expect(await ledger.unmark({ ...key, deletionId: 'none', names: [oid('a')] })).toBe('refused');
    });

    it('are claimed by one; what is claimed is unmarked no more', async () => {
      const { tenant, key } = await put();
      const before = deletion('d1');
      const claims = await Promise.all(
        [1000, 2000, 3000].map((deadlineMs) => ledger.claimDeletion({ tenant, before, deadlineMs })),
      );
      const won = claims.filter((claim) => claim.kind === 'claimed');
      expect(won).toHaveLength(1);
      expect(won[0]).toMatchObject({ deletion: { state: 'deleting', objects } });
      expect(await ledger.unmark({ ...key, names: [oid('a')] })).toBe('refused');
    });

    it('are taken over from a deleter that died, which then can end nothing', async () => {
      const { tenant, key } = await put();
      await ledger.claimDeletion({ tenant, before: deletion('d1'), deadlineMs: 1000 });
      const [dead] = await collect(ledger.deletions(tenant));
      if (!dead) throw new Error('The deletion is gone.');
      expect((await ledger.claimDeletion({ tenant, before: dead, deadlineMs: 2000 })).kind).toBe('claimed');
      await ledger.endDeletion({ ...key, deadlineMs: 1000, left: new Map(), dueAtMs: 0, keptUntilMs: null });
      expect(await collect(ledger.deletions(tenant))).toHaveLength(1);
      const left = new Map([[oid('b'), 20]]);
      await ledger.endDeletion({ ...key, deadlineMs: 2000, left, dueAtMs: 900, keptUntilMs: null });
      expect(await collect(ledger.deletions(tenant))).toEqual([
        { ...deletion('d1'), objects: left, dueAtMs: 900 },
      ]);
      await ledger.claimDeletion({ tenant, before: deletion('d1'), deadlineMs: 3000 });
      await ledger.endDeletion({ ...key, deadlineMs: 3000, left: new Map(), dueAtMs: 0, keptUntilMs: null });
      expect(await collect(ledger.deletions(tenant))).toEqual([]);
    });

    it('are kept as gone where a batch may still ask, and then removed', async () => {
      const { tenant, key } = await put();
      await ledger.removeDeletion(key);
      await ledger.claimDeletion({ tenant, before: deletion('d1'), deadlineMs: 1000 });
      await ledger.removeDeletion(key);
      await ledger.endDeletion({ ...key, deadlineMs: 1000, left: new Map(), dueAtMs: 0, keptUntilMs: 2000 });
      const gone = { ...deletion('d1'), state: 'gone', dueAtMs: 2000, deadlineMs: 2000 } as const;
      expect(await collect(ledger.deletions(tenant))).toEqual([gone]);
      expect(await ledger.unmark({ ...key, names: [oid('a')] })).toBe('refused');
      const due = await ledger.dueTenants({ nowMs: 2000, tenantsMax: 1000 });
      expect(due).toContainEqual({ tenant, full: false });
      await ledger.removeDeletion(key);
      expect(await collect(ledger.deletions(tenant))).toEqual([]);
    });

    it('make a tenant due when their grace is over', async () => {
      const { tenant } = await put();
      expect(await ledger.dueTenants({ nowMs: 699, tenantsMax: 1000 })).not.toContainEqual({
        tenant,
        full: false,
      });
      expect(await ledger.dueTenants({ nowMs: 700, tenantsMax: 1000 })).toContainEqual({
        tenant,
        full: false,
      });
    });

    it('are announced once, with a note, and the note is removed', async () => {
      const tenant = await create({ counted: counted(50) });
      const note = { repo: 'app', bytes: 30, deadlineMs: 5 };
      await ledger.announceDelete({ tenant, noteId: 'n1', note });
      await ledger.announceDelete({ tenant, noteId: 'n1', note });
      const notes = new Map([['n1', note]]);
      expect(await ledger.readTenant(tenant)).toMatchObject({ deletedBytes: 30, notes, committedBytes: 50 });
      await ledger.removeNote({ tenant, noteId: 'n1' });
      await ledger.removeNote({ tenant, noteId: 'n1' });
      expect(await ledger.readTenant(tenant)).toMatchObject({ deletedBytes: 30, notes: new Map() });
    });

    it('of died deleters: a commit removes the notes that it was told to', async () => {
      const tenant = await create({ counted: counted(50) });
      for (const noteId of ['n1', 'n2']) {
        await ledger.announceDelete({ tenant, noteId, note: { repo: 'app', bytes: 1, deadlineMs: 5 } });
      }
      await ledger.beginReconcile({ tenant, nowMs: 1000, leaseUntilMs: 2000 });
      const values = { correctionBytes: 0, floorBaseBytes: 0, floorUntilMs: 1, counted: counted(3) };
      await ledger.commitTenant({ tenant, epoch: 1, ...values, expiredNotes: ['n1'], dueAtMs: null });
      expect([...((await ledger.readTenant(tenant))?.notes.keys() ?? [])]).toEqual(['n2']);
    });

    it('close a repo and open it again; a scan leaves that as it is', async () => {
      const tenant = await create();
      const path = { tenant, repo: 'app' };
      expect(await ledger.readRepo(path)).toBeUndefined();
      await ledger.closeRepo({ ...path, closedAtMs: 77 });
      await ledger.closeRepo({ ...path, closedAtMs: 78 });
      expect(await ledger.readRepo(path)).toMatchObject({ repo: 'app', closedAtMs: 77, epoch: 0 });
      const found = { repo: 'app', storedBytes: 3, objectCount: 1, countedAtMs: 9, epoch: 1 };
      await ledger.commitRepo({ tenant, repo: { ...found, covered: new Set() }, dirtyTokenRead: null });
      expect(await ledger.readRepo(path)).toMatchObject({ closedAtMs: 77, storedBytes: 3 });
      expect(await ledger.openRepo({ ...path, closedAtMs: 78 })).toBe('refused');
      expect(await ledger.openRepo({ ...path, closedAtMs: 77 })).toBe('opened');
      expect(await ledger.openRepo({ ...path, closedAtMs: 77 })).toBe('refused');
      expect(await ledger.readRepo(path)).toMatchObject({ closedAtMs: null, storedBytes: 3 });
    });

    it('that close a repo make its tenant due until it is opened', async () => {
      const tenant = await create({ dueAtMs: 9e14 });
      const isDue = async (nowMs: number) => {
        const due = await ledger.dueTenants({ nowMs, tenantsMax: 1000 });
        return due.some((found) => found.tenant === tenant && !found.full);
      };
      const path = { tenant, repo: 'app' };
      for (const closedAtMs of [700, 800]) {
        await ledger.closeRepo({ ...path, closedAtMs });
        expect([await isDue(closedAtMs - 1), await isDue(closedAtMs)]).toEqual([false, true]);
        await ledger.openRepo({ ...path, closedAtMs });
        expect(await isDue(9e13)).toBe(false);
      }
    });

    it('close a tenant for good: it counts nothing more', async () => {
      const tenant = await create({ dueAtMs: 9e14 });
      expect((await ledger.closeTenant({ tenant, closedAtMs: 5 }))?.closedAtMs).toBe(5);
      expect(await ledger.dueTenants({ nowMs: 5, tenantsMax: 1000 })).toContainEqual({ tenant, full: true });
      expect((await ledger.closeTenant({ tenant, closedAtMs: 6 }))?.closedAtMs).toBe(5);
      expect((await ledger.count({ tenant, sumBytes: 1, limitBytes: 100 })).kind).toBe('refused');
      expect(await ledger.closeTenant({ tenant: tenantName(), closedAtMs: 5 })).toBeUndefined();
    });
  });

  describe('due tenants', () => {
    it('are those never counted in full for too long, and those with a dead reservation', async () => {
      const fresh = await create({ dueAtMs: 9e14 });
      const old = await create({ dueAtMs: 500 });
      const withDead = await create({ dueAtMs: 9e14 });
      await ledger.putReservation({ tenant: withDead, reservation: reservation('r', { deadAtMs: 400 }) });
      const found = await ledger.dueTenants({ nowMs: 1000, tenantsMax: 1000 });
      const due = found.map(({ tenant }) => tenant);
      expect(found).toContainEqual({ tenant: old, full: true });
      expect(found).toContainEqual({ tenant: withDead, full: false });
      expect(due).toContain(old);
      expect(due).toContain(withDead);
      expect(due).not.toContain(fresh);
      expect(due.indexOf(withDead)).toBeLessThan(due.indexOf(old));
      expect(await ledger.dueTenants({ nowMs: 1000, tenantsMax: 1 })).toHaveLength(1);
    });

    it('are no longer due after a full count', async () => {
      const tenant = await create({ dueAtMs: 10 });
      await ledger.beginReconcile({ tenant, nowMs: 1000, leaseUntilMs: 2000 });
      const values = { correctionBytes: 0, floorBaseBytes: 0, floorUntilMs: 1, counted: counted(3) };
      await ledger.commitTenant({ tenant, epoch: 1, ...values, expiredNotes: [], dueAtMs: 8e14 });
      expect(await ledger.dueTenants({ nowMs: 1000, tenantsMax: 1000 })).not.toContainEqual({
        tenant,
        full: true,
      });
    });
  });

  describe('tokens', () => {
    const token = (tenant: string, tokenId: string, more: Partial<TokenRecord> = {}): TokenRecord => ({
      tokenId,
      secretSha256: 'ab',
      tenant,
      scope: 'read',
      label: null,
      createdAtMs: 1,
      ...more,
    });

    it('are found, listed by age, and deleted only as the tenant’s own', async () => {
      const tenant = tenantName();
      const [first, second] = [`a${tenant}`, `b${tenant}`];
      expect(await tokens.put(token(tenant, second, { createdAtMs: 2, label: 'x', scope: 'write' }))).toBe(
        'created',
      );
      expect(await tokens.put(token(tenant, first))).toBe('created');
      expect(await tokens.put(token(tenant, first))).toBe('exists');
      expect(await tokens.find(first)).toEqual(token(tenant, first));
      expect((await tokens.list(tenant)).map(({ tokenId }) => tokenId)).toEqual([first, second]);
      expect(await tokens.delete({ tenant: 'other', tokenId: first })).toBe('absent');
      expect(await tokens.delete({ tenant, tokenId: first })).toBe('deleted');
      expect(await tokens.find(first)).toBeUndefined();
      expect(await tokens.delete({ tenant, tokenId: first })).toBe('absent');
    });
  });
}
