import { beforeEach, describe, expect, it, vi } from 'vitest';
import { markObject } from '../../../../../lambda/core/ledger/deletes.ts';
import { addDeletedMeanwhile, reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { RepoReservations } from '../../../../../lambda/core/ledger/rules/repo-reservations.ts';
import type { Reservation } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import {
  confirmedBytes,
  type RepoRecord,
  type TenantRecord,
} from '../../../../../lambda/core/ledger/rules/tenant.ts';
import { runDeletions } from '../../../../../lambda/core/ledger/run-deletions.ts';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { setRepoLimit } from '../../../../support/over-settings.ts';

const hour = 60 * minute;
const deathMs = 37 * minute;

describe('a reconcile beside a delete', () => {
  it('frees the room of what may come back no further than the limit', async () => {
    const world = new MemoryStack();
    await world.create(1000);
    const slow: Record<string, number> = {};
    const upload = async (round: number) => {
      const path = `repo${round}/${oidOf(round)}`;
      const verdicts = await world.push(`repo${round}`, { [oidOf(round)]: 1000 });
      if (typeof verdicts === 'string' || verdicts.get(oidOf(round))?.kind !== 'upload') return false;
      world.put({ [path]: 1000 });
      slow[path] = 1000;
      await world.consume();
      world.nowMs += deathMs;
      await world.runSchedule();
      await markObject(world.deps, { tenant, repo: `repo${round}`, oid: oidOf(round), dryRun: false });
      world.nowMs += hour + 1;
      return true;
    };
    for (let round = 1; round <= 5; round += 1) {
      if (!(await upload(round))) continue;
      // A batch at the limit has read the reservations when the queue's run deletes, before it reads the repos.
      const { repos } = world.ledger;
      let hasDeleted = false;
      world.ledger.repos = async function* (name: string) {
        if (!hasDeleted)
          await runDeletions(world.deps, { tenant, untilMs: world.nowMs + minute, deletionCount: 0 });
        hasDeleted = true;
        yield* repos.call(world.ledger, name);
      };
      await reconcile(world.deps, { tenant, full: false, isAwaited: true });
      world.ledger.repos = repos;
    }
    expect(Object.keys(slow)).toHaveLength(2);
    world.put(slow);
    await world.pass(27 * hour);
    expect(await world.usage()).toEqual({ committedBytes: 2000, storedBytes: 2000 });
  });
});

describe('what was deleted while a reconcile read and listed', () => {
  let world: MemoryStack;
  let before: TenantRecord;
  const scan = { storedBytes: 0, objectCount: 0, seen: new Set<string>() };
  const put = async (id: string, repo: string, more: Partial<Reservation> = {}) => {
    const times = { createdAtMs: 1, expiresAtMs: 2, lapsedAtMs: 3, lookAtMs: 4 };
    const reservation: Reservation = {
      id,
      repo,
      state: 'issued',
      entries: new Map([['a', 1]]),
      ...times,
      ...more,
    };
    await world.ledger.putReservation({ tenant, reservation });
    return reservation;
  };
  const announce = () =>
    world.ledger.announceDelete({ tenant, intentId: 'n', note: { repo: 'x', bytes: 5, deadlineMs: 9 } });
  /** @returns the ids that the snapshot has afterwards, by repo. */
  const add = async (
    given: { scanned?: string[]; repos?: RepoRecord[]; known?: Reservation[]; now?: TenantRecord } = {},
  ) => {
    const reservations = new Map<string, RepoReservations>();
    for (const one of given.known ?? []) {
      const ofRepo = reservations.get(one.repo) ?? new RepoReservations();
      ofRepo.add(one);
      reservations.set(one.repo, ofRepo);
    }
    const snapshot = {
      scannedAtMs: 0,
      scanBeganMs: 0,
      hasAgedPending: false,
      repos: given.repos ?? [],
      reservations,
    };
    const scans = new Map((given.scanned ?? ['app']).map((repo) => [repo, scan]));
    await addDeletedMeanwhile(world.deps, { before: given.now ?? before, snapshot, scans });
    return Object.fromEntries(
      [...reservations].map(([repo, all]) => [
        repo,
        ['r', 'late'].filter((id) => all.ids().has(id)).join(' ') + all.count,
      ]),
    );
  };

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(100);
    before = await world.record();
    await put('late', 'app', { deletedByMs: 5 });
    await put('r', 'app');
  });

  it('is read only if a delete was announced, or was under way before', async () => {
    expect(await add()).toEqual({});
    await announce();
    expect(await add()).toEqual({ app: 'late1' });
    // It was announced before the reconcile began.
    expect(await add({ now: await world.record() })).toEqual({ app: 'late1' });
    await world.ledger.removeIntent({ tenant, intentId: 'n' });
    expect(await add({ now: await world.record() })).toEqual({});
    expect(await add()).toEqual({ app: 'late1' });
  });

  it('is read of the repos that were scanned, and costs nothing if there was none', async () => {
    await announce();
    await put('late', 'web', { deletedByMs: 5 });
    const read = vi.spyOn(world.ledger, 'readTenant');
    expect(await add({ scanned: [] })).toEqual({});
    expect(read).not.toHaveBeenCalled();
    expect(await add({ scanned: ['web', 'empty'] })).toEqual({ web: 'late1' });
  });

  it('is read of repos whose item is of a reconcile that was overtaken', async () => {
    await announce();
    const scanned = {
      storedBytes: 0,
      objectCount: 0,
      scannedAtMs: 0,
      covered: new Set<string>(),
      putsUntilMs: 0,
    };
    const repo = (epoch: number): RepoRecord => ({
      repo: 'app',
      ...scanned,
      epoch,
      dirtyToken: null,
      closedAtMs: null,
    });
    const { appliedEpoch } = before;
    expect(await add({ scanned: [], repos: [repo(appliedEpoch)] })).toEqual({});
    expect(await add({ scanned: [], repos: [repo(appliedEpoch + 1)] })).toEqual({ app: 'late1' });
  });

  it('is compared with what was read before in one go, however many deletes there were', async () => {
    for (let index = 0; index < 20; index += 1) await put(`more${index}`, 'app', { deletedByMs: 5 });
    await announce();
    const ids = vi.spyOn(RepoReservations.prototype, 'ids');
    const known = [await put('r2', 'app')];
    try {
      expect(await add({ known })).toEqual({ app: 'late22' });
      // The second and third are of this test.
      expect(ids).toHaveBeenCalledTimes(3);
    } finally {
      ids.mockRestore();
    }
  });

  it('is added once to what was read before', async () => {
    await announce();
    const known = await put('late', 'web', { deletedByMs: 5 });
    expect(await add({ scanned: ['web'], known: [known] })).toEqual({ web: 'late1' });
    const other = await put('r', 'web');
    expect(await add({ scanned: ['web'], known: [other] })).toEqual({ web: 'r late2' });
  });
});

const oid = oidOf(1);

describe('a reconcile', () => {
  let world: MemoryStack;
  const reservations = () => world.ledger.inspect(tenant).reservations;
  const reservation = () => {
    const [found] = reservations();
    if (!found) throw new Error('There is no reservation.');
    return found;
  };
  const committed = async () => (await world.record()).committedBytes;
  const floor = async () => confirmedBytes(await world.record(), world.nowMs);
  /** Something happens while the scan lists its first page. */
  const duringScan = (happen: () => void) => {
    const { listPage } = world.objects;
    vi.spyOn(world.objects, 'listPage').mockImplementationOnce(async (request) => {
      const page = await listPage.call(world.objects, request);
      happen();
      return page;
    });
  };

  beforeEach(async () => {
    world = new MemoryStack({ deleteGraceMs: 0 });
    world.put({ [`app/${oid}`]: 10, [`app/${oidOf(2)}`]: 20 });
    await world.create(100);
  });

  it('takes the bytes of a delete that is under way off its confirmed usage, because they may be gone already', async () => {
    await markObject(world.deps, { tenant, repo: 'app', oid, dryRun: false });
    world.beforeDelete = () => {
      throw new StoreUnavailableError('No answer.');
    };
    await world.consume();
    expect((await world.record()).scanned).toMatchObject({ storedBytes: 30 });
    expect(await floor()).toBe(20);
    await world.consume();
    expect(await floor()).toBe(20);
  });

  it('counts what a reservation promises if that died while the ledger was read: a batch may rely on it', async () => {
    await world.push('app', { [oidOf(3)]: 50 });
    // The run reads them once before, too.
    world.nowMs = reservation().lapsedAtMs - 40_000;
    const { ledger } = world;
    const repos = ledger.repos.bind(ledger);
    vi.spyOn(ledger, 'repos').mockImplementation(async function* (name) {
      yield* repos(name);
      world.nowMs += 30_000;
    });
    await world.consume();
    expect(await committed()).toBe(80);
    vi.restoreAllMocks();
  });

  it('counts what a reservation promises if that died during the scan: it was alive when the scan began', async () => {
    await world.push('app', { [oidOf(3)]: 50 });
    world.nowMs = reservation().lapsedAtMs;
    duringScan(() => {
      world.put({ [`app/${oidOf(3)}`]: 50 });
      world.nowMs += 1000;
    });
    await world.consume();
    expect(await committed()).toBe(80);
    expect((await world.record()).scanned).toMatchObject({ storedBytes: 30 });
    await world.consume();
    expect(await committed()).toBe(80);
    expect((await world.record()).scanned).toMatchObject({ storedBytes: 80 });
  });

  it('has a confirmed usage that ends before a reservation that it counts can be lapsed, by every clock', async () => {
    await world.push('app', { [oidOf(3)]: 50 });
    await world.consume();
    const { lapsedAtMs } = reservation();
    expect((await world.record()).confirmedUntilMs).toBe(lapsedAtMs - 2 * defaultSettings.clockSkewMs);
    expect(await floor()).toBe(80);
  });

  it('voids a reservation whose batch died, a minute after it began, and frees its bytes', async () => {
    const { issueReservation } = world.ledger;
    vi.spyOn(world.ledger, 'issueReservation').mockRejectedValueOnce(new Error('The function died.'));
    await expect(world.push('app', { [oidOf(3)]: 50 })).rejects.toThrow();
    world.nowMs += minute;
    await world.consume();
    expect([reservations().length, await committed()]).toEqual([1, 80]);
    world.nowMs += 1;
    const { id: reservationId, repo, entries } = reservation();
    await world.consume();
    expect([reservations().length, await committed()]).toEqual([0, 30]);
    const unconfirmed = { tenant, repo, reservationId, entries };
    expect(await issueReservation.call(world.ledger, unconfirmed)).toBe('gone');
  });

  it('keeps an old reservation that its batch issues before it can be voided', async () => {
    const { voidReservation, issueReservation } = world.ledger;
    vi.spyOn(world.ledger, 'issueReservation').mockRejectedValueOnce(new Error('Lost.'));
    await expect(world.push('app', { [oidOf(3)]: 50 })).rejects.toThrow();
    world.nowMs += minute + 1;
    vi.spyOn(world.ledger, 'voidReservation').mockImplementationOnce(async (input) => {
      await issueReservation.call(world.ledger, { ...input, entries: reservation().entries });
      return voidReservation.call(world.ledger, input);
    });
    await world.consume();
    expect([reservation().state, await committed()]).toEqual(['issued', 80]);
  });

  it('says that a batch has probably died if it is pending for more than two seconds', async () => {
    vi.spyOn(world.ledger, 'issueReservation').mockRejectedValueOnce(new Error('The function died.'));
    await expect(world.push('app', { [oidOf(3)]: 50 })).rejects.toThrow();
    const hasAgedPending = async () => {
      const outcome = await reconcile(world.deps, { tenant, full: false });
      return outcome.kind === 'committed' && outcome.hasAgedPending;
    };
    world.nowMs += 2000;
    expect(await hasAgedPending()).toBe(false);
    world.nowMs += 1;
    expect(await hasAgedPending()).toBe(true);
  });

  it('reads the repos after the reservations: a reservation that is covered meanwhile was seen', async () => {
    const calls: string[] = [];
    const { reservations: readReservations, repos } = world.ledger;
    world.ledger.reservations = (name) => {
      calls.push('reservations');
      return readReservations.call(world.ledger, name);
    };
    world.ledger.repos = (name) => {
      calls.push('repos');
      return repos.call(world.ledger, name);
    };
    await reconcile(world.deps, { tenant, full: false });
    expect(calls).toEqual(['reservations', 'repos']);
  });

  it('deletes what is lapsed only after the tenant is committed', async () => {
    await world.push('app', { [oidOf(3)]: 50 });
    world.put({ [`app/${oidOf(3)}`]: 50 });
    world.nowMs = reservation().lapsedAtMs + 1;
    vi.spyOn(world.ledger, 'commitTenant').mockRejectedValueOnce(new Error('The function died.'));
    await expect(reconcile(world.deps, { tenant, full: false })).rejects.toThrow('died');
    expect(reservations()).toHaveLength(1);
    await reconcile(world.deps, { tenant, full: false });
    expect(reservations()).toEqual([]);
    expect(await committed()).toBe(80);
  });

  it('tells which repos are closed, and knows no repo of which it found nothing', async () => {
    await world.ledger.closeRepo({ tenant, repo: 'app', closedAtMs: 5 });
    const outcome = await reconcile(world.deps, { tenant, full: true });
    const repos = outcome.kind === 'committed' ? outcome.repos : [];
    expect(repos.map(({ repo, closedAtMs }) => [repo, closedAtMs])).toEqual([['app', 5]]);
  });

  it('that fails gives its lease back, and is charged for what it listed', async () => {
    const { listedUntilMs, appliedEpoch } = await world.record();
    vi.spyOn(world.ledger, 'commitTenant').mockRejectedValueOnce(new Error('Lost.'));
    await expect(reconcile(world.deps, { tenant, full: true })).rejects.toThrow('Lost.');
    expect(await world.record()).toMatchObject({ leaseUntilMs: 0, appliedEpoch });
    expect((await world.record()).listedUntilMs).toBeGreaterThan(listedUntilMs);
  });

  it('is refused while another holds the lease, and for a tenant that is not there', async () => {
    const leaseUntilMs = world.nowMs + 1000;
    await world.ledger.beginReconcile({ tenant, holder: 'other', nowMs: world.nowMs, leaseUntilMs });
    expect(await reconcile(world.deps, { tenant, full: false })).toEqual({ kind: 'busy', leaseUntilMs });
    expect(await reconcile(world.deps, { tenant: 'nobody', full: false })).toEqual({ kind: 'absent' });
  });

  it('that was overtaken commits nothing', async () => {
    const before = await committed();
    await world.push('app', { [oidOf(3)]: 50 });
    duringScan(() => {
      void world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
    });
    expect(await reconcile(world.deps, { tenant, full: false })).toEqual({ kind: 'superseded' });
    expect(await committed()).toBe(before + 50);
  });

  it('is charged for its LIST requests though limits are set again and again while it lists', async () => {
    for (const limitBytes of [500, 501]) {
      const { listedUntilMs } = await world.record();
      await world.push('app', { [oidOf(limitBytes)]: 1 });
      duringScan(() => {
        void setRepoLimit(world.ledger, { tenant, repo: 'web', limitBytes });
      });
      expect(await reconcile(world.deps, { tenant, full: true })).toEqual({ kind: 'superseded' });
      const after = await world.record();
      expect(after.listedUntilMs).toBeGreaterThan(listedUntilMs);
      expect(after.repoLimits.get('web')).toMatchObject({ limitBytes });
    }
  });

  it('renews its lease once half of it is over, and stops if another took over', async () => {
    const renewed = vi.spyOn(world.ledger, 'setLease');
    const { reconcileLeaseMs } = defaultSettings;
    const { reservations: readReservations } = world.ledger;
    const pause = (durationMs: number) => {
      world.ledger.reservations = async function* (name) {
        for await (const page of readReservations.call(world.ledger, name)) {
          world.nowMs += durationMs;
          yield page;
        }
      };
    };
    pause(reconcileLeaseMs / 2 - 1);
    expect(await reconcile(world.deps, { tenant, full: false })).toMatchObject({ kind: 'committed' });
    expect(renewed).not.toHaveBeenCalled();
    pause(reconcileLeaseMs / 2);
    expect(await reconcile(world.deps, { tenant, full: false })).toMatchObject({ kind: 'committed' });
    expect(renewed.mock.calls).toMatchObject([[{ leaseUntilMs: world.nowMs + reconcileLeaseMs }]]);
    world.ledger.reservations = async function* (name) {
      for await (const page of readReservations.call(world.ledger, name)) {
        world.nowMs += 2 * reconcileLeaseMs;
        const { nowMs } = world;
        await world.ledger.beginReconcile({ holder: 'other', tenant: name, nowMs, leaseUntilMs: nowMs + 1 });
        yield page;
      }
    };
    expect(await reconcile(world.deps, { tenant, full: false })).toEqual({ kind: 'superseded' });
  });
});
