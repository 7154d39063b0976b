import { beforeEach, describe, expect, it } from 'vitest';
import { newDeletion } from '../../../../../lambda/domain/deletion.ts';
import { runDeletions } from '../../../../../lambda/use-cases/deletes/run-deletions.ts';
import { MemoryStack, tenant } from '../../../../support/memory/stack.ts';

describe('the deletions that are due', () => {
  let world: MemoryStack;
  const run = (untilMs: number) => runDeletions(world.deps, { tenant, untilMs });
  const states = async () => (await world.deletions()).map(({ state }) => state);

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ 'app/a': 1, 'app/b': 2 });
    await world.create();
    for (const name of ['a', 'b']) {
      const objects = new Map([[name, 1]]);
      const deletion = newDeletion({ id: name, repo: 'app', objects, dueAtMs: world.nowMs });
      await world.ledger.putDeletion({ tenant, deletion });
    }
  });

  it('are run until the time is up: the next is not begun', async () => {
    world.beforeDelete = () => {
      world.nowMs += 10;
    };
    expect(await run(world.nowMs + 5)).toBe(false);
    expect(await states()).toEqual(['gone', 'marked']);
    expect(await run(9e15)).toBe(true);
    expect(await states()).toEqual(['gone', 'gone']);
  });

  it('are remembered as gone while a batch may still need them, whatever runs meanwhile', async () => {
    await run(9e15);
    const [gone] = await world.deletions();
    world.nowMs = gone?.deadlineMs ?? 0;
    await run(9e15);
    expect(await states()).toEqual(['gone', 'gone']);
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
});
