import type { Belongings, Listener } from '../../core/ledger/seams.ts';
import { forgetHistory, noteCount, noteRefusal, noteWeek, weekOutlook } from './history.ts';
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

/** What the summary of a week says beside what is stored. */
export function outlookOf(deps: Parameters<typeof weekOutlook>[0]) {
  return (of: Parameters<typeof weekOutlook>[1]) => weekOutlook(deps, of);
}
