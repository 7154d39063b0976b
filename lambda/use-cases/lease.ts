import type { Deps } from './deps.ts';

/** A reconcile's lease: while it holds, nobody else begins one for the tenant. */
export interface Lease {
  /** Extends it once half of it is over. `superseded`: another took over, so there is no use in going on. */
  renew(): Promise<'ours' | 'superseded'>;
  /** Lets another begin at once. */
  release(): Promise<void>;
}

export function holdLease(
  deps: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  held: { tenant: string; epoch: number; untilMs: number },
): Lease {
  const { ledger, clock, settings } = deps;
  const { tenant, epoch } = held;
  let untilMs = held.untilMs;
  return {
    async renew() {
      const nowMs = clock.nowMs();
      if (nowMs < untilMs - settings.reconcileLeaseMs / 2) return 'ours';
      // Set before the write, so that pages that come meanwhile don't renew as well.
      untilMs = nowMs + settings.reconcileLeaseMs;
      return ledger.setLease({ tenant, epoch, leaseUntilMs: untilMs });
    },
    async release() {
      await ledger.setLease({ tenant, epoch, leaseUntilMs: 0 });
    },
  };
}
