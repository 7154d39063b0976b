import { beforeEach, describe, expect, it, vi } from 'vitest';
import { dueAfterFullMs } from '../../../../../lambda/core/ledger/rules/reconcile-policy.ts';
import { isOnHold, type TenantRecord } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { AdoptedRepos } from '../../../../../lambda/core/store/rules/adopted-repos.ts';
import {
  createTenant,
  createTenantOnce,
  lostTenants,
  updateTenant,
} from '../../../../../lambda/frame/access/tenants.ts';
import { MemoryStack, minute } from '../../../../support/memory/stack.ts';

const account = { tenant: 'acme', plan: 'team', limitBytes: 100 };

let world: MemoryStack;
beforeEach(() => {
  world = new MemoryStack();
});

it('a tenant whose keys would lie in an adopted path is not created, and no request key is spent on it', async () => {
  const repo = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'oid' } as const;
  const deps = { ...world.deps, adoptedRepos: new AdoptedRepos([repo]) };
  const lfs = { tenant: 'lfs', plan: null, limitBytes: null };
  expect(await createTenant(deps, lfs)).toEqual({ kind: 'reserved' });
  expect(await createTenantOnce(deps, { account: lfs, requestKey: 'once' })).toEqual({ kind: 'reserved' });
  expect(await world.ledger.readTenant('lfs')).toBeUndefined();
  const other = { ...lfs, tenant: 'lfs2' };
  expect(await createTenantOnce(deps, { account: other, requestKey: 'once' })).toMatchObject({
    kind: 'created',
  });
  // Given back, the name can be used.
  expect(await createTenant(world.deps, lfs)).toMatchObject({ kind: 'created' });
});

it('lost tenants are the folders that a tenant can have, and none has', async () => {
  for (const key of ['acme/app/1', 'acme/app/2', 'lab/x/1', '_exports/x/1', 'UPPER/x', 'loose'])
    world.objects.put(key, 1);
  await createTenant(world.deps, account);
  const found = await lostTenants(world.deps, undefined);
  expect(found).toEqual({ tenants: ['lab'], nextToken: undefined });
});

it('a tenant whose table was lost is due when its uploads can start, although nothing is stored', async () => {
  const uploadsFromMs = world.nowMs + minute;
  expect(await createTenant(world.deps, { ...account, uploadsFromMs })).toMatchObject({
    tenant: { uploadsFromMs, dueAtMs: world.nowMs },
  });
});

it('no tenant whose table was lost takes uploads before a scan, not even from a time in the past on', async () => {
  const { nowMs } = world;
  const lab = { ...account, tenant: 'lab', uploadsFromMs: 1 };
  expect(await createTenant(world.deps, lab)).toMatchObject({ tenant: { uploadsFromMs: nowMs } });
  const created = await createTenantOnce(world.deps, {
    account: { ...lab, tenant: 'arts' },
    requestKey: 'k',
  });
  expect(created).toMatchObject({ tenant: { uploadsFromMs: nowMs } });
  expect(created.kind === 'created' && isOnHold(created.tenant)).toBe(true);
});

describe('a new tenant', () => {
  it('of which nothing is stored is counted from the start, and due as after a full count', async () => {
    const nowMs = world.nowMs;
    const created = await createTenant(world.deps, account);
    const dueAtMs = dueAfterFullMs(world.deps.settings, {
      tenant: 'acme',
      epoch: 0,
      scannedAtMs: nowMs,
      listedUntilMs: 0,
      unchangedForMs: 0,
    });
    expect(created).toMatchObject({
      kind: 'created',
      tenant: {
        ...account,
        createdAtMs: nowMs,
        committedBytes: 0,
        scanned: { storedBytes: 0, objectCount: 0, scannedAtMs: nowMs },
        dueAtMs,
      },
    });
    expect(world.requests).toEqual([]);
  });

  it('of which something is stored is not, is due at once, and is counted in full', async () => {
    world.put({ 'app/a': 5 });
    const created = await createTenant(world.deps, account);
    expect(created).toMatchObject({
      kind: 'created',
      tenant: { scanned: null, committedBytes: 0, dueAtMs: world.nowMs },
    });
    expect(world.requests).toEqual([{ tenant: 'acme', reason: 'import', full: true }]);
  });

  it('is looked for by one key below its path, and not below names that begin with its own', async () => {
    world.objects.put('acme2/app/a', 5);
    const asked: object[] = [];
    const listing = {
      ...world.deps.listing,
      listPage: (request: { prefix: string }) => {
        asked.push(request);
        return world.objects.listPage(request);
      },
    };
    expect(await createTenant({ ...world.deps, listing }, account)).toMatchObject({
      tenant: { scanned: { storedBytes: 0 } },
    });
    expect(asked).toEqual([{ prefix: 'acme/', maxKeys: 1 }]);
  });

  it('is not counted again by somebody who is told that there is one', async () => {
    world.put({ 'app/a': 5 });
    await createTenant(world.deps, account);
    world.requests.length = 0;
    expect(await createTenant(world.deps, { ...account, limitBytes: 7 })).toEqual({ kind: 'exists' });
    expect(await world.record()).toMatchObject({ limitBytes: 100 });
    expect(world.requests).toEqual([]);
  });

  it('cannot have the name of one that was deleted', async () => {
    await createTenant(world.deps, account);
    await world.ledger.closeTenant({ tenant: 'acme', closedAtMs: world.nowMs });
    expect(await createTenant(world.deps, account)).toEqual({ kind: 'deleted' });
    expect(await createTenantOnce(world.deps, { account, requestKey: 'once' })).toEqual({ kind: 'deleted' });
  });
});

describe('a request to create a tenant, repeated with its key,', () => {
  const once = (more: Partial<typeof account> = {}, requestKey = 'once') =>
    createTenantOnce(world.deps, { account: { ...account, ...more }, requestKey });

  it('has the outcome of the first one', async () => {
    const first = await once();
    expect(first).toMatchObject({ kind: 'created', tenant: { ...account, createdAtMs: world.nowMs } });
    world.nowMs += 5 * minute;
    expect(await once()).toEqual(first);
  });

  it('has that outcome though the first one died before it could say so', async () => {
    const finish = world.deps.requestKeys.finish.bind(world.deps.requestKeys);
    world.deps.requestKeys.finish = async () => {
      throw new LedgerUnavailableError('It is down.');
    };
    const beganMs = world.nowMs;
    await expect(once()).rejects.toThrow(LedgerUnavailableError);
    world.deps.requestKeys.finish = finish;
    world.nowMs += minute;
    expect(await once()).toMatchObject({ kind: 'created', tenant: { createdAtMs: beganMs } });
  });

  it('goes on where the first one died, as of the time when that began', async () => {
    const listing = {
      ...world.deps.listing,
      listPage: async () => {
        throw new Error('It dies.');
      },
    };
    const beganMs = world.nowMs;
    await expect(
      createTenantOnce({ ...world.deps, listing }, { account, requestKey: 'once' }),
    ).rejects.toThrow('It dies.');
    world.nowMs += minute;
    expect(await once()).toMatchObject({ kind: 'created', tenant: { createdAtMs: beganMs } });
  });

  it('creates nothing once it is done', async () => {
    await once();
    world.deps.ledger.createTenant = async () => {
      throw new Error('There is nothing to create.');
    };
    expect(await once()).toMatchObject({ kind: 'created' });
  });

  it('is not answered with a tenant that somebody else created', async () => {
    await createTenant(world.deps, account);
    world.nowMs += 1;
    expect(await once()).toEqual({ kind: 'exists' });
    expect(await once()).toEqual({ kind: 'exists' });
  });

  it('is refused with another body, and is another request with another key', async () => {
    await once();
    expect(await once({ limitBytes: 101 })).toEqual({ kind: 'key-reused' });
    expect(await once({ tenant: 'other' }, 'twice')).toMatchObject({ kind: 'created' });
  });

  it('is another request after a day', async () => {
    await once();
    world.nowMs += 24 * 60 * minute - 1;
    expect(await once({ tenant: 'other' })).toEqual({ kind: 'key-reused' });
    world.nowMs += 1;
    expect(await once({ tenant: 'other' })).toMatchObject({ kind: 'created' });
  });

  it('is told of a tenant that was deleted since', async () => {
    await once();
    await world.ledger.closeTenant({ tenant: 'acme', closedAtMs: world.nowMs });
    expect(await once()).toEqual({ kind: 'deleted' });
  });
});

it('a ledger that has lost a tenant is an error', async () => {
  const ledger = Object.assign(world.ledger, { readTenant: async () => undefined });
  await expect(createTenant({ ...world.deps, ledger }, account)).rejects.toThrow('Tenant acme vanished');
});

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

  it('a limit that it has already ends no reconcile', async () => {
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
