import { beforeEach, describe, expect, it, vi } from 'vitest';
import { newDeletion } from '../../../../../lambda/domain/deletion.ts';
import { StoreUnavailableError } from '../../../../../lambda/ports/object-store.ts';
import { markObject } from '../../../../../lambda/use-cases/deletes/delete-objects.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const oid = oidOf(1);
const hour = 60 * minute;

describe('an object that is marked for deletion', () => {
  let world: MemoryStack;
  const mark = (more: { oid?: string; dryRun?: boolean } = {}) =>
    markObject(world.deps, { tenant, repo: 'game', oid, dryRun: false, ...more });

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ [`game/${oid}`]: 10, [`game/${oidOf(2)}`]: 20, [`art/${oid}`]: 10 });
    await world.create(100);
  });

  it('must be stored', async () => {
    expect(await mark({ oid: oidOf(3) })).toBeUndefined();
    expect(await world.deletions()).toEqual([]);
  });

  it('is not changed by a dry run, which says what would be freed, and when', async () => {
    const plan = { objectCount: 1, bytes: 10, dueAtMs: world.nowMs + hour, waitsFor: null };
    expect(await mark({ dryRun: true })).toEqual(plan);
    expect([await world.deletions(), world.requests]).toEqual([[], []]);
    expect(await mark()).toEqual(plan);
  });

  it('was not deleted by a clean-up that had deleted it before it was pushed again', async () => {
    const [again, other] = [oidOf(1), oidOf(2)];
    const gone = () => world.ledger.goneOf({ tenant, repo: 'game', oids: [again, other] });
    await world.ledger.noteGone({ tenant, repo: 'game', oids: [again, other], atMs: 7 });
    await mark({ dryRun: true });
    expect(await gone()).toHaveProperty('size', 2);
    const forget = vi.spyOn(world.ledger, 'forgetGone');
    await mark();
    expect(await gone()).toEqual(new Map([[other, 7]]));
    // No write for what no clean-up had deleted.
    await mark();
    expect(forget).toHaveBeenCalledTimes(1);
  });

  it('waits for a live reservation that claims it, if that lives longer than the grace time', async () => {
    world = new MemoryStack({ deleteGraceMs: 30 * minute });
    await world.create();
    await world.push('game', { [oid]: 10 });
    world.put({ [`game/${oid}`]: 10 });
    const deadMs = world.nowMs + 36 * minute + 10_001;
    world.nowMs += minute;
    await world.push('game', { [oidOf(2)]: 20 });
    expect(await mark()).toEqual({ objectCount: 1, bytes: 10, dueAtMs: deadMs, waitsFor: 'uploads' });
    world.nowMs += 10 * minute;
    expect(await mark()).toMatchObject({ dueAtMs: deadMs, waitsFor: 'uploads' });
  });

  it('waits for nothing if the reservation is dead at the very end of the grace time', async () => {
    const lifeMs = 36 * minute + 10_001;
    for (const [deleteGraceMs, waitsFor] of [
      [lifeMs, null],
      [lifeMs - 1, 'uploads'],
    ] as const) {
      world = new MemoryStack({ deleteGraceMs });
      await world.create();
      await world.push('game', { [oid]: 10 });
      world.put({ [`game/${oid}`]: 10 });
      expect(await mark()).toMatchObject({ dueAtMs: world.nowMs + lifeMs, waitsFor });
    }
  });

  it('stays if the mark is written only after its repo was emptied and opened', async () => {
    const { ledger } = world;
    const writes = vi.spyOn(ledger, 'putDeletion').mockResolvedValueOnce(undefined);
    await mark();
    const [late] = writes.mock.calls;
    if (!late) throw new Error('Nothing was marked.');
    await ledger.closeRepo({ tenant, repo: 'game', closedAtMs: world.nowMs });
    await world.consume();
    world.nowMs += 2 * minute;
    await world.consume();
    world.put({ [`game/${oid}`]: 10 });
    await ledger.putDeletion(...late);
    world.nowMs += hour;
    await world.consume();
    expect(await world.keys()).toEqual([`art/${oid}`, `game/${oid}`]);
    expect(await world.deletions()).toEqual([]);
    await mark();
    world.nowMs += hour;
    await world.consume();
    expect(await world.keys()).toEqual([`art/${oid}`]);
  });

  it('is marked anew beside a mark from before its repo was emptied, which deletes nothing', async () => {
    const { ledger } = world;
    await mark();
    const [before] = await world.deletions();
    if (!before) throw new Error('Nothing was marked.');
    await ledger.closeRepo({ tenant, repo: 'game', closedAtMs: world.nowMs });
    await world.consume();
    world.nowMs += 2 * minute;
    await world.consume();
    world.put({ [`game/${oid}`]: 10 });
    await ledger.putDeletion({ tenant, deletion: { ...before, id: 'late' } });
    expect(await mark()).toMatchObject({ dueAtMs: world.nowMs + hour });
    world.nowMs += hour;
    await world.consume();
    expect(await world.keys()).toEqual([`art/${oid}`]);
  });

  it('is deleted when its grace time is over, and the freed bytes show at once', async () => {
    await mark();
    world.nowMs += hour - 1;
    await world.consume();
    expect(await world.keys()).toHaveLength(3);
    expect(await world.isDue()).toBe(false);
    world.nowMs += 1;
    expect(await world.isDue()).toBe(true);
    await world.consume();
    expect(await world.keys()).toEqual([`art/${oid}`, `game/${oidOf(2)}`]);
    expect(await world.record()).toMatchObject({
      counted: { storedBytes: 30, objectCount: 2 },
      committedBytes: 30,
    });
    expect((await world.record()).notes.size).toBe(0);
    // Kept for as long as a batch can run, because it may have asked the store before.
    expect(await world.deletions()).toMatchObject([{ state: 'gone' }]);
    world.nowMs += minute;
    expect(await world.isDue()).toBe(true);
    await world.consume();
    expect([await world.deletions(), await world.isDue()]).toEqual([[], false]);
  });

  it('is announced before its bytes go, is marked as changed after that, and only then loses its note', async () => {
    await mark();
    world.nowMs += hour;
    const steps: string[] = [];
    for (const name of [
      'claimDeletion',
      'announceDelete',
      'markDirty',
      'removeNote',
      'endDeletion',
    ] as const) {
      const method: (input: never) => Promise<unknown> = world.ledger[name];
      vi.spyOn(world.ledger, name).mockImplementation(async (input: unknown) => {
        steps.push(name);
        return (await method.call(world.ledger, input as never)) as never;
      });
    }
    world.beforeDelete = () => steps.push('the bytes');
    await world.consume();
    expect(steps).toEqual([
      'claimDeletion',
      'announceDelete',
      'the bytes',
      'markDirty',
      'removeNote',
      'endDeletion',
    ]);
  });

  it('is expected to come back after the announcement and before its bytes go, if a URL of it was used today', async () => {
    await world.push('game', { [oidOf(3)]: 5 });
    world.put({ [`game/${oidOf(3)}`]: 5 });
    await world.consume();
    world.nowMs += hour;
    await world.consume();
    await mark({ oid: oidOf(3) });
    world.nowMs += hour;
    const seen: unknown[] = [];
    world.beforeDelete = () => {
      const { record, reservations } = world.ledger.inspect(tenant);
      seen.push(record?.notes.size, ...reservations.map(({ claims }) => [...claims]));
    };
    const { putReservation } = world.ledger;
    vi.spyOn(world.ledger, 'putReservation').mockImplementation(async (input) => {
      seen.push((await world.record()).notes.size);
      await putReservation.call(world.ledger, input);
    });
    await world.consume();
    expect(seen).toEqual([1, 1, [[oidOf(3), 5]]]);
  });

  it('is not reported as stored by a batch that was running while it was deleted', async () => {
    await mark();
    world.nowMs += hour;
    const { putReservation } = world.ledger;
    vi.spyOn(world.ledger, 'putReservation').mockImplementationOnce(async (input) => {
      // The store has said that it is stored. The reservation comes too late for the deleter to see it.
      await world.consume();
      await putReservation.call(world.ledger, input);
    });
    expect(await world.push('game', { [oid]: 10, [oidOf(2)]: 20 })).toBe('retry');
    expect(await world.push('game', { [oid]: 10, [oidOf(2)]: 20 })).toMatchObject(
      new Map([
        [oid, { kind: 'upload' }],
        [oidOf(2), { kind: 'stored' }],
      ]),
    );
  });

  it('can be pushed and deleted again right after it was deleted', async () => {
    await mark();
    world.nowMs += hour;
    await world.consume();
    world.put({ [`game/${oid}`]: 10 });
    expect(await world.deletions()).toMatchObject([{ state: 'gone' }]);
    expect(await mark()).toMatchObject({ dueAtMs: world.nowMs + hour });
    expect(await world.deletions()).toMatchObject([{ id: `~${oid}`, state: 'marked' }]);
    await world.consume();
    expect(await world.keys()).toContain(`game/${oid}`);
    world.nowMs += hour;
    await world.consume();
    expect(await world.keys()).not.toContain(`game/${oid}`);
  });

  it('keeps the record of what is gone if the object was there only before that', async () => {
    await mark();
    world.nowMs += hour;
    await world.consume();
    const head = vi.spyOn(world.deps.store, 'head');
    head.mockResolvedValueOnce({ sizeBytes: 10, lastModifiedMs: 1, sha256: undefined });
    expect(await mark()).toBeUndefined();
    expect(head).toHaveBeenCalledTimes(2);
    expect(await world.deletions()).toMatchObject([{ state: 'gone' }]);
  });

  it('is deleted after all if a batch has kept it, and a person asks again', async () => {
    await mark();
    const [first] = await world.deletions();
    if (!first) throw new Error('Nothing was marked.');
    await world.push('game', { [oid]: 10 });
    world.nowMs += 10 * minute;
    expect(await mark()).toMatchObject({ dueAtMs: world.nowMs + hour });
    // What was meant for the first mark, and lands late.
    const { repo, id: deletionId, dueAtMs } = first;
    const { ledger } = world;
    expect(await ledger.unmark({ tenant, repo, deletionId, dueAtMs, names: [oid] })).toBe('refused');
    expect(await ledger.claimDeletion({ tenant, before: first, deadlineMs: 9e15 })).toMatchObject({
      kind: 'refused',
    });
    world.nowMs += hour;
    await world.consume();
    expect(await world.keys()).not.toContain(`game/${oid}`);
  });

  it('is due later than the mark before, however soon it is marked again: what was meant for that one is refused', async () => {
    await mark();
    const [first] = await world.deletions();
    if (!first) throw new Error('Nothing was marked.');
    await world.push('game', { [oid]: 10 });
    expect(await mark()).toMatchObject({ dueAtMs: first.dueAtMs + 1 });
    const { repo, id: deletionId, dueAtMs } = first;
    expect(await world.ledger.unmark({ tenant, repo, deletionId, dueAtMs, names: [oid] })).toBe('refused');
    world.nowMs += hour + 1;
    await world.consume();
    expect(await world.keys()).not.toContain(`game/${oid}`);
  });

  it('is marked beside a record that a run claims before it can be used again', async () => {
    await mark();
    await world.push('game', { [oid]: 10 });
    const { remark } = world.ledger;
    vi.spyOn(world.ledger, 'remark').mockImplementationOnce(async (input) => {
      const deadlineMs = world.nowMs + minute;
      await world.ledger.claimDeletion({ tenant, before: input.before, deadlineMs, dueAtMs: world.nowMs });
      return remark.call(world.ledger, input);
    });
    const plan = await mark();
    const marked = (await world.deletions()).filter(({ state }) => state === 'marked');
    expect(marked).toMatchObject([{ objects: new Map([[oid, 10]]), dueAtMs: world.nowMs + hour }]);
    expect(plan).toMatchObject({ dueAtMs: world.nowMs + hour });
    world.nowMs += hour;
    await world.consume();
    expect(await world.keys()).not.toContain(`game/${oid}`);
  });

  it('is marked once more beside what a run has begun that names it no more', async () => {
    await mark();
    await world.push('game', { [oid]: 10 });
    const [empty] = await world.deletions();
    if (!empty) throw new Error('Nothing was marked.');
    world.nowMs += hour;
    await world.ledger.claimDeletion({ tenant, before: empty, deadlineMs: world.nowMs + minute });
    await mark();
    expect((await world.deletions()).map(({ id, state }) => [id.slice(0, 1), state])).toContainEqual([
      '~',
      'deleting',
    ]);
    world.nowMs += hour;
    await world.consume();
    expect(await world.keys()).not.toContain(`game/${oid}`);
  });

  it('is marked beside a clean-up that names it, and goes though that ends before', async () => {
    const objects = new Map([[oid, 10]]);
    const watch = { id: 'w', openedAtMs: world.nowMs, untilMs: world.nowMs + 24 * hour };
    const path = { tenant, repo: 'game' };
    await world.ledger.openWatch({ ...path, watch, nowMs: world.nowMs });
    const sweep = { watchId: 'w', seenFromMs: world.nowMs };
    const times = { dueAtMs: world.nowMs + 2 * hour };
    await world.ledger.putDeletion({
      tenant,
      deletion: newDeletion({ id: 'gc-1', repo: 'game', objects, sweep, ...times }),
    });
    expect(await mark()).toMatchObject({ dueAtMs: world.nowMs + hour });
    expect((await world.deletions()).map(({ id }) => id)).toEqual(['gc-1', `~${oid}`]);
    await world.ledger.closeWatch({ ...path, watch });
    world.nowMs += 2 * hour;
    await world.consume();
    expect(await world.keys()).not.toContain(`game/${oid}`);
  });

  it('is not marked beside ten thousand others, until a recount has found fewer', async () => {
    const atMost = 10_000;
    await world.ledger.countDeletions({ tenant, difference: atMost - 1 });
    expect(await mark()).toMatchObject({ bytes: 10 });
    world.nowMs += minute;
    expect(await mark({ oid: oidOf(2) })).toBe('full');
    expect(await world.deletions()).toHaveLength(1);
    expect(world.requests).toEqual([{ tenant, reason: 'delete', full: false }]);
    await world.consume();
    expect(await world.record()).toMatchObject({ deletionCount: 1 });
    expect(await mark({ oid: oidOf(2) })).toMatchObject({ bytes: 20 });
    world.nowMs += hour;
    await world.consume();
    world.nowMs += 2 * minute;
    await world.consume();
    expect(await world.record()).toMatchObject({ deletionCount: 0 });
  });

  it('is deleted at once if there is no grace time', async () => {
    world = new MemoryStack({ deleteGraceMs: 0 });
    world.put({ [`game/${oid}`]: 10 });
    await world.create();
    await mark();
    expect(world.requests).toEqual([{ tenant, reason: 'delete', full: false }]);
    await world.consume();
    expect(await world.keys()).toEqual([]);
  });

  it('keeps its time when it is marked again; after that time a recount is requested again', async () => {
    const first = await mark();
    world.nowMs += 10 * minute;
    expect(await mark()).toEqual(first);
    expect(await world.deletions()).toHaveLength(1);
    expect(world.requests).toEqual([]);
    world.nowMs += hour;
    expect(await mark({ dryRun: true })).toEqual(first);
    expect(world.requests).toEqual([]);
    expect(await mark()).toEqual(first);
    expect(world.requests).toHaveLength(1);
  });

  it('is kept if it is pushed again before its time', async () => {
    await mark();
    const verdicts = await world.push('game', { [oid]: 10 });
    expect(verdicts).toEqual(new Map([[oid, { kind: 'stored' }]]));
    world.nowMs += 2 * hour;
    await world.consume();
    expect(await world.keys()).toContain(`game/${oid}`);
    expect((await world.deletions()).flatMap(({ objects }) => [...objects])).toEqual([]);
  });

  it('is not kept by a push of the same object to another repo', async () => {
    await mark();
    await world.push('art', { [oid]: 10 });
    world.nowMs += hour;
    await world.consume();
    expect(await world.keys()).toEqual([`art/${oid}`, `game/${oidOf(2)}`]);
  });

  it('is kept while an upload URL for it may be used, and is deleted after that', async () => {
    world = new MemoryStack({ deleteGraceMs: 0 });
    world.put({ [`game/${oid}`]: 10, [`game/${oidOf(2)}`]: 20, [`art/${oid}`]: 10 });
    await world.create(100);
    await world.push('game', { [oidOf(3)]: 5 });
    world.put({ [`game/${oidOf(3)}`]: 5 });
    await mark({ oid: oidOf(3) });
    await mark({ oid: oidOf(2) });
    await world.consume();
    expect(await world.keys()).toEqual([`art/${oid}`, `game/${oid}`, `game/${oidOf(3)}`]);
    const [reservation] = world.ledger.inspect(tenant).reservations;
    const held = (await world.deletions()).find(({ state }) => state === 'marked');
    expect(held).toMatchObject({ objects: new Map([[oidOf(3), 5]]), dueAtMs: reservation?.deadAtMs });
    world.nowMs = (reservation?.deadAtMs ?? 0) + 1;
    await world.consume();
    expect(await world.keys()).toEqual([`art/${oid}`, `game/${oid}`]);
  });
});

describe('a delete that the store does not answer', () => {
  let world: MemoryStack;
  beforeEach(async () => {
    world = new MemoryStack({ deleteGraceMs: 0 });
    world.put({ [`game/${oid}`]: 10, [`game/${oidOf(2)}`]: 20 });
    await world.create(100);
    await markObject(world.deps, { tenant, repo: 'game', oid, dryRun: false });
    world.beforeDelete = () => {
      throw new StoreUnavailableError('No answer.');
    };
    await world.consume();
  });

  it('keeps its claim and its note, because it may still land', async () => {
    expect(await world.deletions()).toMatchObject([{ state: 'deleting', objects: new Map([[oid, 10]]) }]);
    const { notes, deletedBytes, counted } = await world.record();
    expect([...notes.values()]).toMatchObject([{ repo: 'game', bytes: 10 }]);
    // The recount has taken it off: the floor is without the bytes of notes.
    expect(deletedBytes).toBe(0);
    expect(counted).toMatchObject({ storedBytes: 30, objectCount: 2 });
    expect(await world.push('game', { [oid]: 10 })).toBe('retry');
  });

  it('is not repeated while it may still land', async () => {
    world.beforeDelete = () => undefined;
    await world.consume();
    expect(await world.keys()).toHaveLength(2);
    expect(await world.isDue()).toBe(true);
  });

  it('is repeated after that, and then the usage is exact', async () => {
    world.beforeDelete = () => undefined;
    world.nowMs += 2 * minute;
    await world.consume();
    expect(await world.keys()).toEqual([`game/${oidOf(2)}`]);
    expect(await world.deletions()).toMatchObject([{ state: 'gone' }]);
    const { notes, counted, committedBytes } = await world.record();
    expect({ counted, committedBytes, notes }).toMatchObject({
      counted: { storedBytes: 20, objectCount: 1 },
      committedBytes: 20,
      notes: new Map(),
    });
    expect(await world.push('game', { [oid]: 10 })).toMatchObject(new Map([[oid, { kind: 'upload' }]]));
  });

  it('is found by a recount if it happened after all', async () => {
    await world.objects.delete([`${tenant}/game/${oid}`]);
    await world.consume();
    expect((await world.record()).counted).toMatchObject({ storedBytes: 20, objectCount: 1 });
  });
});
