import { expect, it, vi } from 'vitest';
import { warmUpTable } from '../../../../lambda/runtime/warm-up.ts';

it('reads an item that belongs to no tenant', async () => {
  const readTenant = vi.fn(async () => undefined);
  await warmUpTable({ ledger: { readTenant } });
  expect(readTenant.mock.calls).toEqual([['']]);
});

it('lets a function start even if its table fails', async () => {
  const readTenant = async () => Promise.reject(new Error('no table'));
  await expect(warmUpTable({ ledger: { readTenant } })).resolves.toBeUndefined();
});

it('waits only briefly for a table that does not answer', async () => {
  const startedMs = performance.now();
  await warmUpTable({ ledger: { readTenant: () => new Promise(() => {}) } });
  expect(performance.now() - startedMs).toBeLessThan(3000);
});
