import { beforeEach, describe, expect, it, vi } from 'vitest';
import { runDeletion, runDeletions } from '../../../../../lambda/core/ledger/run-deletions.ts';
import {
  type ObjectStore,
  StoreRefusedError,
  StoreUnavailableError,
} from '../../../../../lambda/core/store/rules/store.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

describe('the deletions that are due', () => {
  let world: MemoryStack;
  const run = (untilMs: number) => runDeletions(world.deps, { tenant, untilMs, deletionCount: 0 });
  const states = async () => (await world.deletions()).map(({ state }) => state);

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ 'app/a': 1, 'app/b': 2 });
    await world.create();
    for (const name of ['a', 'b']) await world.mark({ [name]: 1 }, { id: name });
  });

  it('are run until the time is up: the next is not begun', async () => {
    world.beforeDelete = () => {
      world.nowMs += 10;
    };
    expect(await run(world.nowMs + 5)).toBe(false);
    expect(await states()).toEqual(['deleted', 'scheduled']);
    expect(await run(9e15)).toBe(true);
    expect(await states()).toEqual(['deleted', 'deleted']);
  });

  it('are remembered as gone while a batch may still need them, whatever runs meanwhile', async () => {
    await run(9e15);
    const [gone] = await world.deletions();
    world.nowMs = gone?.deadlineMs ?? 0;
    await run(9e15);
    expect(await states()).toEqual(['deleted', 'deleted']);
    world.nowMs += 1;
    await run(9e15);
    expect(await states()).toEqual([]);
  });

  it('end with an error that is not the store being silent', async () => {
    world.beforeDelete = () => {
      throw new TypeError('A mistake of ours.');
    };
    await expect(run(9e15)).rejects.toThrow('A mistake of ours.');
  });

  it('may be begun at the very moment at which the time is up', async () => {
    expect(await run(world.nowMs)).toBe(true);
    expect(await states()).toEqual(['deleted', 'deleted']);
  });

  it('are tried in turn: those that were never tried come first', async () => {
    await world.entry(await world.deletion(), world.nowMs);
    world.nowMs += minute;
    const order: string[] = [];
    world.beforeDelete = (key) => void order.push(key);
    await run(9e15);
    expect(order).toEqual([`${tenant}/app/b`, `${tenant}/app/a`]);
  });

  it('are left after one that the store did not answer, which is logged', async () => {
    const warn = vi.spyOn(world.deps.log, 'warn');
    world.beforeDelete = () => {
      throw new StoreUnavailableError('No answer.');
    };
    expect(await run(9e15)).toBe(true);
    expect(await states()).toEqual(['deleting', 'scheduled']);
    const problem = { tenant, repo: 'app', failed: 1, error: new StoreUnavailableError('No answer.') };
    expect(warn.mock.calls).toEqual([['deletes got no response; retrying', problem]]);
    warn.mockRestore();
  });

  it('are given up after a week in which the store did none of it, and are reported until then', async () => {
    const error = vi.spyOn(world.deps.log, 'error');
    const reported = { tenant, repo: 'app', what: 'a delete that started over an hour ago' };
    world.beforeDelete = () => {
      throw new StoreUnavailableError('InvalidRequest');
    };
    const again = async () => {
      world.nowMs += 2 * minute;
      await run(9e15);
    };
    await run(9e15);
    await again();
    const dayMs = 24 * 60 * minute;
    world.nowMs += 2 * 60 * minute;
    await again();
    // The server was off. So it's tried again, before it's given up.
    world.nowMs += 10 * dayMs;
    for (let runs = 0; runs < 3; runs += 1) await again();
    expect(error.mock.calls).toEqual([
      ...Array.from({ length: 3 }, () => ['delete or gc failed', reported]),
      ['delete canceled after a week', { tenant, repo: 'app', objects: ['b'] }],
      ['delete canceled after a week', { tenant, repo: 'app', objects: ['a'] }],
    ]);
    await again();
    await again();
    expect(await states()).toEqual([]);
    // What is there counts.
    world.beforeDelete = () => {};
    await world.consume();
    expect((await world.record()).scanned?.storedBytes).toBe(3);
    error.mockRestore();
  });

  it('are fewer by those that are gone, also if one fails', async () => {
    await run(9e15);
    world.put({ 'app/c': 1 });
    await world.mark({ c: 1 }, { id: 'c' });
    world.nowMs += 10 * minute;
    world.beforeDelete = () => {
      throw new StoreRefusedError('AccessDenied');
    };
    const count = vi.spyOn(world.ledger, 'countDeletions');
    await expect(runDeletions(world.deps, { tenant, untilMs: 9e15, deletionCount: 3 })).rejects.toThrow(
      'AccessDenied',
    );
    expect(count.mock.calls).toEqual([[{ tenant, difference: -2 }]]);
  });

  it('log what they deleted, and nothing else', async () => {
    const [info, warn] = [vi.spyOn(world.deps.log, 'info'), vi.spyOn(world.deps.log, 'warn')];
    await run(9e15);
    const deleted = { tenant, repo: 'app', objectCount: 1, bytes: 1, held: 0 };
    expect(info.mock.calls).toEqual([
      ['deleted', deleted],
      ['deleted', deleted],
    ]);
    expect(warn).not.toHaveBeenCalled();
    info.mockRestore();
    warn.mockRestore();
  });

  it('remove no record but that of what is gone', async () => {
    const remove = vi.spyOn(world.ledger, 'removeDeletion');
    for (let runs = 0; runs < 2; runs += 1) await run(9e15);
    expect(remove).not.toHaveBeenCalled();
  });

  it('correct how many the tenant has by what was read; if that was right, nothing is written', async () => {
    const count = vi.spyOn(world.ledger, 'countDeletions');
    const runWith = (deletionCount: number) =>
      runDeletions(world.deps, { tenant, untilMs: 9e15, deletionCount });
    await runWith(2);
    expect(count).not.toHaveBeenCalled();
    await runWith(5);
    expect(count.mock.calls).toEqual([[{ tenant, difference: -3 }]]);
  });

  it('give each delete until the deadline of their claim', async () => {
    const deadlines: number[] = [];
    const store: ObjectStore = {
      ...world.deps.store,
      delete: async (keys, { deadlineMs }) => {
        deadlines.push(...keys.map(() => deadlineMs));
        return new Map();
      },
    };
    await runDeletions({ ...world.deps, store }, { tenant, untilMs: 9e15, deletionCount: 0 });
    expect(deadlines).toEqual([world.nowMs + minute, world.nowMs + minute]);
  });
});

describe('one deletion', () => {
  const setUp = async (names: string[]) => {
    const world = new MemoryStack();
    world.put(Object.fromEntries(names.map((name) => [`app/${name}`, 3])));
    await world.create();
    const deletion = await world.mark(Object.fromEntries(names.map((name) => [name, 3])));
    return { world, deletion };
  };

  it('is refused to whoever comes second, and deletes nothing', async () => {
    const { world, deletion } = await setUp(['a']);
    await world.entry(deletion);
    const run = await runDeletion(world.deps, { tenant, deletion, isClosed: false });
    expect([run, await world.keys()]).toEqual([{ kind: 'refused' }, ['app/a']]);
  });

  it('announces nothing if reservations hold all of it, and tells how much', async () => {
    const { world, deletion } = await setUp([oidOf(1)]);
    await world.objects.delete([`${tenant}/app/${oidOf(1)}`]);
    await world.push('app', { [oidOf(1)]: 3 });
    const run = await runDeletion(world.deps, { tenant, deletion, isClosed: false });
    // The push took it out of the deletion.
    expect(run).toMatchObject({ kind: 'ended', heldCount: 0 });
    expect((await world.record()).deletedBytes).toBe(0);
    const announce = vi.spyOn(world.ledger, 'announceDelete');
    const again = await world.mark({ [oidOf(1)]: 3 }, { id: 'e' });
    expect(await runDeletion(world.deps, { tenant, deletion: again, isClosed: false })).toMatchObject({
      kind: 'ended',
      heldCount: 1,
    });
    expect(announce).not.toHaveBeenCalled();
  });
});
