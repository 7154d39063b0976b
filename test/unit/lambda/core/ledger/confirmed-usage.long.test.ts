import { expect, it } from 'vitest';
import { MemoryStack, oidOf } from '../../../../support/memory/stack.ts';

it.each([
  ['the same object', () => oidOf(7)],
  ['another object each time', (index: number) => oidOf(1000 + index)],
] as const)(
  'a stream of uploads of one byte that are never sent (%s) turns no 507 into a 429',
  async (_, oid) => {
    const world = new MemoryStack();
    await world.create(10_000);
    world.put({ [`app/${oidOf(1)}`]: 9000 });
    await world.consume({ full: true });
    const kinds = new Set<string | undefined>();
    for (let index = 0; index < 45 * 12; index += 1) {
      world.nowMs += 5000;
      await world.push('noise', { [oid(index)]: 1 });
      if (index % 12 === 0) await world.consume();
      if (index < 38 * 12) continue;
      // Far more than what is left: 9000 bytes are stored, and at most 432 promised.
      const verdicts = await world.push('app', { [oidOf(2)]: 2000 });
      kinds.add(typeof verdicts === 'string' ? verdicts : verdicts.get(oidOf(2))?.kind);
    }
    expect([...kinds]).toEqual(['over-limit']);
  },
);
