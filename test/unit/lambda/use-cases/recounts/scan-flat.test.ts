import { describe, expect, it } from 'vitest';
import { allPages } from '../../../../../lambda/use-cases/all-pages.ts';
import { reconcile } from '../../../../../lambda/use-cases/recounts/reconcile.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { measured } from './measured.ts';

const sha = (index: number) => oidOf(index * 7919);

describe('a full count', () => {
  const counts = async (world: MemoryStack) => {
    const repos = await allPages(world.ledger.repos(tenant));
    return Object.fromEntries(
      repos.map(({ repo, objectCount, storedBytes }) => [repo, [objectCount, storedBytes]]),
    );
  };
  const fill = (world: MemoryStack, repo: string, count: number, from = 0) => {
    for (let index = 0; index < count; index += 1)
      world.objects.put(`${tenant}/${repo}/${sha(from + index)}`, 2);
  };

  it('hops over a repo that has grown, and counts it on its own', async () => {
    const world = new MemoryStack();
    for (const repo of ['a', 'b', 'c']) fill(world, repo, 3);
    await world.create();
    fill(world, 'b', 5000);
    fill(world, 'bb', 4);
    world.put({ 'b/~after': 9, 'b/ä': 9, b: 9 });
    const { lists } = await measured(world, () => world.consume({ full: true }));
    expect(await counts(world)).toEqual({
      a: [3, 6],
      b: [5002, 10_018],
      bb: [4, 8],
      c: [3, 6],
      '': [1, 9],
    });
    expect(lists).toBeLessThan(3 + 12);
  });

  it('counts a repo that is empty now as empty', async () => {
    const world = new MemoryStack();
    for (const repo of ['a', 'b', 'c']) fill(world, repo, 3);
    await world.create();
    for (let index = 0; index < 3; index += 1) await world.objects.delete(`${tenant}/b/${sha(index)}`);
    await world.consume({ full: true });
    expect(await counts(world)).toEqual({ a: [3, 6], b: [0, 0], c: [3, 6] });
  });

  it('sees what reservations wait for', async () => {
    const world = new MemoryStack();
    for (const repo of ['a', 'b', 'c']) fill(world, repo, 3);
    await world.create(1000);
    await world.push('b', { [sha(10)]: 2, [sha(11)]: 2 });
    world.objects.put(`${tenant}/b/${sha(10)}`, 2);
    await world.consume({ full: true });
    expect((await world.record()).committedBytes).toBe(9 * 2 + 2 + 2);
    world.objects.put(`${tenant}/b/${sha(11)}`, 2);
    await world.consume({ full: true });
    expect((await world.record()).committedBytes).toBe(9 * 2 + 4);
    expect((await world.ledger.readRepo({ tenant, repo: 'b' }))?.covered.size).toBe(1);
  });

  it('falls back to each repo on its own if the store lists in another order', async () => {
    const world = new MemoryStack();
    for (const repo of ['a', 'b', 'c']) fill(world, repo, 3);
    await world.create();
    fill(world, 'c', 4);
    const { listPage } = world.objects;
    world.objects.listPage = async (request) => {
      const page = await listPage.call(world.objects, request);
      if (request.prefix !== `${tenant}/`) return page;
      return { ...page, keyAt: (index) => page.keyAt(page.keyCount - 1 - index) };
    };
    await world.consume({ full: true });
    expect(await counts(world)).toEqual({ a: [3, 6], b: [3, 6], c: [4, 8] });
  });

  it('ends as unfinished at its deadline', async () => {
    const world = new MemoryStack();
    for (const repo of ['a', 'b', 'c']) fill(world, repo, 3);
    await world.create();
    const input = { tenant, full: true, deadlineMs: world.nowMs };
    expect(await reconcile(world.deps, input)).toEqual({ kind: 'unfinished' });
  });

  it('of a thousand repos that each changed lists them together', async () => {
    const world = new MemoryStack();
    for (let repo = 0; repo < 1000; repo += 1) fill(world, `repo${repo}`, 2);
    await world.create(1e6);
    for (let repo = 0; repo < 1000; repo += 1) await world.push(`repo${repo}`, { [sha(50)]: 1 });
    const { lists } = await measured(world, () => world.consume());
    expect(lists).toBeLessThan(10);
    expect((await world.record()).committedBytes).toBe(1000 * (4 + 1));
  });
});

describe('repos that a full count found unchanged', () => {
  it('are written again if a reconcile before was overtaken, so that its late writes are refused', async () => {
    const world = new MemoryStack();
    world.put({ 'a/1': 1, 'b/1': 1, 'c/1': 1 });
    await world.create();
    // A reconcile takes its epoch, and stops before it writes.
    const begun = await world.ledger.beginReconcile({
      tenant,
      holder: 'h',
      nowMs: world.nowMs,
      leaseUntilMs: world.nowMs,
    });
    if (begun.kind !== 'begun') throw new Error(begun.kind);
    world.nowMs += minute;
    expect((await measured(world, () => world.consume({ full: true }))).repoWrites).toBe(3);
    const late = { repo: 'a', storedBytes: 99, objectCount: 9, countedAtMs: 0, epoch: begun.epoch };
    const commit = {
      tenant,
      repo: { ...late, covered: new Set<string>(), putsUntilMs: 0 },
      dirtyTokenRead: null,
    };
    expect(await world.ledger.commitRepo(commit)).toBe('superseded');
    expect((await measured(world, () => world.consume({ full: true }))).repoWrites).toBe(0);
  });

  it('are shown with the age of that count', async () => {
    const world = new MemoryStack();
    world.put({ 'a/1': 1, 'b/1': 1, 'c/1': 1 });
    await world.create();
    world.nowMs += minute;
    await world.consume({ full: true });
    expect((await world.record()).fullCountedAtMs).toBe(world.nowMs);
    world.nowMs += minute;
    await world.consume();
    expect((await world.record()).fullCountedAtMs).toBe(world.nowMs - minute);
  });
});
