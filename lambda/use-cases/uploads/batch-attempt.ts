import type { Deps } from '../../deps.ts';
import {
  deadAtMs,
  type Reservation,
  type ReservationKey,
  reservationIdOf,
} from '../../domain/reservation.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { Watch } from '../../gc/rules/watch.ts';
import type { SignedRequest } from '../../store/rules/store.ts';
import type { Refusal } from './refusal.ts';

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
  | 'warnings'
  | 'signer'
  | 'queue'
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
  /** Owner of the token, to show with what is refused. null: it has neither user nor label. */
  readonly user?: string | null;
  /** oid → bytes, valid and distinct, in the order of the request. */
  readonly objects: ReadonlyMap<string, number>;
  /** Who asks: see {@link makerOf}. undefined: nobody who is held to account. */
  readonly madeBy?: string | undefined;
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
  /** Proven to be over the limit, as all objects of the refusal. */
  | { readonly kind: 'over-limit'; readonly refusal: Refusal };

export type AdmitUploadOutcome =
  | { readonly kind: 'answered'; readonly verdicts: ReadonlyMap<string, UploadVerdict> }
  /** Unknown yet: the client is to ask again. If only a recount can find out, it is queued. */
  | {
      readonly kind: 'retry';
      readonly retryAfterMs: number;
      /** Set if whoever asks has claimed too much that never arrived: when none of it is late any more. */
      readonly lateUntilMs?: number;
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
  return {
    tenant: input.tenant.tenant,
    verifyToken,
    beganMs,
    reservation: {
      id: reservationIdOf(verifyToken),
      repo: input.repo,
      state: 'pending',
      claims: input.objects,
      createdAtMs: beganMs,
      expiresAtMs,
      deadAtMs: deadAtMs(settings, { expiresAtMs, claims: input.objects }),
      lookAtMs: null,
      ...(input.madeBy !== undefined && { madeBy: input.madeBy }),
    },
  };
}

/** The key of a batch's own reservation. */
export function keyOf({ tenant, reservation }: BatchAttempt): ReservationKey {
  return { tenant, repo: reservation.repo, reservationId: reservation.id };
}
