import type { Deps } from '../../deps.ts';
import { chargedForShards } from '../../domain/giant/shard-charge.ts';
import { chargedUntilMs } from '../../domain/recount-policy.ts';
import type { TenantRecord } from '../../domain/tenant.ts';

/**
 * A reconcile's lease. While it lasts, no other reconcile of the tenant begins. It also counts the LIST requests
 * that are made under it: they are paid for even if the reconcile does not commit.
 */
export interface Lease {
  /** Extends the lease once half of it is over. `superseded`: another reconcile took over, so this one can stop. */
  renew(): Promise<'ours' | 'superseded'>;
  /**
   * Lets another reconcile begin now. Charges the tenant's budget, and that of its shards, because no commit will, also if
   * it was overtaken.
   */
  release(): Promise<void>;
  /** Counts this many more LIST requests. */
  addRequests(requests: number): void;
  /** The same for the shards of giants, which have a rate and a monthly ceiling of their own. A commit knows them anyway. */
  addShardRequests(requests: number): void;
  /** Until when the tenant's budget is used up, with these requests charged to it. */
  chargedUntilMs(): number;
}

/** Thrown to end work that nobody needs any more: another reconcile took the lease. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError';
}

/** @throws {SupersededError} if another reconcile took the lease. */
export async function renewOrThrow(lease: Pick<Lease, 'renew'>): Promise<void> {
  if ((await lease.renew()) === 'superseded') throw new SupersededError();
}

/** @param held.before the tenant right before the lease was taken. */
export function holdLease(
  deps: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  held: { before: TenantRecord; epoch: number; untilMs: number },
): Lease {
  const { ledger, clock, settings } = deps;
  const { before, epoch } = held;
  const { tenant } = before;
  let untilMs = held.untilMs;
  let requests = 0;
  let shardRequests = 0;
  const chargedTo = ({ listedUntilMs }: TenantRecord) =>
    chargedUntilMs(settings, { listedUntilMs, requests, nowMs: clock.nowMs() });
  const chargesTo = (record: TenantRecord) => ({
    ...(requests > 0 && { listedUntilMs: chargedTo(record) }),
    ...(shardRequests > 0 &&
      chargedForShards(settings, { before: record, requests: shardRequests, nowMs: clock.nowMs() })),
  });
  return {
    async renew() {
      const nowMs = clock.nowMs();
      if (nowMs < untilMs - settings.reconcileLeaseMs / 2) return 'ours';
      // Set before the write, so that pages that arrive during the write do not renew again.
      untilMs = nowMs + settings.reconcileLeaseMs;
      return ledger.setLease({ tenant, epoch, leaseUntilMs: untilMs });
    },
    async release() {
      const released = await ledger.setLease({ tenant, epoch, leaseUntilMs: 0, ...chargesTo(before) });
      if (released === 'ours' || requests + shardRequests === 0) return;
      // Somebody who sets limits again and again would else have it all listed again each time, for nothing.
      const now = await ledger.readTenant(tenant);
      if (now) await ledger.setLease({ tenant, epoch: now.epoch, ...chargesTo(now) });
    },
    addRequests(more) {
      requests += more;
    },
    addShardRequests(more) {
      shardRequests += more;
    },
    chargedUntilMs: () => chargedTo(before),
  };
}
