import { beforeEach, describe, expect, it, vi } from 'vitest';
import { RepoReservations } from '../../../../../lambda/domain/repo-reservations.ts';
import type { Reservation } from '../../../../../lambda/domain/reservation.ts';
import type { RepoRecord, TenantRecord } from '../../../../../lambda/domain/tenant.ts';
import { markObject } from '../../../../../lambda/use-cases/deletes/delete-objects.ts';
import { runDeletions } from '../../../../../lambda/use-cases/deletes/run-deletions.ts';
import { addDeletedMeanwhile } from '../../../../../lambda/use-cases/recounts/deleted-meanwhile.ts';
import { reconcile } from '../../../../../lambda/use-cases/recounts/reconcile.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

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
    const times = { createdAtMs: 1, expiresAtMs: 2, deadAtMs: 3, lookAtMs: 4 };
    const reservation: Reservation = {
      id,
      repo,
      state: 'issued',
      claims: new Map([['a', 1]]),
      ...times,
      ...more,
    };
    await world.ledger.putReservation({ tenant, reservation });
    return reservation;
  };
  const announce = () =>
    world.ledger.announceDelete({ tenant, noteId: 'n', note: { repo: 'x', bytes: 5, deadlineMs: 9 } });
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
      countedAtMs: 0,
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
    await world.ledger.removeNote({ tenant, noteId: 'n' });
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
    const counted = {
      storedBytes: 0,
      objectCount: 0,
      countedAtMs: 0,
      covered: new Set<string>(),
      putsUntilMs: 0,
    };
    const repo = (epoch: number): RepoRecord => ({
      repo: 'app',
      ...counted,
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
