import { beforeEach, describe, expect, it, vi } from 'vitest';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { MemoryStack, tenant } from '../../../../support/memory/stack.ts';

describe('lapsed reservations that a scan has seen', () => {
  let world: MemoryStack;
  const put = async (count: number) => {
    const times = { createdAtMs: 0, expiresAtMs: 0, lapsedAtMs: 0, lookAtMs: null };
    for (let index = 0; index < count; index += 1) {
      const [id, entries] = [`r${index}`, new Map<string, number>()];
      const reservation = { id, repo: 'app', state: 'issued', entries, ...times } as const;
      await world.ledger.putReservation({ tenant, reservation });
    }
  };
  const left = () => world.ledger.inspect(tenant).reservations.length;

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create();
  });

  it('are deleted while somebody waits, but for those above a thousand', async () => {
    await put(1003);
    await reconcile(world.deps, { tenant, full: false, isAwaited: true });
    expect(left()).toBe(3);
    await reconcile(world.deps, { tenant, full: false, isAwaited: true });
    expect(left()).toBe(0);
  });

  it('are all deleted if nobody waits', async () => {
    await put(1003);
    await reconcile(world.deps, { tenant, full: false });
    expect(left()).toBe(0);
  });

  it('are left to the next reconcile from the deadline on', async () => {
    await put(1);
    const { commitTenant } = world.ledger;
    const deadlineMs = world.nowMs + 10;
    const committed = vi.spyOn(world.ledger, 'commitTenant');
    const run = async (tookMs: number) => {
      committed.mockImplementationOnce(async (commit) => {
        world.nowMs += tookMs;
        return commitTenant.call(world.ledger, commit);
      });
      await reconcile(world.deps, { tenant, full: false, deadlineMs: world.nowMs + 10 });
      return left();
    };
    expect([await run(10), world.nowMs]).toEqual([1, deadlineMs]);
    expect(await run(9)).toBe(0);
  });
});
