import { beforeEach, describe, expect, it } from 'vitest';
import { LedgerUnavailableError } from '../../../../lambda/rules/system.ts';
import { overSettings } from '../../../../lambda/use-cases/over-settings.ts';
import { MemoryStack } from '../../../support/memory/stack.ts';
import { tenantRecord } from '../../../support/tenant-record.ts';

const versions = [0, 1, 2, 3].map((settingsVersion) => tenantRecord({ settingsVersion }));
const [read, ...later] = versions;

describe('a change of settings', () => {
  let world: MemoryStack;
  beforeEach(() => {
    world = new MemoryStack();
  });
  const supersededBy = (count: number, tookMs: number) => {
    const tried: number[] = [];
    const change = overSettings(
      world.deps,
      { tenant: read ?? tenantRecord(), beganMs: world.nowMs },
      async (over) => {
        tried.push(over.settingsVersion);
        world.nowMs += tookMs;
        const tenant = later[tried.length - 1];
        return tenant && tried.length <= count ? { kind: 'superseded', tenant } : { kind: 'changed', over };
      },
    );
    return { tried, change };
  };

  it('is made over what was read', async () => {
    const { tried, change } = supersededBy(0, 1);
    expect(await change).toEqual({ kind: 'changed', over: read });
    expect(tried).toEqual([0]);
  });

  it('is made over what others have changed meanwhile', async () => {
    const { tried, change } = supersededBy(3, 1);
    expect(await change).toEqual({ kind: 'changed', over: later[2] });
    expect(tried).toEqual([0, 1, 2, 3]);
  });

  it('is given up when nobody waits for the answer any more', async () => {
    const { tried, change } = supersededBy(3, world.deps.settings.batchTimeLimitMs / 2);
    await expect(change).rejects.toThrow(LedgerUnavailableError);
    await expect(change).rejects.toThrow('Others changed the settings of acme at the same time.');
    expect(tried).toEqual([0, 1]);
  });
});
