import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { deleteRunMs } from '../../core/ledger/rules/deletion.ts';
import type { Belongings } from '../../core/ledger/seams.ts';
import type { NamePorts } from './ports.ts';
import { namesKey } from './rules/mark.ts';
import * as stores from './stores.ts';

/** The file of a repo goes with it, once no URL brings another one. A tenant's repos end one by one. */
function nameBelongings({ names, clock, store }: Pick<CoreDeps, 'clock' | 'store'> & NamePorts): Belongings {
  return {
    forgetRepo: async ({ tenant, repo }) => {
      const path = { tenant, repo };
      const mark = await names.find(path);
      const nowMs = clock.nowMs();
      if (!mark) return 'done';
      if (nowMs <= mark.untilMs) return 'waits';
      const failed = await store.delete([namesKey(path)], { deadlineMs: nowMs + deleteRunMs });
      for (const error of failed.values()) throw error;
      await names.end({ ...path, atMs: nowMs });
      return 'done';
    },
  };
}

export const nameReconciles = { belongings: nameBelongings, stores };
