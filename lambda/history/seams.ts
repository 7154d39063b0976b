import type { Belongings, Listener } from '../ledger/seams.ts';
import { forgetHistory, noteCount, noteRefusal, noteWeek } from './history.ts';
import { RefusalTally } from './rules/history.ts';

type CountDeps = Parameters<typeof noteCount>[0];

/** Of a function that counts. */
export function historyOfCounts(deps: CountDeps): Listener {
  return {
    counted: (event) => noteCount(deps, event),
    repoCounted: (event) => noteWeek(deps, event),
    repoRemoved: (path) => deps.history.forgetWeeks(path),
  };
}

/** Of a function that admits uploads: one in each process. */
export function historyOfBatches(deps: CountDeps): Listener {
  const tally = new RefusalTally();
  return { ...historyOfCounts(deps), refused: (event) => noteRefusal({ ...deps, tally }, event) };
}

export function historyBelongings(deps: Pick<CountDeps, 'history' | 'clock'>): Belongings {
  return {
    forgetRepo: async ({ tenant, repo }) => {
      await deps.history.forgetWeeks({ tenant, repo });
      return 'done';
    },
    forgetTenant: (input) => forgetHistory(deps, input),
  };
}
