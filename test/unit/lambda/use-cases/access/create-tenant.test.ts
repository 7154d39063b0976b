import { expect, it } from 'vitest';
import { AdoptedRepos } from '../../../../../lambda/domain/adopted-repos.ts';
import { createTenant, createTenantOnce } from '../../../../../lambda/use-cases/access/create-tenant.ts';
import { MemoryStack } from '../../../../support/memory/stack.ts';

it('a tenant whose keys would lie in an adopted path is not created, and no request key is spent on it', async () => {
  const world = new MemoryStack();
  const repo = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'oid' } as const;
  const deps = { ...world.deps, adoptedRepos: new AdoptedRepos([repo]) };
  const account = { tenant: 'lfs', plan: null, limitBytes: null };
  expect(await createTenant(deps, account)).toEqual({ kind: 'reserved' });
  expect(await createTenantOnce(deps, { account, requestKey: 'once' })).toEqual({ kind: 'reserved' });
  expect(await world.ledger.readTenant('lfs')).toBeUndefined();
  const other = { ...account, tenant: 'lfs2' };
  expect(await createTenantOnce(deps, { account: other, requestKey: 'once' })).toMatchObject({
    kind: 'created',
  });
  // Given back, the name can be used.
  expect(await createTenant(world.deps, account)).toMatchObject({ kind: 'created' });
});
