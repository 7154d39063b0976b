import { sha256Hex } from '../../domain/hash.ts';
import { objectKey } from '../../domain/names.ts';
import { deadAtMs, type Reservation } from '../../domain/reservation.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { CountOutcome } from '../../ports/ledger.ts';
import type { SignedRequest } from '../../ports/object-store.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';
import { countWithin, decideAtLimit, type LimitDecision } from './decide-at-limit.ts';
import { keepFromDeletion } from './keep-from-deletion.ts';
import { reportAdmission } from './report-admission.ts';

export type AdmitUploadDeps = Pick<
  Deps,
  | 'ledger'
  | 'store'
  | 'listing'
  | 'scan'
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
  /** oid → bytes, valid and distinct, in the order of the request. */
  readonly objects: ReadonlyMap<string, number>;
}

/** What became of one object. */
export type UploadVerdict =
  | { readonly kind: 'stored' }
  /** Another size is stored under this oid: the store checked its bytes, so the request is wrong. */
  | { readonly kind: 'size-conflict'; readonly storedBytes: number }
  | {
      readonly kind: 'upload';
      readonly put: SignedRequest;
      readonly verifyToken: string;
      readonly expiresInMs: number;
    }
  /** Proven to be over the limit; `usedBytes` is what is taken up at least, this request's admissions included. */
  | { readonly kind: 'over-limit'; readonly usedBytes: number; readonly limitBytes: number };

export type AdmitUploadOutcome =
  | { readonly kind: 'answered'; readonly verdicts: ReadonlyMap<string, UploadVerdict> }
  /** Nothing can be said truthfully yet; a reconcile that will tell is queued. */
  | { readonly kind: 'retry'; readonly retryAfterMs: number }
  /** The tenant was closed or deleted meanwhile. */
  | { readonly kind: 'absent' };

/** One batch request's own reservation. */
export interface Attempt {
  readonly tenant: string;
  readonly reservation: Reservation;
  /** Goes to the client with the verify action; its hash is the reservation's id. */
  readonly verifyToken: string;
  readonly beganMs: number;
}

/**
 * Admits what fits below the tenant's limit, and signs its uploads. Three round trips:
 *
 *     1  HEAD every oid, and put the reservation (pending)
 *     2  count: one conditional ADD on the tenant item; keep what is asked for from being deleted
 *     3  issue the reservation, and queue a recount
 *
 * A URL is handed out only for what is reserved and counted. What the counter refuses is not refused yet:
 * {@link decideAtLimit} finds out.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError} nothing was handed out, and what was counted for
 * nothing is mended by the next reconcile.
 */
export async function admitUpload(
  deps: AdmitUploadDeps,
  input: AdmitUploadInput,
): Promise<AdmitUploadOutcome> {
  const outcome = await admit(deps, input);
  reportAdmission(deps, { ...input, tenant: input.tenant.tenant, outcome });
  return outcome;
}

async function admit(deps: AdmitUploadDeps, input: AdmitUploadInput): Promise<AdmitUploadOutcome> {
  const attempt = newAttempt(deps, input);
  const { tenant, reservation } = attempt;
  const [stored] = await Promise.all([
    headAll(deps, { tenant, repo: input.repo, oids: [...input.objects.keys()] }),
    deps.ledger.putReservation({ tenant, reservation }),
  ]);
  const verdicts = new Map<string, UploadVerdict>();
  const wanted = new Map<string, number>();
  for (const [oid, sizeBytes] of input.objects) {
    const storedBytes = stored.get(oid);
    if (storedBytes === undefined) wanted.set(oid, sizeBytes);
    else
      verdicts.set(
        oid,
        storedBytes === sizeBytes ? { kind: 'stored' } : { kind: 'size-conflict', storedBytes },
      );
  }
  // Read after the reservation is put: a delete that is claimed later sees the reservation, and spares it.
  const [counted, keeping] = await Promise.all([
    countWithin(deps, { tenant: input.tenant, chosen: wanted, uncounted: wanted }),
    keepFromDeletion(deps, { tenant, repo: input.repo, names: input.objects, stored }),
  ]);
  if (keeping === 'deleting') return unsure(deps, attempt);
  if (wanted.size === 0) {
    await deps.ledger.deleteReservation({ tenant, reservationId: reservation.id });
    return { kind: 'answered', verdicts };
  }
  const decision = await decide(deps, { attempt, wanted, counted });
  switch (decision.kind) {
    case 'admit':
      return issue(deps, { attempt, verdicts, ...decision });
    case 'full':
      return refuseAll(deps, { attempt, verdicts, ...decision });
    case 'unsure':
      return unsure(deps, attempt, decision.waitMs);
    case 'absent':
      return decision;
  }
}

async function decide(
  deps: AdmitUploadDeps,
  input: { attempt: Attempt; wanted: ReadonlyMap<string, number>; counted: CountOutcome },
): Promise<LimitDecision> {
  const { attempt, wanted, counted } = input;
  switch (counted.kind) {
    case 'counted':
      return { kind: 'admit', chosen: wanted, refused: undefined };
    case 'refused':
      return decideAtLimit(deps, { attempt, wanted, refusedBy: counted.tenant });
    case 'absent':
      return counted;
  }
}

/** Queued before the answer: nobody is told to come again without a recount that can answer then. */
async function unsure(deps: AdmitUploadDeps, attempt: Attempt, waitMs = 0): Promise<AdmitUploadOutcome> {
  const { tenant, reservation } = attempt;
  await deps.queue.request({ tenant, reason: 'refusal', full: false });
  await deps.ledger.deleteReservation({ tenant, reservationId: reservation.id });
  return retryLater(deps, waitMs);
}

function newAttempt(deps: AdmitUploadDeps, input: AdmitUploadInput): Attempt {
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
    },
  };
}

/** A reservation's id is a hash of the verify token, so the table never holds what a client may present. */
export function reservationIdOf(verifyToken: string): string {
  return sha256Hex(verifyToken).slice(0, 32);
}

/** oid → stored bytes, of those that are stored. */
async function headAll(
  deps: Pick<Deps, 'store' | 'settings'>,
  input: { tenant: string; repo: string; oids: readonly string[] },
): Promise<Map<string, number>> {
  const { tenant, repo, oids } = input;
  const heads = await mapLimited(oids, deps.settings.scanConcurrency, (oid) =>
    deps.store.head(objectKey({ tenant, repo, oid })),
  );
  const stored = new Map<string, number>();
  oids.forEach((oid, index) => {
    const head = heads[index];
    if (head) stored.set(oid, head.sizeBytes);
  });
  return stored;
}

async function issue(
  deps: AdmitUploadDeps,
  input: {
    attempt: Attempt;
    verdicts: Map<string, UploadVerdict>;
    chosen: ReadonlyMap<string, number>;
    refused: { oids: Iterable<string>; usedBytes: number; limitBytes: number } | undefined;
  },
): Promise<AdmitUploadOutcome> {
  const { attempt, verdicts, chosen, refused } = input;
  const { tenant, reservation } = attempt;
  const [issued] = await Promise.all([
    deps.ledger.issueReservation({ tenant, reservationId: reservation.id, claims: chosen }),
    deps.queue.request({ tenant, reason: 'upload', full: false }),
  ]);
  // Voided meanwhile: a reconcile no longer counts on it, so no URL may come of it.
  if (issued === 'gone') return retryLater(deps);
  await Promise.all(
    [...chosen].map(async ([oid, sizeBytes]) => {
      const put = await deps.signer.signUpload({
        key: objectKey({ tenant, repo: reservation.repo, oid }),
        oid,
        sizeBytes,
        signedAtMs: reservation.createdAtMs,
        lifetimeMs: deps.settings.urlLifetimeMs,
      });
      const expiresInMs = reservation.createdAtMs + deps.settings.urlLifetimeMs - deps.clock.nowMs();
      verdicts.set(oid, { kind: 'upload', put, verifyToken: attempt.verifyToken, expiresInMs });
    }),
  );
  for (const oid of refused?.oids ?? []) {
    verdicts.set(oid, {
      kind: 'over-limit',
      usedBytes: refused?.usedBytes ?? 0,
      limitBytes: refused?.limitBytes ?? 0,
    });
  }
  return { kind: 'answered', verdicts };
}

async function refuseAll(
  deps: AdmitUploadDeps,
  input: {
    attempt: Attempt;
    verdicts: Map<string, UploadVerdict>;
    refused: { oids: Iterable<string>; usedBytes: number; limitBytes: number };
  },
): Promise<AdmitUploadOutcome> {
  const { attempt, verdicts, refused } = input;
  const own = { tenant: attempt.tenant, reservationId: attempt.reservation.id };
  // Whoever lost its reservation was away for too long to know what holds now.
  if ((await deps.ledger.deleteReservation(own)) === 'absent') return retryLater(deps);
  for (const oid of refused.oids) {
    verdicts.set(oid, { kind: 'over-limit', usedBytes: refused.usedBytes, limitBytes: refused.limitBytes });
  }
  return { kind: 'answered', verdicts };
}

/** Longest Retry-After before jitter: git-lfs gives up where it is told to wait for more than 5 minutes. */
const retryAfterMaxMs = 4 * 60_000;

/**
 * Retry-After with jitter, so that those who were refused together don't come back together.
 *
 * @param waitMs earliest time from now at which the answer can be another.
 */
function retryLater(deps: Pick<Deps, 'ids' | 'settings'>, waitMs = 0): AdmitUploadOutcome {
  const { retryAfterMs } = deps.settings;
  const jitter = Number.parseInt(sha256Hex(deps.ids.random(8)).slice(0, 4), 16) / 0xffff;
  const leastMs = Math.max(retryAfterMs, Math.min(waitMs, retryAfterMaxMs));
  return { kind: 'retry', retryAfterMs: Math.round(leastMs + retryAfterMs * jitter) };
}
