import type { ChunkTicket } from '../chunks/begin.ts';
import type { Crowded } from '../chunks/rules/upload.ts';
import type { Deps } from '../deps.ts';
import type { SignedRequest } from '../store/rules/store.ts';
import {
  lapsedAtMs,
  type Reservation,
  type ReservationKey,
  reservationIdOf,
  sumEntries,
} from './rules/reservation.ts';
import {
  confirmedBytes,
  repoConfirmedBytes,
  type TenantRecord,
  type UnconfirmedLoad,
} from './rules/tenant.ts';
import type { Watch } from './rules/watch.ts';

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

/** A batch of uploads: what it depends on, what it asks for, its own reservation, and its answer. */
export type AdmitUploadDeps = Pick<
  Deps,
  | 'ledger'
  | 'store'
  | 'listing'
  | 'scan'
  | 'listingPace'
  | 'knownObjects'
  | 'history'
  | 'refusalTally'
  | 'alerts'
  | 'signer'
  | 'storageClasses'
  | 'queue'
  | 'chunkedUploads'
  | 'clock'
  | 'ids'
  | 'log'
  | 'metrics'
  | 'settings'
>;

export interface AdmitUploadInput {
  /** As read when the request was authenticated. */
  readonly tenant: TenantRecord;
  readonly repo: string;
  /** How many objects the repo had when it was last counted. undefined: it never was. */
  readonly repoObjects?: number | undefined;
  /** The repo's watch, as read when the request was authenticated. */
  readonly watch?: Watch | undefined;
  /** Of what is uploaded, as it was set for the repo or its tenant. null: the bucket's own. */
  readonly storageClass?: string | null;
  /** Owner of the token, to show with what is refused. null: it has neither user nor label. */
  readonly user?: string | null;
  /** oid → bytes, valid and distinct, in the order of the request. */
  readonly objects: ReadonlyMap<string, number>;
  /** Those of the objects that are uploaded in chunks. Default: none. */
  readonly chunked?: ReadonlySet<string>;
  /** Who asks: see {@link makerOf}. undefined: nobody who is held to account. */
  readonly madeBy?: string | undefined;
  /** Its end ends what is uploaded in chunks: see `lastingTokenId`. */
  readonly tokenId?: string | undefined;
  /** Nobody waits for a reconcile: if only one can tell, it's `retry`. */
  readonly isOptional?: boolean;
}

/** The outcome for one object. */
export type UploadVerdict =
  | { readonly kind: 'stored' }
  /** Another size is stored under this oid. The store checked those bytes, so the request is wrong. */
  | { readonly kind: 'size-conflict'; readonly storedBytes: number }
  | {
      readonly kind: 'upload';
      readonly put: SignedRequest;
      /** null: the client is not asked to verify it. */
      readonly verifyToken: string | null;
      readonly expiresInMs: number;
    }
  | ({
      readonly kind: 'chunks';
      readonly verifyToken: string | null;
      readonly isResumed: boolean;
    } & ChunkTicket)
  | Crowded
  /** The store's disk has no space for it. */
  | { readonly kind: 'no-space'; readonly freeBytes: number }
  /** Proven to be over the limit, as all objects of the refusal. */
  | { readonly kind: 'over-limit'; readonly refusal: Refusal };

export type AdmitUploadOutcome =
  | { readonly kind: 'answered'; readonly verdicts: ReadonlyMap<string, UploadVerdict> }
  /** Unknown yet: the client is to ask again. If only a reconcile can find out, it is queued. */
  | {
      readonly kind: 'retry';
      readonly retryAfterMs: number;
      /** Set if whoever asks has claimed too much that never arrived: when none of it is late any more. */
      readonly unconfirmedUntilMs?: number;
      /** Set if the tenant was restored, and takes no uploads yet. */
      readonly heldUntilMs?: number;
    }
  /** The tenant was closed or deleted meanwhile. */
  | { readonly kind: 'absent' };

/** One batch request's own reservation. */
export interface BatchAttempt {
  readonly tenant: string;
  readonly reservation: Reservation;
  /** Goes to the client with the verify action. Its hash is the reservation's id. */
  readonly verifyToken: string;
  readonly beganMs: number;
}

/** A new pending reservation of everything that a batch asks for. Nothing is written yet. */
export function newAttempt(
  deps: Pick<Deps, 'clock' | 'ids' | 'settings'>,
  input: AdmitUploadInput,
): BatchAttempt {
  const { clock, ids, settings } = deps;
  const beganMs = clock.nowMs();
  const expiresAtMs = beganMs + settings.urlLifetimeMs + settings.reservationSlackMs;
  const verifyToken = `lfsv_${ids.random(40)}`;
  // What is uploaded in chunks has times of its own.
  const entries = new Map([...input.objects].filter(([oid]) => !input.chunked?.has(oid)));
  return {
    tenant: input.tenant.tenant,
    verifyToken,
    beganMs,
    reservation: {
      id: reservationIdOf(verifyToken),
      repo: input.repo,
      state: 'pending',
      entries: input.objects,
      createdAtMs: beganMs,
      expiresAtMs,
      lapsedAtMs: lapsedAtMs(settings, { expiresAtMs, entries }),
      lookAtMs: null,
      ...(input.madeBy !== undefined && { madeBy: input.madeBy }),
    },
  };
}

/** The key of a batch's own reservation. */
export function keyOf({ tenant, reservation }: BatchAttempt): ReservationKey {
  return { tenant, repo: reservation.repo, reservationId: reservation.id };
}
