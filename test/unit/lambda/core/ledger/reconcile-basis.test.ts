import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type ReconcileInput, reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { MemoryStack, oidOf, tenant } from '../../../../support/memory/stack.ts';

const [a, b, c] = [oidOf(1), oidOf(2), oidOf(3)];

describe('a reconcile that a batch makes for itself', () => {
  let world: MemoryStack;
  const promise = (id: string, repo: string, entries: Record<string, number>, lapsedAtMs = 9e15) =>
    world.ledger.putReservation({
      tenant,
      reservation: {
        id,
        repo,
        state: 'issued',
        entries: new Map(Object.entries(entries)),
        createdAtMs: world.nowMs,
        expiresAtMs: lapsedAtMs,
        lapsedAtMs,
        lookAtMs: null,
      },
    });
  const run = async (exclude?: ReconcileInput['exclude']) => {
    const outcome = await reconcile(world.deps, { tenant, full: false, ...(exclude && { exclude }) });
    if (outcome.kind !== 'committed') throw new Error(outcome.kind);
    return outcome;
  };
  const own = { reservationId: 'own', repo: 'app', oids: new Set([a, b]) };

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(1000);
  });

  it('does not count its own reservation', async () => {
    await promise('own', 'app', { [a]: 5 });
    await promise('other', 'app', { [a]: 7 });
    expect((await run(own)).tenant.committedBytes).toBe(7);
    expect((await run()).tenant.committedBytes).toBe(7);
  });

  it('learns what others promise of its objects, and which of them the scan saw, in its own repo alone', async () => {
    await promise('own', 'app', { [a]: 5, [b]: 6 });
    await promise('other', 'app', { [a]: 7, [c]: 1 });
    await promise('elsewhere', 'web', { [b]: 9 });
    world.put({ [`app/${b}`]: 6, [`app/${c}`]: 1, [`web/${a}`]: 5 });
    const { basis } = await run(own);
    expect(basis.promised).toEqual(new Map([[a, { isIssued: true, largestBytes: 7 }]]));
    expect([b, c, a].filter((oid) => basis.seen.has(oid))).toEqual([b, c]);
  });

  it('takes no promise for one that was lapsed when its scan began', async () => {
    await promise('dead', 'app', { [a]: 7 }, world.nowMs - 1);
    expect((await run(own)).basis.promised).toEqual(new Map());
  });

  it('learns nothing if it has no reservation', async () => {
    await promise('other', 'app', { [a]: 7 });
    expect((await run()).basis).toEqual({ promised: new Map(), seen: new Set() });
  });
});

describe('a reconcile', () => {
  it('of a tenant that was never counted lists all of it', async () => {
    const world = new MemoryStack();
    const times = { createdAtMs: 0, dueAtMs: 9e15 };
    await world.ledger.createTenant({ tenant, plan: null, limitBytes: 9, scanned: null, ...times });
    world.put({ [`app/${a}`]: 5 });
    const outcome = await reconcile(world.deps, { tenant, full: false });
    expect(outcome).toMatchObject({
      tenant: { scanned: { storedBytes: 5 }, fullScannedAtMs: world.nowMs },
    });
  });

  it('of which one repo was overtaken does not commit its tenant', async () => {
    const world = new MemoryStack();
    world.put({ [`app/${a}`]: 5 });
    await world.create(1000);
    vi.spyOn(world.ledger, 'commitRepo').mockResolvedValue('superseded');
    const commit = vi.spyOn(world.ledger, 'commitTenant');
    await world.ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'x' });
    expect(await reconcile(world.deps, { tenant, full: false })).toEqual({ kind: 'superseded' });
    expect(commit).not.toHaveBeenCalled();
  });
});
