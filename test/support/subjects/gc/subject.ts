import { expect } from 'vitest';
import { openGc } from '../../../../lambda/subjects/gc/gc.ts';
import { type Fill, path } from '../../fill.ts';

/** What the table keeps of this subject. */
export const gcFill = {
  gcRuns: async (deps) => expect((await openGc(deps, path)).kind).toBe('open'),
} satisfies Fill;
