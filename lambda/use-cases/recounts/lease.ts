import { chargedUntilMs } from '../../domain/recount-policy.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { Deps } from '../deps.ts';

/**
 * A reconcile's lease: while it holds, nobody else begins one for the tenant. It also keeps count of the LIST
 * requests that are made under it, as they are paid for whether something comes of them or not.
 */
export interface Lease {
  /** Extends it once half of it is over. `superseded`: another took over, so there is no use in going on. */
  renew(): Promise<'ours' | 'superseded'>;
  /** Lets another begin at once, and charges the tenant's budget for what was listed in vain. */
  release(): Promise<void>;
  /** So many LIST requests more were made. */
  addListed(requests: number): void;
  /** What the tenant's budget comes to with them. */
  chargedUntilMs(): number;
}

/** @param held.before the tenant as it was when the lease was taken. */
export function holdLease(
  deps: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  held: { before: TenantRecord; epoch: number; untilMs: number },
): Lease {
  const { ledger, clock, settings } = deps;
  const { before, epoch } = held;
  const { tenant, listedUntilMs } = before;
  let untilMs = held.untilMs;
  let requests = 0;
  const charged = () => chargedUntilMs(settings, { listedUntilMs, requests, nowMs: clock.nowMs() });
  return {
    async renew() {
      const nowMs = clock.nowMs();
      if (nowMs < untilMs - settings.reconcileLeaseMs / 2) return 'ours';
      // Set before the write, so that pages that come meanwhile don't renew as well.
      untilMs = nowMs + settings.reconcileLeaseMs;
      return ledger.setLease({ tenant, epoch, leaseUntilMs: untilMs });
    },
    async release() {
      const spent = requests > 0 && { listedUntilMs: charged() };
      await ledger.setLease({ tenant, epoch, leaseUntilMs: 0, ...spent });
    },
    addListed(more) {
      requests += more;
    },
    chargedUntilMs: charged,
  };
}
