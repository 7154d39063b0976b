import { beforeEach, describe, expect, it, vi } from 'vitest';
import { deleteTenant } from '../../../../../lambda/core/ledger/deletes.ts';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { isGone } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { createTenant } from '../../../../../lambda/frame/access/tenants.ts';
import { createToken } from '../../../../../lambda/frame/access/tokens.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { unlimitedRepo } from '../../../../support/tenant-record.ts';

describe('a tenant that is being deleted', () => {
  let world: MemoryStack;
  const del = async (dryRun = false) => deleteTenant(world.deps, { tenant: await world.record(), dryRun });
  const count = async (afterMs = 1) => {
    world.nowMs += afterMs;
    await world.consume({ full: true });
  };
  const due = async () => (await world.ledger.dueTenants({ untilMs: world.nowMs, tenantsMax: 1 })).due;

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ 'game/a': 1, 'game/b': 2, 'art/c': 4 });
    world.objects.put('acme2/game/a', 100);
    await world.create();
    for (const scope of ['read', 'write'] as const)
      await createToken(world.deps, { tenant, scope, label: null });
  });

  it('is not changed by a dry run, which says what would be freed', async () => {
    const plan = { objectCount: 3, bytes: 7, dueAtMs: world.nowMs, waitsFor: null };
    expect(await del(true)).toEqual(plan);
    expect((await world.record()).closedAtMs).toBe(null);
    expect(await world.tokens.list(tenant)).toHaveLength(2);
    expect(world.requests).toEqual([]);
    expect(await del()).toEqual(plan);
  });

  it('loses its tokens and what belongs to it at once, and is due; when it is deleted again, it keeps its time', async () => {
    const closed: string[] = [];
    const more = { closeTenant: async (ended: string) => void closed.push(ended) };
    Object.assign(world.deps, { belongings: [...world.deps.belongings, more] });
    const first = await del();
    expect([await world.tokens.list(tenant), closed]).toEqual([[], [tenant]]);
    expect(world.requests).toEqual([{ tenant, reason: 'delete', full: true }]);
    expect(await due()).toMatchObject([{ tenant, full: true }]);
    world.nowMs += 5;
    expect(await del()).toEqual(first);
    expect(world.requests).toHaveLength(2);
  });

  it('is emptied though its tokens are not all deleted in time', async () => {
    vi.spyOn(world.tokens, 'delete').mockRejectedValue(new LedgerUnavailableError('It is too late.'));
    await expect(del()).rejects.toThrow(LedgerUnavailableError);
    expect(world.requests).toEqual([{ tenant, reason: 'delete', full: true }]);
  });

  it('has several tokens and rules deleted at a time', async () => {
    for (let index = 0; index < 40; index += 1)
      await createToken(world.deps, { tenant, scope: 'read', label: null });
    const remove = world.tokens.delete.bind(world.tokens);
    let [running, most] = [0, 0];
    vi.spyOn(world.tokens, 'delete').mockImplementation(async (token) => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      return remove(token);
    });
    await del();
    expect([most, await world.tokens.list(tenant)]).toEqual([16, []]);
  });

  it('need not have been counted; then what it frees is unknown, not zero', async () => {
    world = new MemoryStack();
    world.put({ 'game/a': 1 });
    await createTenant(world.deps, { tenant, plan: null, limitBytes: null });
    expect(await del()).toMatchObject({ objectCount: null, bytes: null });
  });

  it('is emptied, including repos that the ledger does not know and objects in no repo', async () => {
    world.put({ 'unknown/x': 8, 'stray-one': 16, 'stray/': 1, '/nameless': 32, '/': 64, 'a/b/c': 2 });
    await del();
    expect(isGone(await world.record())).toBe(false);
    await count();
    expect(await world.keys()).toEqual([]);
    expect(world.objects.objectCount).toBe(1);
    const record = await world.record();
    expect(record).toMatchObject({ scanned: { storedBytes: 0, objectCount: 0 }, committedBytes: 0 });
    expect(isGone(record)).toBe(true);
  });

  it('stays due if a reconcile that began before its closing comes in between', async () => {
    await del();
    world.nowMs += 1;
    // From a consumer that read the tenant before it was closed. The request to empty the tenant is lost.
    expect(await reconcile(world.deps, { tenant, full: true })).toMatchObject({ kind: 'committed' });
    expect(await due()).toMatchObject([{ tenant, full: true }]);
    await count();
    expect(await world.keys()).toEqual([]);
    // Once it is empty, it is no longer due.
    await count(2 * minute);
    expect(await due()).toEqual([]);
  });

  it('is not gone because of a count from before its closing', async () => {
    world = new MemoryStack();
    await world.create();
    await del();
    expect(isGone(await world.record())).toBe(false);
    await count();
    expect(isGone(await world.record())).toBe(true);
  });

  it('is not gone while an admitted upload may still arrive, and loses that object, too', async () => {
    await world.push('fresh', { [oidOf(1)]: 9 });
    await del();
    await count();
    expect([await world.keys(), isGone(await world.record())]).toEqual([[], false]);
    world.put({ [`fresh/${oidOf(1)}`]: 9 });
    world.nowMs += 40 * minute;
    expect(await world.isDue()).toBe(true);
    await world.consume();
    expect([await world.keys(), isGone(await world.record())]).toEqual([[], true]);
  });

  it('accepts no more batches, not even one that was running', async () => {
    const { limitBytes } = await world.record();
    await del();
    const added = { tenant, repo: unlimitedRepo, sumBytes: 9, limitBytes };
    expect((await world.ledger.addCommitted(added)).kind).toBe('refused');
    expect(await world.push('game', { [oidOf(1)]: 9 })).toBe('absent');
  });

  it('keeps its name taken', async () => {
    await del();
    await count();
    const create = async (name: string) =>
      (await createTenant(world.deps, { tenant: name, plan: null, limitBytes: null })).kind;
    expect([await create(tenant), await create('other')]).toEqual(['deleted', 'created']);
  });
});
