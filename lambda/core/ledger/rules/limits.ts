import { type Reservation, sumEntries } from './reservation.ts';
import { confirmedBytes, repoConfirmedBytes, type TenantRecord, type UnconfirmedLoad } from './tenant.ts';

/** A limit that a batch has to stay within, and what is known to be taken up below it. */
export interface LimitState {
  /** The repo whose own limit it is. null: the tenant's. */
  readonly repo: string | null;
  readonly limitBytes: number;
  /** The confirmed usage. undefined: nothing is proven to be taken up. */
  readonly provenBytes: number | undefined;
  /** Stored, as last counted. */
  readonly scannedBytes: number;
  /** The counter. undefined: not counted since the limit was set. */
  readonly committedBytes: number | undefined;
  readonly unconfirmed?: UnconfirmedLoad | undefined;
}

/** The limits of a batch to a repo: that of its tenant, and one of its own. Unlimited is 2^53 − 1. */
export function limitsOf(
  tenant: TenantRecord,
  { repo, nowMs }: { repo: string; nowMs: number },
): LimitState[] {
  const { scanned, limitBytes, committedBytes } = tenant;
  const ofTenant = {
    repo: null,
    limitBytes: limitBytes ?? Number.MAX_SAFE_INTEGER,
    provenBytes: confirmedBytes(tenant, nowMs),
    scannedBytes: scanned?.storedBytes ?? 0,
    committedBytes: scanned === null && limitBytes !== null ? undefined : committedBytes,
    unconfirmed: tenant.unconfirmed,
  };
  const limit = tenant.repoLimits.get(repo);
  if (!limit) return [ofTenant];
  const ofRepo = {
    repo,
    limitBytes: limit.limitBytes,
    provenBytes: repoConfirmedBytes(tenant, { limit, nowMs }),
    scannedBytes: limit.scanned?.storedBytes ?? 0,
    committedBytes: limit.scanned?.committedBytes,
    unconfirmed: limit.scanned?.unconfirmed,
  };
  return [ofTenant, ofRepo];
}

/** Whether so much more fits by the counters as they were read. */
export function fitsBeside(limits: readonly LimitState[], bytes: number): boolean {
  return limits.every(
    ({ limitBytes, committedBytes }) => committedBytes !== undefined && committedBytes + bytes <= limitBytes,
  );
}

/**
 * The objects of one batch that are refused, and what its person is told: what is taken up, by what, until when, and
 * how much is missing for all of them together.
 */
export interface Refusal {
  /** In the order of the request. At least one. */
  readonly oids: readonly string[];
  /** Objects that the batch asks for. */
  readonly askedCount: number;
  /** The repo whose own limit it is. null: the tenant's. */
  readonly repo: string | null;
  readonly limitBytes: number;
  /** Stored, as last counted. */
  readonly storedBytes: number;
  /** Promised to uploads under way, those that this batch was granted among them. With `storedBytes`: what is proven. */
  readonly reservedBytes: number;
  /** When the last of these uploads can no longer arrive. null: none is promised. */
  readonly reservedUntilMs: number | null;
  /** Of the refused objects together. */
  readonly refusedBytes: number;
  /** How much higher the limit would have to be for the refused objects. */
  readonly missingBytes: number;
  /** Whether room for all of them is left, if none of the other uploads under way arrives. */
  readonly isWaitingEnough: boolean;
}

interface RefusalInput {
  /** The batch's own. */
  readonly reservation: Reservation;
  readonly tenant: TenantRecord;
  readonly refused: ReadonlyMap<string, number>;
  /** What this batch was granted, beyond what is taken up already. */
  readonly grantedBytes: number;
}

/** @param limits at least one. The refusal tells of the one by which the most is missing. */
export function refusalOf(input: RefusalInput & { limits: readonly LimitState[] }): Refusal {
  const refusals = input.limits.map((limit) => refusalBy(limit, input));
  return refusals.reduce((worst, refusal) => (refusal.missingBytes > worst.missingBytes ? refusal : worst));
}

/** Without a confirmed usage nothing is proven to be taken up, and what was last counted is told. */
function refusalBy(limit: LimitState, input: RefusalInput): Refusal {
  const { reservation, tenant, refused, grantedBytes } = input;
  const { scannedBytes, provenBytes, limitBytes } = limit;
  const usedBytes = (provenBytes ?? scannedBytes) + grantedBytes;
  const storedBytes = Math.min(scannedBytes, usedBytes - grantedBytes);
  const reservedBytes = usedBytes - storedBytes;
  const othersBytes = reservedBytes - grantedBytes;
  const untilMs = Math.max(
    othersBytes > 0 ? (tenant.reservedUntilMs ?? 0) : 0,
    grantedBytes > 0 ? reservation.lapsedAtMs : 0,
  );
  const refusedBytes = sumEntries(refused);
  const missingBytes = Math.max(0, usedBytes + refusedBytes - limitBytes);
  return {
    oids: [...refused.keys()],
    askedCount: reservation.entries.size,
    repo: limit.repo,
    limitBytes,
    storedBytes,
    reservedBytes,
    reservedUntilMs: untilMs > 0 ? untilMs : null,
    refusedBytes,
    missingBytes,
    isWaitingEnough: othersBytes >= missingBytes,
  };
}
