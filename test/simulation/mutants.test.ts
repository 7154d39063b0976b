import { describe, expect, it } from 'vitest';
import { isInTurn } from '../support/turn.ts';
import { mutants } from './mutants.ts';
import { besideMutants } from './mutants-beside.ts';
import { deleteMutants } from './mutants-deletes.ts';
import { fileMutants } from './mutants-files.ts';
import { largeRepoMutants } from './mutants-large-repo.ts';
import { lateMutants } from './mutants-late.ts';
import { limitMutants } from './mutants-limits.ts';
import { makerMutants } from './mutants-makers.ts';
import { slowMutants } from './mutants-slow.ts';
import { firstViolation } from './seeds.ts';

describe('the simulator catches', () => {
  const all = [
    ...mutants,
    ...largeRepoMutants,
    ...deleteMutants,
    ...fileMutants,
    ...limitMutants,
    ...slowMutants,
    ...besideMutants,
    ...lateMutants,
    ...makerMutants,
  ];
  it.each(all.filter((_, index) => isInTurn(index)))(
    '$name, within $seeds seeds',
    async ({ invariant, seeds, ...how }) => {
      const found = await firstViolation({ from: 0, count: seeds, invariant, ...how });
      expect(found?.message).toMatch(invariant);
    },
  );
});
