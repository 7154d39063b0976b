import type { Belongings, Listener } from '../../core/ledger/seams.ts';
import { forgetHistory, noteLastCount, noteRefusal, noteWeek } from './history.ts';
import { RefusalTally } from './rules/history.ts';
import * as stores from './stores.ts';

function listener(deps: Parameters<typeof noteLastCount>[0]): Listener & Belongings {
  const { history } = deps;
  const tally = new RefusalTally();
  return {
    replacing: (before) => noteLastCount(deps, before),
    repoCounted: (event) => noteWeek(deps, event),
    repoRemoved: (path) => history.forgetWeeks(path),
    refused: (event) => noteRefusal({ ...deps, tally }, event),
    forgetRepo: async ({ tenant, repo }) => {
      await history.forgetWeeks({ tenant, repo });
      return 'done';
    },
    forgetTenant: (input) => forgetHistory(deps, input),
  };
}

export const historyListener = { listener, stores };
