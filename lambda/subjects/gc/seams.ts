import type { Belongings, Chore } from '../../core/ledger/seams.ts';
import { type GcDeps, type RemoveDeps, removeGcFiles } from './gc.ts';
import { gcPrefixOf } from './rules/gc.ts';
import * as stores from './stores.ts';
import { advanceGc } from './sweep-candidates.ts';

const gcChore = (deps: GcDeps): Chore => ({
  what: 'gc',
  advance: (input) => advanceGc(deps, input),
});

const gcBelongings = (deps: RemoveDeps): Belongings => ({
  forgetTenant: async ({ tenant }) => {
    await removeGcFiles(deps, gcPrefixOf(tenant));
    return 'done';
  },
});

export const gcReconciles = {
  belongings: gcBelongings,
  chores: gcChore,
  stores,
};
