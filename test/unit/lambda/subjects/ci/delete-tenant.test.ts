import { expect, it } from 'vitest';
import { deleteTenant } from '../../../../../lambda/core/ledger/deletes.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

it('lets no job of a deleted tenant in any more: its rules are gone, and those of others are not', async () => {
  const world = new MemoryStack();
  await world.create();
  const issuer = 'https://token.actions.githubusercontent.com';
  const grant = { scope: 'read', repos: null, lifetimeMs: 60 * minute, createdAtMs: 1 } as const;
  const { exchangeRules } = world.deps;
  for (const [of, id] of [
    [tenant, 'one'],
    [tenant, 'two'],
    ['acme2', 'one'],
  ] as const)
    await exchangeRules.put({ tenant: of, id, issuer, match: { repository_id: ['1'] }, ...grant });
  const del = async (dryRun: boolean) => deleteTenant(world.deps, { tenant: await world.record(), dryRun });
  await del(true);
  expect(await exchangeRules.list(tenant)).toHaveLength(2);
  await del(false);
  expect(await exchangeRules.list(tenant)).toEqual([]);
  expect(await exchangeRules.list('acme2')).toHaveLength(1);
});
