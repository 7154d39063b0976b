import { expect, it } from 'vitest';
import { gcStep } from '../../../../../console/src/subjects/gc/gc-step.ts';
import type { GcBody } from '../../../../../lambda/subjects/gc/contract.ts';

it.each<[GcBody['state'], boolean, boolean, number]>([
  ['watching', false, false, 1],
  ['watching', true, false, 2],
  ['selecting', false, false, 2],
  ['watching', true, true, 3],
  ['deleting', false, true, 3],
  ['done', false, true, 0],
  ['cancelled', false, false, 0],
  ['expired', false, false, 0],
])('garbage collection that is %s (may run: %s, found: %s) is at step %d', (state, mayRun, found, step) => {
  expect(gcStep({ state, mayRun, found: found ? ({} as GcBody['found']) : null })).toBe(step);
});
