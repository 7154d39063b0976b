import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { Belongings, Forgotten } from '../../core/ledger/seams.ts';
import type { LockPorts } from './ports.ts';
import { lockPageMax } from './rules/locks.ts';
import * as stores from './stores.ts';

/** Whoever uses the name of a repo again finds none of its locks. */
export function lockBelongings({ locks, clock }: Pick<CoreDeps, 'clock'> & LockPorts): Belongings {
  const forget = async (input: { tenant: string; repo?: string; untilMs: number }): Promise<Forgotten> => {
    const { untilMs, ...path } = input;
    for (;;) {
      const { hasMore } = await locks.releaseSome({ ...path, locksMax: lockPageMax });
      if (!hasMore) return 'done';
      if (clock.nowMs() > untilMs) return 'unfinished';
    }
  };
  return { forgetRepo: forget, forgetTenant: forget };
}

export const lockReconciles = { belongings: lockBelongings, stores };
