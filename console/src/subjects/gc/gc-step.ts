import type { GcBody } from '../../../../lambda/subjects/gc/contract.ts';

/** Which of the three steps a garbage collection is at. 0: none is open. */
export function gcStep({ state, mayRun, found }: Pick<GcBody, 'state' | 'mayRun' | 'found'>): 0 | 1 | 2 | 3 {
  if (state !== 'watching') return state === 'selecting' ? 2 : state === 'deleting' ? 3 : 0;
  if (!mayRun) return 1;
  return found === null ? 2 : 3;
}
