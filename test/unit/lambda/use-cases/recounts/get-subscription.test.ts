import { beforeEach, describe, expect, it, vi } from 'vitest';
import { defaultSettings } from '../../../../../lambda/rules/settings.ts';
import { getSubscription } from '../../../../../lambda/use-cases/recounts/get-subscription.ts';
import { MemoryStack, oidOf, tenant } from '../../../../support/memory/stack.ts';

const { maxAgeMs, scanWaitMs } = defaultSettings;

describe('a read of the usage', () => {
  let world: MemoryStack;
  let counted: string[];
  const read = async (more: { refresh?: boolean; cachedRepos?: [] } = {}) => {
    const cached = { tenant: await world.record(), repos: more.cachedRepos ?? [] };
    return getSubscription(world.deps, { cached, refresh: more.refresh ?? false });
  };

  beforeEach(async () => {
    world = new MemoryStack();
    counted = [];
    vi.spyOn(world.deps.metrics, 'increment').mockImplementation((name) => {
      if (name.startsWith('Cache')) counted.push(name);
    });
    world.put({ [`app/${oidOf(1)}`]: 10 });
    await world.create(100);
  });

  it('shows the last count while that is young, and lists nothing', async () => {
    const begun = vi.spyOn(world.ledger, 'beginReconcile');
    world.nowMs += maxAgeMs;
    expect(await read()).toMatchObject({ source: 'cache', refreshing: false, repos: [] });
    expect(begun).not.toHaveBeenCalled();
    expect([counted, world.requests]).toEqual([['CacheHits'], []]);
  });

  it('counts all of the tenant once the last count is too old', async () => {
    world.put({ [`new/${oidOf(2)}`]: 5 });
    world.nowMs += maxAgeMs + 1;
    const repos = vi.spyOn(world.ledger, 'repos');
    expect(await read()).toMatchObject({
      source: 'scan',
      refreshing: false,
      tenant: { counted: { storedBytes: 15 } },
      repos: [{ repo: 'app' }, { repo: 'new' }],
    });
    expect([counted, world.requests]).toEqual([['CacheMisses'], []]);
    // By the count itself, which tells them.
    expect(repos).toHaveBeenCalledTimes(1);
  });

  it('counts if somebody asks for it, which is no miss', async () => {
    expect(await read({ refresh: true })).toMatchObject({ source: 'scan' });
    expect(counted).toEqual([]);
  });

  it('counts what was never counted', async () => {
    world = new MemoryStack();
    world.put({ [`app/${oidOf(1)}`]: 10 });
    const times = { createdAtMs: 0, dueAtMs: 9e15 };
    await world.ledger.createTenant({ tenant, plan: null, limitBytes: 100, counted: null, ...times });
    expect(await read()).toMatchObject({ source: 'scan', tenant: { counted: { storedBytes: 10 } } });
  });

  it('shows the repos as another count that was running has left them', async () => {
    const begun = await world.ledger.beginReconcile({
      tenant,
      holder: 'h',
      nowMs: world.nowMs,
      leaseUntilMs: 9e15,
    });
    if (begun.kind !== 'begun') throw new Error(begun.kind);
    const { readTenant } = world.ledger;
    const before = await world.record();
    world.ledger.readTenant = async (name) => {
      const found = await readTenant.call(world.ledger, name);
      return found && { ...found, appliedEpoch: begun.epoch };
    };
    const shown = await getSubscription(world.deps, { cached: { tenant: before, repos: [] }, refresh: true });
    expect(shown).toMatchObject({
      source: 'scan',
      refreshing: false,
      tenant: { appliedEpoch: begun.epoch },
      repos: [{ repo: 'app', storedBytes: 10 }],
    });
  });

  it('waits for a count no longer than its time, then shows the last one, and has another queued', async () => {
    await world.ledger.beginReconcile({ tenant, holder: 'h', nowMs: world.nowMs, leaseUntilMs: 9e15 });
    const beganMs = world.nowMs;
    expect(await read({ refresh: true })).toMatchObject({
      source: 'cache',
      refreshing: true,
      repos: [],
      tenant: { counted: { storedBytes: 10 } },
    });
    expect(world.requests).toEqual([{ tenant, reason: 'miss', full: true }]);
    expect(world.nowMs - beganMs).toBeLessThan(scanWaitMs);
    expect(world.nowMs - beganMs).toBeGreaterThan(scanWaitMs - 2000);
  });
});
