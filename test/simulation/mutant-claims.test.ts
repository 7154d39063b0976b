import { expect, it, vi } from 'vitest';
import { firstViolation } from './seeds.ts';

// A file of its own, because vi.mock replaces a module for the whole file.
vi.mock('../../lambda/domain/admission.ts', async (original) => ({
  ...(await original<object>()),
  // One oid in two repos is two objects in the bucket. Without the repo it is counted once.
  claimKey: (claim: { oid: string }) => claim.oid,
}));

it('the simulator catches claims without their repo, within 500 seeds', { timeout: 180_000 }, async () => {
  const found = await firstViolation({ from: 0, count: 500, invariant: /^I1/, mutant: {} });
  expect(found?.message).toMatch(/^I1/);
});
