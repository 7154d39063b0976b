import { beforeEach, describe, expect, it, vi } from 'vitest';
import { markObject } from '../../../../../lambda/core/ledger/deletes.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const [oid, two, three] = [oidOf(1), oidOf(2), oidOf(3)];
const hour = 60 * minute;
const repo = 'game';
const path = { tenant, repo };

let world: MemoryStack;
const mark = (more: { oid?: string; dryRun?: boolean } = {}) =>
  markObject(world.deps, { ...path, oid, dryRun: false, ...more });
const start = async (deleteGraceMs = hour) => {
  world = new MemoryStack({ deleteGraceMs });
  world.put({ [`game/${oid}`]: 10, [`game/${two}`]: 20, [`art/${oid}`]: 10 });
  await world.create(100);
};
const later = async (durationMs: number) => {
  world.nowMs += durationMs;
  await world.consume();
};
const hasIt = async () => (await world.keys()).includes(`game/${oid}`);

beforeEach(() => start());

describe('an object that is marked for deletion', () => {
  it('must be stored', async () => {
    expect(await mark({ oid: three })).toBeUndefined();
    expect(await world.deletions()).toEqual([]);
  });

  it('is not changed by a dry run, which says what would be freed, and when', async () => {
    const plan = { objectCount: 1, bytes: 10, dueAtMs: world.nowMs + hour, waitsFor: null };
    expect(await mark({ dryRun: true })).toEqual(plan);
    expect([await world.deletions(), world.requests]).toEqual([[], []]);
    expect(await mark()).toEqual(plan);
  });

  const lifeMs = 36 * minute + 10_001;
  it.each([
    [
      'waits for a live reservation that claims it, if that lives longer than the grace time',
      lifeMs - 1,
      'uploads',
    ],
    ['waits for nothing if the reservation is dead at the very end of the grace time', lifeMs, null],
  ])('%s', async (_, graceMs, waitsFor) => {
    await start(graceMs);
    await world.upload(repo, { [three]: 10 });
    const plan = { objectCount: 1, bytes: 10, dueAtMs: world.nowMs + lifeMs, waitsFor };
    expect(await mark({ oid: three })).toEqual(plan);
    // One that claims something else changes nothing, and neither does the time.
    world.nowMs += 10 * minute;
    await world.push(repo, { [oidOf(4)]: 20 });
    expect(await mark({ oid: three })).toEqual(plan);
  });

  const emptyAndOpen = async () => {
    await world.ledger.closeRepo({ ...path, closedAtMs: world.nowMs });
    await later(0);
    await later(2 * minute);
    world.put({ [`game/${oid}`]: 10 });
  };

  it('stays if the mark is written only after its repo was emptied and opened', async () => {
    const writes = vi.spyOn(world.ledger, 'putDeletion').mockResolvedValueOnce(true);
    await mark();
    const [unconfirmed] = writes.mock.calls;
    if (!unconfirmed) throw new Error('Nothing was marked.');
    await emptyAndOpen();
    await world.ledger.putDeletion(...unconfirmed);
    await later(hour);
    expect([await hasIt(), await world.deletions()]).toEqual([true, []]);
    await mark();
    await later(hour);
    expect(await hasIt()).toBe(false);
  });

  it('is marked anew beside a mark from before its repo was emptied, which deletes nothing', async () => {
    await mark();
    const before = await world.deletion();
    await emptyAndOpen();
    await world.ledger.putDeletion({ tenant, deletion: { ...before, id: 'late' } });
    expect(await mark()).toMatchObject({ dueAtMs: world.nowMs + hour });
    await later(hour);
    expect(await world.keys()).toEqual([`art/${oid}`]);
  });

  it('is deleted when its grace time is over, and the freed bytes show at once', async () => {
    await mark();
    await later(hour - 1);
    expect([await hasIt(), await world.isDue()]).toEqual([true, false]);
    world.nowMs += 1;
    expect(await world.isDue()).toBe(true);
    await world.consume();
    expect(await world.keys()).toEqual([`art/${oid}`, `game/${two}`]);
    const gone = await world.ledger.goneOf({ ...path, oids: [oid, two] });
    expect(gone).toEqual(new Map([[oid, { atMs: world.nowMs }]]));
    expect(await world.record()).toMatchObject({
      scanned: { storedBytes: 30, objectCount: 2 },
      committedBytes: 30,
      intents: new Map(),
    });
    // Kept for as long as a batch can run, because it may have asked the store before.
    expect(await world.deletions()).toMatchObject([{ state: 'deleted' }]);
    world.nowMs += minute;
    expect(await world.isDue()).toBe(true);
    await world.consume();
    expect([await world.deletions(), await world.isDue()]).toEqual([[], false]);
  });

  it('is announced and expected to come back before its bytes go, is marked as changed after that, and only then loses its note', async () => {
    // A URL of it was used today.
    await world.upload(repo, { [three]: 5 });
    await world.consume();
    await later(hour);
    await mark({ oid: three });
    world.nowMs += hour;
    const steps: string[] = [];
    for (const name of [
      'claimDeletion',
      'noteGone',
      'announceDelete',
      'putReservation',
      'markDirty',
      'removeIntent',
      'endDeletion',
    ] as const) {
      const method: (input: never) => Promise<unknown> = world.ledger[name];
      vi.spyOn(world.ledger, name).mockImplementation(async (input: unknown) => {
        steps.push(name);
        return (await method.call(world.ledger, input as never)) as never;
      });
    }
    world.beforeDelete = () => {
      steps.push('the bytes');
      expect(world.reservations).toMatchObject([{ entries: new Map([[three, 5]]) }]);
    };
    await world.consume();
    expect(steps.join(', ')).toBe(
      'claimDeletion, noteGone, announceDelete, putReservation, the bytes, markDirty, removeIntent, endDeletion',
    );
  });

  it('can be pushed and deleted again right after it was deleted', async () => {
    await mark();
    await later(hour);
    world.put({ [`game/${oid}`]: 10 });
    expect(await world.deletions()).toMatchObject([{ state: 'deleted' }]);
    expect(await mark()).toMatchObject({ dueAtMs: world.nowMs + hour });
    expect(await world.deletions()).toMatchObject([{ id: `~${oid}`, state: 'scheduled' }]);
    await world.consume();
    expect(await hasIt()).toBe(true);
    await later(hour);
    expect(await hasIt()).toBe(false);
  });

  it('keeps the record of what is gone if the object was there only before that', async () => {
    await mark();
    await later(hour);
    const head = vi.spyOn(world.deps.store, 'head');
    head.mockResolvedValueOnce({ sizeBytes: 10, lastModifiedMs: 1, sha256: undefined });
    expect(await mark()).toBeUndefined();
    expect(head).toHaveBeenCalledTimes(2);
    expect(await world.deletions()).toMatchObject([{ state: 'deleted' }]);
  });

  it.each([
    ['later', 10 * minute],
    ['at once', 0],
  ])(
    'that a batch has kept goes after all if a person asks again %s: what was meant for the first mark is refused',
    async (_, afterMs) => {
      await mark();
      const first = await world.deletion();
      await world.push(repo, { [oid]: 10 });
      world.nowMs += afterMs;
      // It is due later than the mark before, however soon it is marked again.
      expect(await mark()).toMatchObject({ dueAtMs: first.dueAtMs + Math.max(afterMs, 1) });
      const { id: deletionId, dueAtMs } = first;
      expect(await world.ledger.unmark({ ...path, deletionId, dueAtMs, names: [oid] })).toBe('refused');
      await expect(world.entry(first)).rejects.toThrow('not as it was read');
      await later(hour + 1);
      expect(await hasIt()).toBe(false);
    },
  );

  it('is marked beside a record that a run claims before it can be used again', async () => {
    await mark();
    await world.push(repo, { [oid]: 10 });
    world.beforeNext('remark', async (input) => {
      const deadlineMs = world.nowMs + minute;
      await world.ledger.claimDeletion({ tenant, before: input.before, deadlineMs, dueAtMs: world.nowMs });
    });
    const dueAtMs = world.nowMs + hour;
    expect(await mark()).toMatchObject({ dueAtMs });
    const marked = (await world.deletions()).filter(({ state }) => state === 'scheduled');
    expect(marked).toMatchObject([{ objects: new Map([[oid, 10]]), dueAtMs }]);
    await later(hour);
    expect(await hasIt()).toBe(false);
  });

  it('is marked once more beside what a run has begun that names it no more', async () => {
    await mark();
    await world.push(repo, { [oid]: 10 });
    const empty = await world.deletion();
    world.nowMs += hour;
    await world.entry(empty);
    await mark();
    const found = (await world.deletions()).map(({ id, state }) => `${id.slice(0, 1)} ${state}`);
    expect(found).toContain('~ deleting');
    await later(hour);
    expect(await hasIt()).toBe(false);
  });

  it('is marked beside a gc run that names it, and goes though that ends before', async () => {
    const watch = { id: 'w', openedAtMs: world.nowMs, untilMs: world.nowMs + 24 * hour };
    await world.ledger.openWatch({ ...path, watch, nowMs: world.nowMs });
    const sweep = { watchId: 'w', seenFromMs: world.nowMs };
    await world.mark({ [oid]: 10 }, { id: 'gc-1', repo, sweep, dueAtMs: world.nowMs + 2 * hour });
    expect(await mark()).toMatchObject({ dueAtMs: world.nowMs + hour });
    expect((await world.deletions()).map(({ id }) => id)).toEqual(['gc-1', `~${oid}`]);
    await world.ledger.closeWatch({ ...path, watch });
    await later(2 * hour);
    expect(await hasIt()).toBe(false);
  });

  it('is not marked beside ten thousand others, until a reconcile has found fewer', async () => {
    await world.ledger.countDeletions({ tenant, difference: 9999 });
    expect(await mark()).toMatchObject({ bytes: 10 });
    world.nowMs += minute;
    expect(await mark({ oid: two })).toBe('full');
    expect(await world.deletions()).toHaveLength(1);
    expect(world.requests).toEqual([{ tenant, reason: 'delete', full: false }]);
    await world.consume();
    expect(await world.record()).toMatchObject({ deletionCount: 1 });
    expect(await mark({ oid: two })).toMatchObject({ bytes: 20 });
    await later(hour);
    await later(2 * minute);
    expect(await world.record()).toMatchObject({ deletionCount: 0 });
  });

  it('is deleted at once if there is no grace time', async () => {
    await start(0);
    await mark();
    expect(world.requests).toEqual([{ tenant, reason: 'delete', full: false }]);
    await world.consume();
    expect(await hasIt()).toBe(false);
  });

  it('keeps its time when it is marked again; after that time a reconcile is requested again', async () => {
    const first = await mark();
    world.nowMs += 10 * minute;
    expect(await mark()).toEqual(first);
    expect(await world.deletions()).toHaveLength(1);
    world.nowMs += hour;
    expect(await mark({ dryRun: true })).toEqual(first);
    expect(world.requests).toEqual([]);
    expect(await mark()).toEqual(first);
    expect(world.requests).toHaveLength(1);
  });

  it('is kept if it is pushed again before its time, but not by a push to another repo', async () => {
    await mark();
    await mark({ oid: two });
    expect(await world.kinds(repo, { [oid]: 10 })).toBe('stored');
    expect(await world.kinds('art', { [two]: 20 })).toBe('upload');
    await later(hour);
    expect(await world.keys()).toEqual([`art/${oid}`, `game/${oid}`]);
    await later(2 * minute);
    expect((await world.deletions()).flatMap(({ objects }) => [...objects])).toEqual([]);
  });

  it('is kept while an upload URL for it may be used, and is deleted after that', async () => {
    await start(0);
    await world.upload(repo, { [three]: 5 });
    for (const each of [three, two]) await mark({ oid: each });
    await world.consume();
    expect(await world.keys()).toEqual([`art/${oid}`, `game/${oid}`, `game/${three}`]);
    const lapsedAtMs = world.reservations[0]?.lapsedAtMs ?? 0;
    const held = (await world.deletions()).find(({ state }) => state === 'scheduled');
    expect(held).toMatchObject({ objects: new Map([[three, 5]]), dueAtMs: lapsedAtMs });
    await later(lapsedAtMs + 1 - world.nowMs);
    expect(await world.keys()).toEqual([`art/${oid}`, `game/${oid}`]);
  });
});

describe('a delete that the store does not answer', () => {
  beforeEach(async () => {
    await start(0);
    await mark();
    world.beforeDelete = () => {
      throw new StoreUnavailableError('No answer.');
    };
    await world.consume();
    world.beforeDelete = () => undefined;
  });

  it('keeps its entry and its note, because it may still land', async () => {
    expect(await world.deletions()).toMatchObject([{ state: 'deleting', objects: new Map([[oid, 10]]) }]);
    const { intents, deletedBytes, scanned } = await world.record();
    expect([...intents.values()]).toMatchObject([{ repo, bytes: 10 }]);
    // The reconcile has taken it off: the confirmed usage is without the bytes of notes.
    expect(deletedBytes).toBe(0);
    expect(scanned).toMatchObject({ storedBytes: 40, objectCount: 3 });
    expect(await world.push(repo, { [oid]: 10 })).toBe('retry');
  });

  it('is not repeated while it may still land; after that it is, and then the usage is exact', async () => {
    await world.consume();
    expect([await hasIt(), await world.isDue()]).toEqual([true, true]);
    await later(2 * minute);
    expect(await hasIt()).toBe(false);
    expect(await world.deletions()).toMatchObject([{ state: 'deleted' }]);
    expect(await world.record()).toMatchObject({
      scanned: { storedBytes: 30, objectCount: 2 },
      committedBytes: 30,
      intents: new Map(),
    });
    expect(await world.kinds(repo, { [oid]: 10 })).toBe('upload');
  });

  it('is found by a reconcile if it happened after all', async () => {
    await world.objects.delete([`${tenant}/game/${oid}`]);
    await world.consume();
    expect((await world.record()).scanned).toMatchObject({ storedBytes: 30, objectCount: 2 });
  });
});
