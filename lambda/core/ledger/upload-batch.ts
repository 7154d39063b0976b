import type { SignedRequest, SignUploadInput } from '../store/rules/store.ts';
import type { CoreDeps } from './core-deps.ts';
import type { Refusal } from './rules/limits.ts';
import { lapsedAtMs, type Reservation, type ReservationKey, reservationIdOf } from './rules/reservation.ts';
import type { TenantRecord } from './rules/tenant.ts';
import type { Crowded, Ticket, WayInput } from './rules/upload-way.ts';
import type { Watch } from './rules/watch.ts';

/** A batch of uploads: what it depends on, what it asks for, its own reservation, and its answer. */
export type AdmitUploadDeps = Pick<
  CoreDeps,
  | 'ledger'
  | 'store'
  | 'listing'
  | 'scan'
  | 'listingPace'
  | 'knownObjects'
  | 'listeners'
  | 'signer'
  | 'storageClasses'
  | 'queue'
  | 'way'
  | 'clock'
  | 'ids'
  | 'log'
  | 'metrics'
  | 'settings'
>;

export interface AdmitUploadInput
  extends Pick<WayInput, 'repo' | 'objects' | 'chunked' | 'madeBy' | 'tokenId'> {
  /** As read when the request was authenticated. */
  readonly tenant: TenantRecord;
  /** How many objects the repo had when it was last counted. undefined: it never was. */
  readonly repoObjects?: number | undefined;
  /** Whether the repo can't become one of files, as read when the request was authenticated. Else it's read again. */
  readonly isOfLfs?: boolean;
  /** The repo's watch, as read when the request was authenticated. */
  readonly watch?: Watch | undefined;
  /** Of what is uploaded, as it was set for the repo or its tenant. null: the bucket's own. */
  readonly storageClass?: string | null;
  /** Owner of the token, to show with what is refused. null: it has neither user nor label. */
  readonly user?: string | null;
  /**
   * Of a repo of files: name → what its URL wants beside the size. A name says nothing of what is stored under it, and a URL
   * stores only where nothing is.
   */
  readonly files?: ReadonlyMap<string, Pick<SignUploadInput, 'oid' | 'contentType'>>;
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
    } & Ticket)
  | Crowded
  /** The store's disk has no space for it. */
  | { readonly kind: 'no-space'; readonly freeBytes: number }
  /** Proven to be over the limit, as all objects of the refusal. */
  | { readonly kind: 'over-limit'; readonly refusal: Refusal };

export type AdmitUploadOutcome =
  | {
      readonly kind: 'answered';
      readonly verdicts: ReadonlyMap<string, UploadVerdict>;
      /** Set if something is to be uploaded. */
      readonly reservationId?: string;
    }
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
  deps: Pick<CoreDeps, 'clock' | 'ids' | 'settings'>,
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
