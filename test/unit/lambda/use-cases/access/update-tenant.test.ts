import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { TenantRecord } from '../../../../../lambda/domain/tenant.ts';
import { updateTenant } from '../../../../../lambda/use-cases/access/update-tenant.ts';
import { MemoryStack } from '../../../../support/memory/stack.ts';

describe('the settings of a tenant', () => {
  let world: MemoryStack;
  let read: TenantRecord;
  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(1000);
    read = await world.record();
  });
  const update = (change: Parameters<typeof updateTenant>[1]['change'], beganMs = world.nowMs) =>
    updateTenant(world.deps, { tenant: read, beganMs, change });

  it('are changed, and what they were is told', async () => {
    const outcome = await update({ limitBytes: 5, plan: 'pro' });
    const now = await world.record();
    expect(now).toMatchObject({ limitBytes: 5, plan: 'pro', epoch: read.epoch + 1 });
    expect(outcome).toEqual({ kind: 'changed', before: read, tenant: now });
  });

  it('a limit that it has already ends no recount', async () => {
    expect(await update({ limitBytes: 1000 })).toEqual({ kind: 'changed', before: read, tenant: read });
    await update({ limitBytes: 1000, plan: 'pro' });
    expect(await world.record()).toMatchObject({ plan: 'pro', epoch: read.epoch });
  });

  it('the limit that somebody else has set meanwhile is no reason to change it again', async () => {
    await update({ limitBytes: 5 });
    const { epoch } = await world.record();
    expect(await update({ limitBytes: 5, plan: 'pro' })).toMatchObject({
      kind: 'changed',
      before: { limitBytes: 5, plan: null },
    });
    expect(await world.record()).toMatchObject({ limitBytes: 5, plan: 'pro', epoch });
  });

  describe('that were changed by a write whose answer was lost', () => {
    beforeEach(() => {
      const write = world.ledger.updateTenant.bind(world.ledger);
      vi.spyOn(world.ledger, 'updateTenant').mockImplementationOnce(async (input) => {
        await write(input);
        return write(input);
      });
    });

    it('are told as they were before it, so that what follows a new limit is done', async () => {
      const outcome = await update({ limitBytes: 5 });
      expect(outcome).toEqual({ kind: 'changed', before: read, tenant: await world.record() });
    });

    it('are not changed once more', async () => {
      const outcome = await update({ limitBytes: 5, plan: 'pro' });
      const now = await world.record();
      expect(outcome).toEqual({ kind: 'changed', before: read, tenant: now });
      expect(now).toMatchObject({ epoch: read.epoch + 1, settingsVersion: read.settingsVersion + 1 });
    });
  });

  it('that they are already are not changed', async () => {
    const asked = { plan: null, downloadLimitBytes: null, reposMustExist: false, limitBytes: 1000 };
    expect(await update(asked)).toEqual({ kind: 'changed', before: read, tenant: read });
    expect(await world.record()).toEqual(read);
    await update({ ...asked, downloadLimitBytes: 7, reposMustExist: true });
    expect(await world.record()).toMatchObject({ downloadLimitBytes: 7, reposMustExist: true, plan: null });
  });

  it('of two that change at the same time, both hold', async () => {
    await Promise.all([update({ limitBytes: 5 }), update({ plan: 'pro' })]);
    expect(await world.record()).toMatchObject({ limitBytes: 5, plan: 'pro', settingsVersion: 2 });
  });

  it('a function that was frozen undoes no later change', async () => {
    const beganMs = world.nowMs;
    await update({ limitBytes: 5 });
    world.nowMs += world.deps.settings.batchTimeLimitMs;
    await expect(update({ limitBytes: 2000 }, beganMs)).rejects.toThrow('at the same time');
    expect((await world.record()).limitBytes).toBe(5);
  });

  it('are none of a tenant that is not there', async () => {
    read = { ...read, tenant: 'nobody' };
    expect(await update({ limitBytes: 5 })).toEqual({ kind: 'absent' });
  });
});
