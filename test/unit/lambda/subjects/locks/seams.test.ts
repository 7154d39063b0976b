import { beforeEach, describe, expect, it } from 'vitest';
import { takeLock } from '../../../../../lambda/subjects/locks/lfs-routes.ts';
import { createDynamoDbLocks } from '../../../../../lambda/subjects/locks/lock-store.ts';
import { lockPageMax } from '../../../../../lambda/subjects/locks/rules/locks.ts';
import { lockBelongings } from '../../../../../lambda/subjects/locks/seams.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { storeClass } from '../../../../support/memory/stores.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

class MemoryLocks extends storeClass(createDynamoDbLocks) {}

const token = tokenRecord('secret', { tenant });

describe('the locks', () => {
  let world: MemoryStack;
  const lock = (repo: string, path = 'a.bin') =>
    takeLock(world.deps, { isRepoKnown: true, tenant, repo, path, token });
  const locksOf = async (repo: string) =>
    (await world.deps.locks.listPage({ tenant, repo, pageSize: 10 })).locks.length;

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ [`a/${oidOf(1)}`]: 1, [`b/${oidOf(2)}`]: 2 });
    await world.create();
    for (const repo of ['a', 'b', 'empty']) await lock(repo);
  });

  it('of a repo go with it, also one that was taken while it was being closed', async () => {
    await world.ledger.closeRepo({ tenant, repo: 'a', closedAtMs: world.nowMs });
    await world.consume();
    expect(await world.keys()).toEqual([`b/${oidOf(2)}`]);
    await lock('a', 'late.bin');
    expect((await world.repo('a'))?.closedAtMs).not.toBeNull();
    world.nowMs += world.deps.settings.pendingVoidAfterMs + 1;
    await world.consume();
    expect((await world.repo('a'))?.closedAtMs).toBeNull();
    expect([await locksOf('a'), await locksOf('b'), await locksOf('empty')]).toEqual([0, 1, 1]);
  });

  it('of a tenant go with it, of repos without an object as well', async () => {
    await world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
    await world.consume({ full: true });
    expect([await locksOf('a'), await locksOf('b'), await locksOf('empty')]).toEqual([0, 0, 0]);
  });

  it('that are many go a page at a time, until the time is up', async () => {
    const calls: number[] = [];
    const left = [true, true, false];
    const locks = Object.assign(new MemoryLocks(), {
      releaseSome: async ({ locksMax }: { locksMax: number }) => {
        calls.push(locksMax);
        world.nowMs += minute;
        return { count: locksMax, hasMore: left[(calls.length - 1) % 3] ?? false };
      },
    });
    const remove = (forMs: number) =>
      lockBelongings({ ...world.deps, locks }).forgetTenant?.({ tenant, untilMs: world.nowMs + forMs });
    expect(await remove(10 * minute)).toBe('done');
    expect(calls).toEqual(Array(3).fill(lockPageMax));
    expect(await remove(-1)).toBe('unfinished');
    expect(calls).toHaveLength(4);
    calls.length = 0;
    // The second begins at the very moment at which the time is up.
    left.fill(true);
    expect(await remove(minute)).toBe('unfinished');
    expect(calls).toHaveLength(2);
  });
});
