import { sha256Hex } from '../../domain/hash.ts';
import { objectKey } from '../../domain/names.ts';
import type { AddOutcome } from '../../ports/ledger.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';
import {
  type AdmitUploadDeps,
  type AdmitUploadInput,
  type AdmitUploadOutcome,
  type BatchAttempt,
  newAttempt,
  type UploadVerdict,
} from './batch-attempt.ts';
import type { Refusal } from './choose-by-floor.ts';
import { addWithinLimit, decideAtLimit, type LimitDecision } from './decide-at-limit.ts';
import { keepFromDeletion } from './keep-from-deletion.ts';
import { reportAdmission } from './report-admission.ts';

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
  const [added, keeping] = await Promise.all([
    addWithinLimit(deps, { tenant: input.tenant, chosen: wanted, notYetAdded: wanted }),
    keepFromDeletion(deps, { tenant, repo: input.repo, names: input.objects, stored }),
  ]);
  if (keeping === 'deleting') return unsure(deps, attempt);
  if (wanted.size === 0) {
    await deps.ledger.deleteReservation({ tenant, reservationId: reservation.id });
    return { kind: 'answered', verdicts };
  }
  const decision = await decide(deps, { attempt, wanted, added });
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
  input: { attempt: BatchAttempt; wanted: ReadonlyMap<string, number>; added: AddOutcome },
): Promise<LimitDecision> {
  const { attempt, wanted, added } = input;
  switch (added.kind) {
    case 'added':
      return { kind: 'admit', chosen: wanted, refused: undefined };
    case 'refused':
      return decideAtLimit(deps, { attempt, wanted, refusedBy: added.tenant });
    case 'absent':
      return added;
  }
}

/** Queued before the answer: nobody is told to come again without a recount that can answer then. */
async function unsure(deps: AdmitUploadDeps, attempt: BatchAttempt, waitMs = 0): Promise<AdmitUploadOutcome> {
  const { tenant, reservation } = attempt;
  await deps.queue.request({ tenant, reason: 'refusal', full: false });
  await deps.ledger.deleteReservation({ tenant, reservationId: reservation.id });
  return retryLater(deps, waitMs);
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
    attempt: BatchAttempt;
    verdicts: Map<string, UploadVerdict>;
    chosen: ReadonlyMap<string, number>;
    refused: Refusal | undefined;
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
    attempt: BatchAttempt;
    verdicts: Map<string, UploadVerdict>;
    refused: Refusal;
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
