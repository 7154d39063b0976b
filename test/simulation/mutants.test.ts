import { describe, expect, it } from 'vitest';
import { mutants } from './mutants.ts';
import { firstViolation } from './seeds.ts';

describe('the simulator catches', () => {
  it.each(mutants)(
    '$name, within $seeds seeds',
    { timeout: 180_000 },
    async ({ mutant, invariant, seeds }) => {
      const found = await firstViolation({ from: 0, count: seeds, invariant, mutant });
      expect(found?.message).toMatch(invariant);
    },
  );
});
