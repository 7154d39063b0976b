import { beforeEach, describe, expect, it, vi } from 'vitest';
import { addWithinLimit } from '../../../../../lambda/use-cases/uploads/decide-at-limit.ts';
import { MemoryStack, oidOf, tenant } from '../../../../support/memory/stack.ts';

const oid = oidOf(1);
const none: ReadonlyMap<string, number> = new Map();

describe('a batch at the limit', () => {
  let world: MemoryStack;
  const commit = (sumBytes: number) => world.ledger.addUnconditionally(tenant, sumBytes);

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(100);
  });

  it('whose bytes the counter holds already is still refused if the counter is above the limit', async () => {
    const chosen = new Map([[oid, 10]]);
    const add = async () =>
      (await addWithinLimit(world.deps, { tenant: await world.record(), chosen, notYetAdded: none })).kind;
    commit(100);
    expect(await add()).toBe('added');
    commit(1);
    expect(await add()).toBe('refused');
  });

  it('is admitted above the limit if it brings no bytes at all', async () => {
    commit(101);
    const input = { tenant: await world.record(), chosen: new Map([[oid, 0]]), notYetAdded: none };
    expect(await addWithinLimit(world.deps, input)).toEqual({ kind: 'added' });
  });

  it('is refused by the floor without a scan', async () => {
    const listed = vi.spyOn(world.objects, 'listPage');
    commit(50);
    expect(await world.push('app', { [oid]: 101 })).toMatchObject(
      new Map([[oid, { kind: 'over-limit', usedBytes: 0, limitBytes: 100 }]]),
    );
    expect(listed).not.toHaveBeenCalled();
  });

  it('that fits above the floor is admitted by a recount, if the counter was too high', async () => {
    commit(50);
    expect(await world.push('app', { [oid]: 60 })).toMatchObject(new Map([[oid, { kind: 'upload' }]]));
    expect((await world.record()).committedBytes).toBe(60);
  });

  it('does not take what another recount found for its own: its bytes are added once more', async () => {
    commit(50);
    const { beginReconcile, readTenant } = world.ledger;
    // Another reconcile holds the lease, and commits while the batch waits for it.
    vi.spyOn(world.ledger, 'beginReconcile').mockImplementationOnce(async (input) => {
      const other = await beginReconcile.call(world.ledger, input);
      if (other.kind !== 'begun') throw new Error(other.kind);
      vi.spyOn(world.ledger, 'readTenant').mockImplementationOnce(async (name) => {
        await world.ledger.commitTenant({
          tenant,
          epoch: other.epoch,
          correctionBytes: -50,
          floorBaseBytes: 0,
          floorUntilMs: 9e15,
          counted: { storedBytes: 0, objectCount: 0, countedAtMs: world.nowMs },
          listedUntilMs: 0,
          claimCount: 0,
          expiredNotes: [],
          dueAtMs: null,
        });
        return readTenant.call(world.ledger, name);
      });
      return { kind: 'busy', leaseUntilMs: input.leaseUntilMs };
    });
    expect(await world.push('app', { [oid]: 60 })).toMatchObject(new Map([[oid, { kind: 'upload' }]]));
    expect((await world.record()).committedBytes).toBe(60);
    // The next batch finds no room for as much again.
    expect(await world.push('app', { [oidOf(2)]: 60 })).toMatchObject(
      new Map([[oidOf(2), { kind: 'over-limit' }]]),
    );
  });
});
