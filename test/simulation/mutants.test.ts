import { describe, expect, it } from 'vitest';
import { mutants } from './mutants.ts';
import { firstViolation } from './seeds.ts';

describe('the simulator catches', () => {
  it.each(mutants)(
    '$name, within $seeds seeds',
    { timeout: 180_000 },
    async ({ mutant, invariant, from = 0, seeds }) => {
      const found = await firstViolation({ from, count: seeds, invariant, mutant });
      expect(found?.message).toMatch(invariant);
    },
  );
});
