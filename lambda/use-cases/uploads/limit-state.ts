import { floorBytes, type LateLoad, repoFloorBytes, type TenantRecord } from '../../domain/tenant.ts';

/** A limit that a batch has to stay within, and what is known to be taken up below it. */
export interface LimitState {
  /** The repo whose own limit it is. null: the tenant's. */
  readonly repo: string | null;
  readonly limitBytes: number;
  /** The floor. undefined: nothing is proven to be taken up. */
  readonly provenBytes: number | undefined;
  /** Stored, as last counted. */
  readonly countedBytes: number;
  /** The counter. undefined: not counted since the limit was set. */
  readonly committedBytes: number | undefined;
  readonly late?: LateLoad | undefined;
}

/** The limits of a batch to a repo: that of its tenant, and one of its own. Unlimited is 2^53 − 1. */
export function limitsOf(
  tenant: TenantRecord,
  { repo, nowMs }: { repo: string; nowMs: number },
): LimitState[] {
  const { counted, limitBytes, committedBytes } = tenant;
  const ofTenant = {
    repo: null,
    limitBytes: limitBytes ?? Number.MAX_SAFE_INTEGER,
    provenBytes: floorBytes(tenant, nowMs),
    countedBytes: counted?.storedBytes ?? 0,
    committedBytes: counted === null && limitBytes !== null ? undefined : committedBytes,
    late: tenant.late,
  };
  const limit = tenant.repoLimits.get(repo);
  if (!limit) return [ofTenant];
  const ofRepo = {
    repo,
    limitBytes: limit.limitBytes,
    provenBytes: repoFloorBytes(tenant, { limit, nowMs }),
    countedBytes: limit.counted?.storedBytes ?? 0,
    committedBytes: limit.counted?.committedBytes,
    late: limit.counted?.late,
  };
  return [ofTenant, ofRepo];
}

/** Whether so much more fits by the counters as they were read. */
export function fitsBeside(limits: readonly LimitState[], bytes: number): boolean {
  return limits.every(
    ({ limitBytes, committedBytes }) => committedBytes !== undefined && committedBytes + bytes <= limitBytes,
  );
}
