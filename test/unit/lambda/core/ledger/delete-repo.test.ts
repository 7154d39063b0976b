import { beforeEach, describe, expect, it, vi } from 'vitest';
import { deleteRepo } from '../../../../../lambda/core/ledger/deletes.ts';
import { uploadingRepos } from '../../../../../lambda/core/ledger/reservations.ts';
import type { Belongings } from '../../../../../lambda/core/ledger/seams.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const repo = 'game';
const path = { tenant, repo };
/** So many objects of a byte in the repo. */
const many = (count: number, nameOf = oidOf) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`game/${nameOf(index)}`, 1]));

let world: MemoryStack;
const del = (more: { repo?: string; dryRun?: boolean; hasLimit?: boolean } = {}) =>
  deleteRepo(world.deps, { ...path, dryRun: false, ...more });
const closedAtMs = async () => (await world.repo(repo))?.closedAtMs;
/** Beside another repo. */
const open = async (objects: Readonly<Record<string, number>>) => {
  world.put({ 'game2/x': 7, ...objects });
  await world.create();
};
const later = async (durationMs: number) => {
  world.nowMs += durationMs;
  return world.consume();
};

beforeEach(() => {
  world = new MemoryStack();
});

describe('a delete of a repo', () => {
  it('is of one that contains something', async () => {
    await open({});
    expect(await del()).toBeUndefined();
    await world.ledger.markDirty({ ...path, dirtyToken: 'x' });
    expect(await del({ dryRun: true })).toBeUndefined();
    expect([world.requests, await closedAtMs()]).toEqual([[], null]);
  });

  const belonging = (of: Belongings): void => void Object.assign(world.deps, { belongings: [of] });
  it.each(
    Object.entries({
      created: () => world.ledger.createRepo({ ...path, createdAtMs: 1 }),
      'known to a subject': async () => belonging({ knows: async (asked) => asked.repo === path.repo }),
    }),
  )('may be of one that is empty, and %s', async (_, make) => {
    await open({});
    await make();
    expect(await del({ repo: 'other' })).toBeUndefined();
    expect(await del({ dryRun: true })).toMatchObject({ objectCount: null, waitsFor: null });
    expect(await del()).toMatchObject({ dueAtMs: world.nowMs });
    expect(await closedAtMs()).toBe(world.nowMs);
  });

  it('may be of one that is empty, and has a limit', async () => {
    await open({});
    expect(await del({ dryRun: true, hasLimit: false })).toBeUndefined();
    expect(await del({ dryRun: true, hasLimit: true })).toMatchObject({ objectCount: null });
  });

  it('may be of one that is shown because something is being uploaded to it', async () => {
    await open({});
    await world.push(repo, { [oidOf(1)]: 1 });
    expect(await uploadingRepos(world.deps, { tenant, repos: [repo] })).toEqual([repo]);
    expect(await del()).toMatchObject({ objectCount: null, bytes: null, waitsFor: 'uploads' });
    world.put({ [`${repo}/${oidOf(1)}`]: 1 });
    await world.pass(60 * minute);
    expect([await world.keys(), await closedAtMs()]).toEqual([['game2/x'], null]);
  });

  it('changes nothing if it is a dry run, which says what would be freed', async () => {
    await open({ 'game/a': 1, 'game/b': 2 });
    const plan = { objectCount: 2, bytes: 3, dueAtMs: world.nowMs, waitsFor: null };
    expect(await del({ dryRun: true })).toEqual(plan);
    expect([await closedAtMs(), world.requests]).toEqual([null, []]);
    expect(await del()).toEqual(plan);
    expect(await closedAtMs()).toBe(world.nowMs);
    expect(world.requests).toEqual([{ tenant, reason: 'delete', full: false }]);
  });

  it('ends what belongs to it, unless it is a dry run', async () => {
    await open({ 'game/a': 1 });
    const closed: object[] = [];
    belonging({ closeRepo: async (ended) => void closed.push(ended) });
    await del({ dryRun: true });
    expect(closed).toEqual([]);
    await del();
    expect(closed).toMatchObject([path]);
  });

  it('tells of one that was not counted that what it frees is unknown, not zero', async () => {
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

  it('frees what was counted, although somebody removed it around the API since', async () => {
    await open({ 'game/a': 1, 'game/b': 2 });
    for (const name of ['a', 'b']) await world.objects.delete([`${tenant}/game/${name}`]);
    expect(await del()).toMatchObject({ objectCount: 2, bytes: 3 });
  });

  it('frees nothing more once the repo is empty and was counted, until it is opened', async () => {
    await open({ 'game/a': 1 });
    const first = await del();
    await world.consume();
    expect(await del()).toEqual({ ...first, objectCount: 0, bytes: 0 });
  });

  it('is of the same time when it is asked for again', async () => {
    await open({ 'game/a': 1 });
    const first = await del();
    const close = vi.spyOn(world.ledger, 'closeRepo');
    world.nowMs += 1000;
    expect(await del()).toEqual(first);
    expect(world.requests).toHaveLength(2);
    expect(await closedAtMs()).toBe(first?.dueAtMs);
    expect(close).not.toHaveBeenCalled();
  });
});

describe('a repo that is being deleted', () => {
  it('is emptied and reconciled, and opened once no batch from before its closing can be running', async () => {
    await open({ 'game/a': 1, 'game/b': 2 });
    await del();
    expect(await world.consume()).toBe('requeued');
    expect(world.requests.at(-1)).toEqual({ tenant, reason: 'unfinished', full: false });
    expect(await world.keys()).toEqual(['game2/x']);
    expect((await world.record()).scanned).toMatchObject({ storedBytes: 7, objectCount: 1 });
    expect(await world.repo(repo)).toMatchObject({ objectCount: 0, closedAtMs: expect.any(Number) });
    // If that request is lost, the schedule requests another.
    expect(await world.isDue()).toBe(true);
    expect(await later(minute + 1)).toBe('done');
    expect(await world.repo(repo)).toMatchObject({ objectCount: 0, closedAtMs: null });
    expect([await world.isDue(), await del()]).toEqual([false, undefined]);
  });

  it('also loses objects that can only come from an import, whatever their names', async () => {
    const names = ['über/größe', 'a/b/c/', ' ', '\u{1f600}', 'A'.repeat(900), '~', '0', '.', '%2f', 'x\ny'];
    await open(Object.fromEntries(names.map((name) => [`game/${name}`, 3])));
    await del();
    await world.consume();
    expect(await world.keys()).toEqual(['game2/x']);
    expect((await world.record()).scanned).toMatchObject({ storedBytes: 7, objectCount: 1 });
  });

  it('is due when the last live reservation of it is lapsed, and says that it waits for uploads', async () => {
    await open({ [`game/${oidOf(1)}`]: 5 });
    await world.push(repo, { [oidOf(2)]: 6 });
    world.nowMs += minute;
    await world.push(repo, { [oidOf(3)]: 7 });
    const dueAtMs = world.nowMs + 36 * minute + 10_001;
    await world.push('game2', { [oidOf(4)]: 5_000_000_000 });
    const plan = { objectCount: 1, bytes: 5, dueAtMs, waitsFor: 'uploads' };
    for (const dryRun of [true, false]) expect(await del({ dryRun })).toEqual(plan);
    world.nowMs += minute;
    expect(await del()).toEqual(plan);
    await later(dueAtMs - world.nowMs);
    expect(await closedAtMs()).not.toBe(null);
    world.nowMs += 1;
    expect(await del({ dryRun: true })).toMatchObject({ waitsFor: null });
    await world.consume();
    expect(await closedAtMs()).toBe(null);
  });

  it('stays closed while a URL of it may be used, though it is empty, and is opened after that', async () => {
    await open({ [`game/${oidOf(1)}`]: 5 });
    await world.push(repo, { [oidOf(2)]: 6 });
    await del();
    expect(await later(2 * minute)).toBe('done');
    expect(await world.keys()).toEqual(['game2/x']);
    expect(await world.repo(repo)).toMatchObject({ objectCount: 0, closedAtMs: expect.any(Number) });
    expect(await world.isDue()).toBe(true);
    await later((world.reservations[0]?.lapsedAtMs ?? 0) - world.nowMs);
    expect(await closedAtMs()).toEqual(expect.any(Number));
    await later(1);
    expect(await closedAtMs()).toBe(null);
  });

  it('stays due even if its lapsed reservations are deleted by another reconcile', async () => {
    await open({});
    await world.upload(repo, { [oidOf(2)]: 6 });
    await del();
    await world.consume();
    world.nowMs += 40 * minute;
    for (const { id, repo: of } of world.reservations)
      await world.ledger.deleteReservation({ tenant, repo: of, reservationId: id });
    expect(await world.isDue()).toBe(true);
    await world.consume();
    expect(await world.keys()).toEqual(['game2/x']);
  });

  it('shows its progress while it is emptied', async () => {
    await open(many(5000));
    const commit = vi.spyOn(world.ledger, 'commitRepo');
    await del();
    world.beforeDelete = () => {
      world.nowMs += 15;
    };
    await world.consume();
    expect(commit.mock.calls.map(([input]) => input.repo.objectCount)).toEqual([3000, 1000, 0]);
  });

  it('is continued by the next message if the time is up', async () => {
    await open(many(3000));
    await del();
    world.requests.length = 0;
    world.beforeDelete = () => {
      world.nowMs += 50;
    };
    // Each deletion of 1,000 objects takes 50 s of the 2 minutes, and 70 s are kept back.
    const runShortly = () => world.consume({ limitMs: 2 * minute });
    expect(await runShortly()).toBe('requeued');
    expect(world.requests).toEqual([{ tenant, reason: 'unfinished', full: false }]);
    expect(await world.keys()).toHaveLength(2001);
    expect(await world.repo(repo)).toMatchObject({ objectCount: 2000 });
    expect([await runShortly(), await runShortly()]).toEqual(['requeued', 'requeued']);
    expect(await world.keys()).toEqual(['game2/x']);
    expect([await world.consume(), await closedAtMs()]).toEqual(['done', null]);
  });
});
