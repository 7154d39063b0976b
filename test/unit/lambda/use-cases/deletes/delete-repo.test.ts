import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { PublicRead } from '../../../../../lambda/domain/public-read.ts';
import { StoreUnavailableError } from '../../../../../lambda/ports/object-store.ts';
import { deleteRepo, markObject } from '../../../../../lambda/use-cases/deletes/delete-objects.ts';
import { uploadingRepos } from '../../../../../lambda/use-cases/uploading-repos.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const repo = 'game';

describe('a repo that is being deleted', () => {
  let world: MemoryStack;
  const del = (more: { repo?: string; dryRun?: boolean } = {}) =>
    deleteRepo(world.deps, { tenant, repo, dryRun: false, ...more });
  const readRepo = () => world.ledger.readRepo({ tenant, repo });

  const open = async (objects: Readonly<Record<string, number>>) => {
    world.put({ 'game2/x': 7, ...objects });
    await world.create();
  };

  beforeEach(() => {
    world = new MemoryStack();
  });

  it('must contain something', async () => {
    await open({});
    expect(await del()).toBeUndefined();
    await world.ledger.markDirty({ tenant, repo, dirtyToken: 'x' });
    expect(await del({ dryRun: true })).toBeUndefined();
    expect(world.requests).toEqual([]);
    expect((await readRepo())?.closedAtMs).toBe(null);
  });

  it.each([
    [
      'was created',
      (path: { tenant: string; repo: string }) => world.ledger.createRepo({ ...path, createdAtMs: 1 }),
    ],
    [
      'is public',
      () => world.deps.publicReads.put({ tenant, mark: { repo, monthlyLimitBytes: 1, sinceMs: 1 } }),
    ],
    [
      'is mapped',
      () =>
        world.deps.mappedRepos.put({
          tenant,
          mark: { repo, host: 'github', name: 'acme/game', hostedId: null, sinceMs: 1 },
        }),
    ],
  ])('may be empty if it %s', async (_, make) => {
    await open({});
    await make({ tenant, repo });
    expect(await del({ repo: 'other' })).toBeUndefined();
    expect(await del({ dryRun: true })).toMatchObject({ objectCount: null, waitsFor: null });
    expect(await del()).toMatchObject({ dueAtMs: world.nowMs });
    expect((await readRepo())?.closedAtMs).toBe(world.nowMs);
  });

  it('may be one that is shown because something is being uploaded to it', async () => {
    await open({});
    await world.push(repo, { [oidOf(1)]: 1 });
    expect(await uploadingRepos(world.deps, { tenant, repos: [repo] })).toEqual([repo]);
    expect(await del()).toMatchObject({ objectCount: null, bytes: null, waitsFor: 'uploads' });
    world.put({ [`${repo}/${oidOf(1)}`]: 1 });
    await world.pass(60 * minute);
    expect([await world.keys(), (await readRepo())?.closedAtMs]).toEqual([['game2/x'], null]);
  });

  it('may be empty if it has a limit', async () => {
    await open({});
    const input = { tenant, repo, dryRun: true };
    expect(await deleteRepo(world.deps, { ...input, hasLimit: false })).toBeUndefined();
    expect(await deleteRepo(world.deps, { ...input, hasLimit: true })).toMatchObject({ objectCount: null });
  });

  it('is not changed by a dry run, which says what would be freed', async () => {
    await open({ 'game/a': 1, 'game/b': 2 });
    const plan = { objectCount: 2, bytes: 3, dueAtMs: world.nowMs, waitsFor: null };
    expect(await del({ dryRun: true })).toEqual(plan);
    expect((await readRepo())?.closedAtMs).toBe(null);
    expect(world.requests).toEqual([]);
    expect(await del()).toEqual(plan);
    expect((await readRepo())?.closedAtMs).toBe(world.nowMs);
    expect(world.requests).toEqual([{ tenant, reason: 'delete', full: false }]);
  });

  it('is not public any more', async () => {
    await open({ 'game/a': 1 });
    const [game, game2] = ['game', 'game2'].map((name) => ({
      repo: name,
      monthlyLimitBytes: 1,
      sinceMs: world.nowMs,
    })) as [PublicRead, PublicRead];
    for (const publicRead of [game, game2]) await world.deps.publicReads.put({ tenant, mark: publicRead });
    await del({ dryRun: true });
    expect(await world.deps.publicReads.list(tenant)).toEqual([game, game2]);
    await del();
    expect(await world.deps.publicReads.list(tenant)).toEqual([game2]);
  });

  it('is not mapped any more', async () => {
    await open({ 'game/a': 1 });
    const { mappedRepos } = world.deps;
    for (const name of ['game', 'game2'])
      await mappedRepos.put({
        tenant,
        mark: { repo: name, host: 'github', name: 'acme/game', hostedId: null, sinceMs: world.nowMs },
      });
    await del({ dryRun: true });
    expect((await mappedRepos.list(tenant)).map(({ repo }) => repo)).toEqual(['game', 'game2']);
    await del();
    expect((await mappedRepos.list(tenant)).map(({ repo }) => repo)).toEqual(['game2']);
  });

  it('need not have been counted; then what it frees is unknown, not zero', async () => {
    await open({});
    world.put({ 'game/a': 1 });
    const plan = { objectCount: null, bytes: null, dueAtMs: world.nowMs, waitsFor: null };
    expect(await del()).toEqual(plan);
    // Its closing wrote an item of it, which still has no count.
    expect(await del()).toEqual(plan);
    await world.objects.delete([`${tenant}/game/a`]);
    expect(await del()).toEqual(plan);
    await world.consume();
    expect(await world.keys()).toEqual(['game2/x']);
  });

  it('frees nothing once it is empty and was counted, until it is opened', async () => {
    await open({ 'game/a': 1 });
    const first = await del();
    await world.consume();
    expect(await del()).toEqual({ ...first, objectCount: 0, bytes: 0 });
  });

  it('frees what was counted, although somebody removed it around the API since', async () => {
    await open({ 'game/a': 1, 'game/b': 2 });
    for (const name of ['a', 'b']) await world.objects.delete([`${tenant}/game/${name}`]);
    expect(await del()).toMatchObject({ objectCount: 2, bytes: 3 });
  });

  it('keeps the time of its closing when it is deleted again', async () => {
    await open({ 'game/a': 1 });
    const first = await del();
    const close = vi.spyOn(world.ledger, 'closeRepo');
    world.nowMs += 1000;
    expect(await del()).toEqual(first);
    expect(world.requests).toHaveLength(2);
    expect((await readRepo())?.closedAtMs).toBe(first?.dueAtMs);
    expect(close).not.toHaveBeenCalled();
  });

  it('is not deleted once more if the write that closed it lands again after it was opened', async () => {
    await open({ 'game/a': 1 });
    const close = vi.spyOn(world.ledger, 'closeRepo');
    await del();
    const [[again] = []] = close.mock.calls;
    close.mockRestore();
    if (!again) throw new Error('The repo was not closed.');
    world.nowMs += 2 * minute;
    await world.consume();
    expect((await readRepo())?.closedAtMs).toBeNull();
    world.put({ 'game/a': 1 });
    await world.ledger.closeRepo(again);
    await world.consume();
    expect(await world.keys()).toEqual(['game/a', 'game2/x']);
  });

  it('is emptied and recounted, and opened once no batch from before its closing can be running', async () => {
    await open({ 'game/a': 1, 'game/b': 2 });
    await del();
    expect(await world.consume()).toBe('requeued');
    expect(world.requests.at(-1)).toEqual({ tenant, reason: 'unfinished', full: false });
    expect(await world.keys()).toEqual(['game2/x']);
    expect((await world.record()).counted).toMatchObject({ storedBytes: 7, objectCount: 1 });
    expect(await readRepo()).toMatchObject({ objectCount: 0, closedAtMs: expect.any(Number) });
    // If that request is lost, the schedule requests another.
    expect(await world.isDue()).toBe(true);
    world.nowMs += minute + 1;
    expect(await world.consume()).toBe('done');
    expect(await readRepo()).toMatchObject({ objectCount: 0, closedAtMs: null });
    expect(await world.isDue()).toBe(false);
    expect(await del()).toBeUndefined();
  });

  it('also loses objects that can only come from an import, whatever their names', async () => {
    const names = ['über/größe', 'a/b/c/', ' ', '\u{1f600}', 'A'.repeat(900), '~', '0', '.', '%2f', 'x\ny'];
    await open(Object.fromEntries(names.map((name) => [`game/${name}`, 3])));
    await del();
    await world.consume();
    expect(await world.keys()).toEqual(['game2/x']);
    expect((await world.record()).counted).toMatchObject({ storedBytes: 7, objectCount: 1 });
  });

  it('may have more objects than one deletion can name', async () => {
    await open(Object.fromEntries(Array.from({ length: 2500 }, (_, index) => [`game/${oidOf(index)}`, 1])));
    const put = vi.spyOn(world.ledger, 'putDeletion');
    await del();
    await world.consume();
    expect(put.mock.calls.map(([{ deletion }]) => deletion.objects.size)).toEqual([1000, 1000, 500]);
    expect(await world.keys()).toEqual(['game2/x']);
    expect(await world.deletions()).toEqual([]);
  });

  it('may have names that are too long for one deletion', async () => {
    const names = Array.from({ length: 600 }, (_, index) => `${oidOf(index)}${'ü'.repeat(418)}`);
    await open(Object.fromEntries(names.map((name) => [`game/${name}`, 1])));
    await del();
    const put = vi.spyOn(world.ledger, 'putDeletion');
    await world.consume();
    const nameBytes = put.mock.calls.map(([{ deletion }]) =>
      Buffer.byteLength([...deletion.objects.keys()].join('')),
    );
    expect(nameBytes.length).toBeGreaterThan(2);
    expect(Math.max(...nameBytes)).toBeLessThanOrEqual(200_000);
    expect(await world.keys()).toEqual(['game2/x']);
  });

  it('does not wait for the grace time of single objects', async () => {
    await open({ [`game/${oidOf(1)}`]: 5, [`game/${oidOf(2)}`]: 6 });
    await markObject(world.deps, { tenant, repo, oid: oidOf(1), dryRun: false });
    await del();
    await world.consume();
    expect(await world.keys()).toEqual(['game2/x']);
    expect(await world.deletions()).toEqual([]);
  });

  it('is due when the last live reservation of it is dead, and says that it waits for uploads', async () => {
    await open({ [`game/${oidOf(1)}`]: 5 });
    await world.push(repo, { [oidOf(2)]: 6 });
    world.nowMs += minute;
    await world.push(repo, { [oidOf(3)]: 7 });
    const deadMs = world.nowMs + 36 * minute + 10_001;
    await world.push('game2', { [oidOf(4)]: 5_000_000_000 });
    const plan = { objectCount: 1, bytes: 5, dueAtMs: deadMs, waitsFor: 'uploads' };
    expect(await del({ dryRun: true })).toEqual(plan);
    expect(await del()).toEqual(plan);
    world.nowMs += minute;
    expect(await del()).toEqual(plan);
    world.nowMs = deadMs;
    await world.consume();
    expect((await readRepo())?.closedAtMs).not.toBe(null);
    world.nowMs += 1;
    expect(await del({ dryRun: true })).toMatchObject({ waitsFor: null });
    await world.consume();
    expect((await readRepo())?.closedAtMs).toBe(null);
  });

  it('keeps the objects that a live reservation holds, and stays closed, until the reservation is dead', async () => {
    await open({ [`game/${oidOf(1)}`]: 5 });
    await world.push(repo, { [oidOf(2)]: 6, [oidOf(3)]: 7 });
    world.put({ [`game/${oidOf(2)}`]: 6 });
    await del();
    world.nowMs += 2 * minute;
    expect(await world.consume()).toBe('done');
    expect(await world.keys()).toEqual([`game/${oidOf(2)}`, 'game2/x']);
    expect((await world.record()).counted).toMatchObject({ storedBytes: 13, objectCount: 2 });
    // A late PUT with a URL of that reservation.
    world.put({ [`game/${oidOf(3)}`]: 7 });
    world.nowMs += 40 * minute;
    expect(await world.isDue()).toBe(true);
    expect(await world.consume()).toBe('done');
    expect(await world.keys()).toEqual(['game2/x']);
    expect(await readRepo()).toMatchObject({ objectCount: 0, closedAtMs: null });
    expect((await world.record()).committedBytes).toBe(7);
  });

  it('that is empty stays closed while a URL of it may be used, and is opened after that', async () => {
    await open({ [`game/${oidOf(1)}`]: 5 });
    await world.push(repo, { [oidOf(2)]: 6 });
    await del();
    world.nowMs += 2 * minute;
    expect(await world.consume()).toBe('done');
    expect(await world.keys()).toEqual(['game2/x']);
    expect(await readRepo()).toMatchObject({ objectCount: 0, closedAtMs: expect.any(Number) });
    expect(await world.isDue()).toBe(true);
    const [reservation] = world.ledger.inspect(tenant).reservations;
    world.nowMs = reservation?.deadAtMs ?? 0;
    await world.consume();
    expect((await readRepo())?.closedAtMs).toEqual(expect.any(Number));
    world.nowMs += 1;
    await world.consume();
    expect((await readRepo())?.closedAtMs).toBe(null);
  });

  it('stays due even if its dead reservations are deleted by another reconcile', async () => {
    await open({});
    await world.push(repo, { [oidOf(2)]: 6 });
    world.put({ [`game/${oidOf(2)}`]: 6 });
    await del();
    await world.consume();
    world.nowMs += 40 * minute;
    for (const { id, repo: of } of world.ledger.inspect(tenant).reservations)
      await world.ledger.deleteReservation({ tenant, repo: of, reservationId: id });
    expect(await world.isDue()).toBe(true);
    await world.consume();
    expect(await world.keys()).toEqual(['game2/x']);
  });

  it('shows its progress while it is emptied', async () => {
    await open(Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`game/${oidOf(index)}`, 1])));
    const commit = vi.spyOn(world.ledger, 'commitRepo');
    await del();
    world.beforeDelete = () => {
      world.nowMs += 15;
    };
    await world.consume();
    expect(commit.mock.calls.map(([input]) => input.repo.objectCount)).toEqual([3000, 1000, 0]);
  });

  it('is continued by the next message if the time is up', async () => {
    await open(Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`game/${oidOf(index)}`, 1])));
    await del();
    world.requests.length = 0;
    world.beforeDelete = () => {
      world.nowMs += 50;
    };
    // Each deletion of 1,000 objects takes 50 s of the 2 minutes, and 70 s are kept back.
    expect(await world.consume({ limitMs: 2 * minute })).toBe('requeued');
    expect(world.requests).toEqual([{ tenant, reason: 'unfinished', full: false }]);
    expect(await world.keys()).toHaveLength(2001);
    expect(await readRepo()).toMatchObject({ objectCount: 2000 });
    await world.consume({ limitMs: 2 * minute });
    expect(await world.consume({ limitMs: 2 * minute })).toBe('requeued');
    expect(await world.keys()).toEqual(['game2/x']);
    expect(await world.consume()).toBe('done');
    expect((await readRepo())?.closedAtMs).toBe(null);
  });

  it('stays as it is if the store does not answer, and leaves one note, not one per deletion', async () => {
    await open(Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`game/${oidOf(index)}`, 1])));
    await del();
    world.beforeDelete = () => {
      throw new StoreUnavailableError('No answer.');
    };
    await world.consume();
    expect((await world.record()).notes.size).toBe(1);
    expect(await world.deletions()).toHaveLength(1);
    expect(await readRepo()).toMatchObject({ objectCount: 3000, closedAtMs: expect.any(Number) });
    expect(await world.isDue()).toBe(true);
    world.beforeDelete = () => undefined;
    world.nowMs += 2 * minute;
    await world.consume();
    expect(await world.keys()).toEqual(['game2/x']);
    expect((await world.record()).notes.size).toBe(0);
  });
});
