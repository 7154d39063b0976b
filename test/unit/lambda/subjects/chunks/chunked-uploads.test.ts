import { beforeEach, describe, expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { deleteRepo } from '../../../../../lambda/core/ledger/deletes.ts';
import { cancelReservations } from '../../../../../lambda/core/ledger/reservations.ts';
import { dueAtMs, inState } from '../../../../../lambda/subjects/chunks/rules/upload.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const repo = 'app';
const large = oidOf(1);
const other = oidOf(2);
const gib = 1024 ** 3;
const size = 10 * gib;
const hour = 60 * minute;
const day = 24 * hour;

describe('the claim of a chunked upload', () => {
  let world: MemoryStack;

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(25 * gib);
  });

  /** @returns the id of its upload. */
  async function begin(objects: Readonly<Record<string, number>> = { [large]: size }): Promise<string> {
    const outcome = await admitUpload(world.deps, {
      tenant: await world.record(),
      repo,
      objects: new Map(Object.entries(objects)),
      chunked: new Set(Object.keys(objects).filter((oid) => (objects[oid] ?? 0) > gib)),
      madeBy: 'ada',
    });
    const verdict = outcome.kind === 'answered' ? outcome.verdicts.get(large) : undefined;
    if (verdict?.kind !== 'chunks') throw new Error(JSON.stringify(outcome));
    return verdict.upload;
  }

  const end = (reservationId: string, isGone: boolean) =>
    world.ledger.endChunked({
      tenant,
      repo,
      reservationId,
      oid: large,
      isGone,
      endedMs: world.nowMs + 10_000,
    });

  const store = () => world.objects.put(`${tenant}/${repo}/${large}`, size, undefined, world.nowMs);

  it('counts for days, however often the repo is listed', async () => {
    await begin();
    for (let days = 0; days < 6; days += 1) {
      await world.pass(day);
      await world.consume({ full: true });
      expect(await world.usage()).toEqual({ committedBytes: size, storedBytes: 0 });
    }
    expect(world.reservations[0]?.entries.size).toBe(1);
  });

  it('leaves the room that it does not take, and no more', async () => {
    await begin();
    await world.pass(day);
    const { committedBytes } = await world.usage();
    expect(committedBytes).toBe(size);
    expect(await world.kinds(repo, { [other]: 4 * gib, [oidOf(3)]: 4 * gib, [oidOf(4)]: 4 * gib })).toBe(
      'upload upload upload',
    );
    expect(await world.kinds(repo, { [oidOf(5)]: 4 * gib })).toBe('over-limit');
  });

  it('becomes what is stored, once, when the object is there', async () => {
    const id = await begin();
    await world.pass(3 * day);
    store();
    await world.consume();
    expect(await world.usage()).toEqual({ committedBytes: size, storedBytes: size });
    expect(await end(id, false)).toBe('ended');
    await world.pass(2 * day);
    await world.consume({ full: true });
    expect(await world.usage()).toEqual({ committedBytes: size, storedBytes: size });
    expect(world.reservations).toEqual([]);
  });

  it('is found by the schedule alone once the object is there, if nobody asked for a reconcile', async () => {
    const id = await begin();
    await world.pass(3 * day);
    store();
    await end(id, false);
    await world.pass(hour);
    expect(await world.usage()).toEqual({ committedBytes: size, storedBytes: size });
  });

  it('is free when nothing of it can arrive', async () => {
    const id = await begin();
    await world.pass(2 * day);
    await end(id, true);
    await world.pass(hour);
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
    expect(world.reservations).toEqual([]);
  });

  it('that may have been stored is looked for a day long after it ended, and not from its beginning on', async () => {
    const id = await begin();
    await world.pass(5 * day);
    await end(id, false);
    await world.pass(8 * hour);
    // A slow store shows it now.
    store();
    await world.pass(18 * hour);
    expect((await world.usage()).storedBytes).toBe(size);
    await world.pass(day);
    expect(world.reservations).toEqual([]);
  });

  it('ends by itself after eight days, whoever died', async () => {
    await begin();
    await world.pass(8 * day + hour);
    expect((await world.usage()).committedBytes).toBe(0);
    await world.pass(2 * day);
    expect(world.reservations).toEqual([]);
  });

  it('does not hold up the delete of its repo, which ends it', async () => {
    const upload = await begin();
    const path = { tenant, repo, oid: large, upload };
    const state = async () => (await world.deps.chunkedUploads.read(path))?.state;
    await deleteRepo(world.deps, { tenant, repo, dryRun: false });
    await world.deps.chunkedUploads.change(path, (before) => inState(before, 'assembling', world.nowMs));
    await world.consume();
    // Its worker ends it.
    expect(await state()).toBe('assembling');
    await world.deps.chunkedUploads.change(path, (before) => inState(before, 'open', world.nowMs));
    await world.pass(10 * minute);
    expect(await state()).toBe('ended');
    expect((await world.repo(repo))?.closedAtMs).not.toBeNull();
    // As the schedule's look at it.
    await end(upload, true);
    await world.pass(hour);
    expect((await world.repo(repo))?.closedAtMs).toBeNull();
  });

  it.each(['open', 'assembling'] as const)(
    'ends with its reservation if that is named, also while it is %s, and goes once its chunks have',
    async (state) => {
      const upload = await begin({ [large]: size, [other]: 100 });
      const path = { tenant, repo, oid: large, upload };
      await world.deps.chunkedUploads.change(path, (before) => inState(before, state, world.nowMs));
      for (const filter of [{}, { repo }, { madeBy: 'ada' }, { repo: 'web', id: upload }])
        expect(await cancelReservations(world.deps, { tenant, ...filter })).toMatchObject({ count: 0 });
      expect((await world.deps.chunkedUploads.read(path))?.state).toBe(state);
      const cancelled = { count: 1, bytes: size, hasMore: false };
      expect(await cancelReservations(world.deps, { tenant, id: upload })).toEqual(cancelled);
      expect(await cancelReservations(world.deps, { tenant, id: upload })).toMatchObject({ count: 0 });
      const ended = await world.deps.chunkedUploads.read(path);
      expect([ended?.state, ended && dueAtMs(ended)]).toEqual(['ended', world.nowMs]);
      // Its chunks are stored.
      await world.pass(hour);
      expect((await world.usage()).committedBytes).toBe(size + 100);
      expect(await end(upload, true)).toBe('ended');
      await world.pass(hour);
      expect((await world.usage()).committedBytes).toBe(0);
    },
  );

  it('does not make the small objects beside it count twice', async () => {
    const id = await begin({ [large]: size, [other]: 100 });
    world.put({ [`${repo}/${other}`]: 100 });
    await world.pass(day);
    await world.consume();
    expect(await world.usage()).toEqual({ committedBytes: size + 100, storedBytes: 100 });
    await end(id, true);
    await world.pass(hour);
    expect(await world.usage()).toEqual({ committedBytes: 100, storedBytes: 100 });
  });
});
