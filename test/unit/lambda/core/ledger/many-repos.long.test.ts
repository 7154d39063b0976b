import { describe, expect, it } from 'vitest';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { measured } from './measured.ts';

const sha = (index: number) => oidOf(index * 7919);

describe('20,000 repos of 3 objects', () => {
  it('are counted in full with less than 100 LISTs, the first time and later, and are written once', async () => {
    const world = new MemoryStack();
    for (let repo = 0; repo < 20_000; repo += 1)
      for (let object = 0; object < 3; object += 1)
        world.objects.put(`${tenant}/repo${repo}/${sha(3 * repo + object)}`, repo + object);
    world.put({ beside: 5, '/nameless': 6 });
    const storedBytes = 20_000 * 3 + (19_999 * 20_000 * 3) / 2 + 11;

    const first = await measured(world, () => world.create());
    expect(first).toMatchObject({ lists: expect.any(Number), repoWrites: 20_001 });
    expect(first.lists).toBeLessThan(100);
    expect((await world.record()).scanned).toMatchObject({ storedBytes, objectCount: 60_002 });

    world.nowMs += 25 * 60 * minute;
    const second = await measured(world, () => world.consume({ full: true }));
    expect(second.repoWrites).toBe(0);
    expect(second.lists).toBeLessThan(75);
    expect((await world.record()).scanned).toMatchObject({
      storedBytes,
      objectCount: 60_002,
      scannedAtMs: world.nowMs,
    });

    world.put({ [`repo77/${sha(0)}`]: 1000, [`fresh/${sha(1)}`]: 1 });
    await world.objects.delete([`${tenant}/repo5/${sha(15)}`]);
    const third = await measured(world, () => world.consume({ full: true }));
    expect(third.repoWrites).toBe(3);
    expect((await world.record()).scanned).toMatchObject({
      storedBytes: storedBytes + 1001 - 5,
      objectCount: 60_003,
    });
  });
});
