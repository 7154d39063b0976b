import { describe, expect, it, vi } from 'vitest';
import { largeRepoStack, repo } from '../../../../support/memory/large-repo-stack.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { measured } from './measured.ts';

const day = 24 * 60 * minute;
const sha = (index: number) => oidOf(index * 7919);

/** Puts objects of a byte each, of which each third is older than a year, and another one tells no time. */
function fill(world: MemoryStack, repo: string, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const storedAtMs = [world.nowMs - 366 * day, world.nowMs - 364 * day, undefined][index % 3];
    world.objects.put(`${tenant}/${repo}/${sha(index + 1)}`, 1, undefined, storedAtMs);
  }
}

describe('what is older than a year', () => {
  const old = async (world: MemoryStack) => (await world.record()).oldBytes;

  it.each([
    ['on its own', { a: 30 }, 10],
    ['on its own, in many pages', { a: 9000 }, 3000],
    ['together with others', { a: 3, b: 30, c: 6, d: 9 }, 16],
    ['together with others, one of which fills pages', { a: 3, b: 6000, bb: 6, c: 9 }, 2006],
  ])('is found by a full count of a repo %s', async (_how, repos, bytes) => {
    const world = new MemoryStack();
    await world.create();
    expect(await old(world)).toBe(0);
    for (const [repo, count] of Object.entries(repos)) fill(world, repo, count);
    // The first count of them knows nothing to plan with, the next ones do.
    for (let times = 0; times < 3; times += 1) {
      world.nowMs += minute;
      await world.consume({ full: true });
      expect(await old(world)).toBe(bytes);
    }
  });

  it('needs no LIST request, and is asked of full counts alone', async () => {
    const world = new MemoryStack();
    await world.create();
    for (const repo of ['a', 'b', 'c']) fill(world, repo, 2000);
    await world.consume({ full: true });
    const { listPage } = world.objects;
    const reads: unknown[] = [];
    const watched = async (full: boolean, hasTimes: boolean) => {
      reads.length = 0;
      world.objects.listPage = (request) => {
        reads.push(request.readsTimes ?? false);
        const { readsTimes: _, ...rest } = request;
        return listPage.call(world.objects, hasTimes ? request : rest);
      };
      const { lists } = await measured(world, () => world.consume({ full }));
      return { lists, reads: new Set(reads) };
    };
    expect(await watched(true, true)).toEqual({ ...(await watched(true, false)), reads: new Set([true]) });
    await world.ledger.markDirty({ tenant, repo: 'b', dirtyToken: 'd' });
    expect((await watched(false, true)).reads).toEqual(new Set([false]));
  });

  it('is as of the last full count', async () => {
    const world = new MemoryStack();
    await world.create();
    fill(world, 'a', 30);
    await world.consume({ full: true });
    const { fullScannedAtMs } = await world.record();
    world.nowMs += 2 * day;
    fill(world, 'b', 30);
    await world.ledger.markDirty({ tenant, repo: 'b', dirtyToken: 'd' });
    await world.consume();
    expect(await world.record()).toMatchObject({
      oldBytes: 10,
      fullScannedAtMs,
      scanned: { storedBytes: 60 },
    });
    await world.consume({ full: true });
    // Those of `a` that were a day younger are a year old now.
    expect(await old(world)).toBe(20 + 10);
  });

  it('is that of the shards of a large repo, unless an older version scanned one', async () => {
    const world = await largeRepoStack();
    fill(world, repo, 60);
    fill(world, 'other', 3);
    const scanAll = async () => {
      world.nowMs += 8 * day;
      await world.consume({ full: true });
      return old(world);
    };
    const { storedBytes } = (await world.record()).scanned ?? {};
    expect(await old(world)).toBe(0);
    expect(await scanAll()).toBe(20 + 20 + 1 + 1);
    expect((await world.record()).scanned?.storedBytes).toBe((storedBytes ?? 0) + 60 + 3);
    const [shard, ...others] = await world.shards();
    if (!shard) throw new Error('There is no shard.');
    const { oldBytes: _, ...older } = shard;
    vi.spyOn(world.ledger, 'shards').mockImplementation(async function* () {
      yield [older, ...others];
    });
    await world.consume({ full: true });
    expect(await old(world)).toBeUndefined();
  });

  it('is unknown of what lies in no repo, if the folders are listed', async () => {
    const world = new MemoryStack();
    fill(world, 'a', 30);
    world.put({ readme: 5 });
    await world.create();
    expect(await old(world)).toBeUndefined();
    await world.objects.delete([`${tenant}/readme`]);
    await world.consume({ full: true });
    expect(await old(world)).toBe(10);
  });
});
