import type { AddOutcome } from '../../adapters/dynamodb/tenants.ts';
import type { Deps } from '../../deps.ts';
import { sumClaims } from '../../domain/reservation.ts';
import { claimsMaxOf, type TenantRecord, tenantClaimsMax } from '../../domain/tenant.ts';
import { uploadsToVerify } from '../../domain/verified-uploads.ts';
import { noteRefusal } from '../../extras/history.ts';
import { sha256Hex } from '../../rules/hash.ts';
import { objectKey, repoPrefix } from '../../rules/names.ts';
import { requestOrLog } from '../recounts/request-or-log.ts';
import {
  type AdmitUploadDeps,
  type AdmitUploadInput,
  type AdmitUploadOutcome,
  type BatchAttempt,
  keyOf,
  newAttempt,
  type UploadVerdict,
} from './batch-attempt.ts';
import type { LimitQuestion } from './choose-by-floor.ts';
import { addWithinLimit, decideAtLimit, type LimitDecision } from './decide-at-limit.ts';
import { findStoredForUpload } from './find-stored-for-upload.ts';
import { keepFromDeletion } from './keep-from-deletion.ts';
import { lateCheckOf } from './late-claims.ts';
import { fitsBeside, limitsOf } from './limit-state.ts';
import { noteNamed } from './note-named.ts';
import type { Refusal } from './refusal.ts';
import { reportAdmission } from './report-admission.ts';

/**
 * Admits what fits below the tenant's limit, and signs its uploads. Three round trips:
 *
 *     1  ask what is stored, and put the reservation (pending); while the repo has a watch, note what is named
 *     2  add to the counter: one conditional ADD on the tenant item; take the objects out of marked deletions; queue a
 *        recount, which voids the reservation if this function dies before step 3
 *     3  issue the reservation
 *
 * A URL is handed out only for what is reserved and added to the counter. If the counter refuses, the request is
 * not refused yet: {@link decideAtLimit} finds out.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError} No URL was handed out. If bytes were added to the counter,
 * a later reconcile takes them off again.
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
  if (hasTooManyClaims(input.tenant, input.objects)) {
    await deps.queue.request({ tenant: input.tenant.tenant, reason: 'refusal', full: false });
    return retryLater(deps, claimsWaitMs(input.tenant, input.objects));
  }
  const attempt = newAttempt(deps, input);
  const { tenant, reservation } = attempt;
  const [stored] = await Promise.all([
    findStoredForUpload(deps, input),
    deps.ledger.putReservation({
      tenant,
      reservation,
      dueAtMs: reservation.createdAtMs + deps.settings.pendingVoidAfterMs,
    }),
    noteNamed(deps, { ...input, attempt }),
  ]);
  const { verdicts, missing } = dividedBy(stored, input.objects);
  const lateCheck = lateCheckOf(deps, { attempt, missing, madeBy: input.madeBy });
  const late = await lateCheck(input.tenant);
  if (late.kind === 'waits')
    return deferBatch(deps, { attempt, waitMs: lateWaitMs, lateUntilMs: late.untilMs });
  // A batch that is not expected to fit is usually refused, and a refusal is no reason to recount.
  const limits = limitsOf(input.tenant, { repo: input.repo, nowMs: attempt.beganMs });
  const isExpectedToFit = missing.size > 0 && fitsBeside(limits, sumClaims(missing));
  const requestUploadRecount = () => requestOrLog(deps, { tenant, reason: 'upload', full: false });
  // Deletions are read after the reservation is put, and after what is named is noted: one that is claimed later sees
  // both, and spares the objects.
  const [added, keepOutcome] = await Promise.all([
    addWithinLimit(deps, {
      tenant: input.tenant,
      repo: input.repo,
      chosen: missing,
      notYetAdded: missing,
      beforeMax: late.beforeMax,
    }),
    keepFromDeletion(deps, {
      tenant,
      repo: input.repo,
      deletionCount: input.tenant.deletionCount,
      mayHaveOlderKeys: input.tenant.mayHaveOlderKeys,
      names: input.objects,
      stored,
    }),
    isExpectedToFit ? requestUploadRecount() : undefined,
  ]);
  if (keepOutcome === 'deleting') {
    // When the client asks again, so does this process.
    deps.knownObjects.forget(repoPrefix({ tenant, repo: input.repo }));
    return deferBatch(deps, { attempt, waitMs: 0 });
  }
  if (missing.size === 0) {
    await deps.ledger.deleteReservation(keyOf(attempt));
    return { kind: 'answered', verdicts };
  }
  const decision = await decide(deps, { attempt, missing, lateCheck, added, input });
  // Beside what follows. The answer does not wait for it.
  if ('refusal' in decision && decision.refusal)
    void noteRefusal(deps, input.tenant, decision.refusal, { repo: input.repo, user: input.user ?? null });
  switch (decision.kind) {
    case 'admit':
      if (!isExpectedToFit) await requestUploadRecount();
      return issue(deps, { attempt, verdicts, withoutItEpoch: input.tenant.appliedEpoch, ...decision });
    case 'full': {
      const { refusal, ownEpoch = input.tenant.appliedEpoch } = decision;
      return refuseAll(deps, { attempt, verdicts, refusal, withoutItEpoch: ownEpoch });
    }
    case 'unknown':
      return deferBatch(deps, { attempt, ...decision });
    case 'absent':
      return decision;
  }
}

/** What is there is answered, and what is missing is to be admitted. */
function dividedBy(stored: ReadonlyMap<string, number>, objects: ReadonlyMap<string, number>) {
  const verdicts = new Map<string, UploadVerdict>();
  const missing = new Map<string, number>();
  for (const [oid, sizeBytes] of objects) {
    const storedBytes = stored.get(oid);
    if (storedBytes === undefined) missing.set(oid, sizeBytes);
    else
      verdicts.set(
        oid,
        storedBytes === sizeBytes ? { kind: 'stored' } : { kind: 'size-conflict', storedBytes },
      );
  }
  return { verdicts, missing };
}

async function decide(
  deps: AdmitUploadDeps,
  {
    added,
    input,
    ...question
  }: Pick<LimitQuestion, 'attempt' | 'missing' | 'lateCheck'> & {
    added: AddOutcome;
    input: AdmitUploadInput;
  },
): Promise<LimitDecision> {
  const { tenant: before, repoObjects } = input;
  switch (added.kind) {
    case 'added':
      return { kind: 'admit', chosen: question.missing, refusal: undefined };
    case 'refused':
      return decideRefused(deps, { ...question, tenant: added.tenant, before, repoObjects });
    case 'absent':
      return added;
  }
}

async function decideRefused(deps: AdmitUploadDeps, question: LimitQuestion): Promise<LimitDecision> {
  const { tenant, missing, lateCheck } = question;
  if (hasTooManyClaims(tenant, missing)) return { kind: 'unknown', waitMs: claimsWaitMs(tenant, missing) };
  const late = await lateCheck(tenant);
  if (late.kind === 'waits') return { kind: 'unknown', waitMs: lateWaitMs, lateUntilMs: late.untilMs };
  return decideAtLimit(deps, question);
}

/** Whether a reservation of these claims is beyond what the next reconcile of the tenant can hold. */
function hasTooManyClaims(tenant: TenantRecord, claims: ReadonlyMap<string, number>): boolean {
  return tenant.claimCount + 1 + claims.size > claimsMaxOf(tenant);
}

/** After a recount more are taken, unless there are as many as can be: those take their time to end. */
function claimsWaitMs({ claimCount }: TenantRecord, claims: ReadonlyMap<string, number>): number {
  return claimCount + 1 + claims.size > tenantClaimsMax ? retryAfterMaxMs : lateWaitMs;
}

/**
 * The recount is queued before the answer: no client is told to retry unless a recount will have the answer. And it's
 * queued after the reservation is gone: one that still read it would show what nobody was granted as reserved.
 */
async function deferBatch(
  deps: AdmitUploadDeps,
  { attempt, waitMs, lateUntilMs }: { attempt: BatchAttempt; waitMs: number; lateUntilMs?: number },
): Promise<RetryOutcome> {
  const { tenant } = attempt;
  await deps.ledger.deleteReservation(keyOf(attempt));
  await deps.queue.request({ tenant, reason: 'refusal', full: false });
  return { ...retryLater(deps, waitMs), ...(lateUntilMs !== undefined && { lateUntilMs }) };
}

async function issue(
  deps: AdmitUploadDeps,
  input: {
    attempt: BatchAttempt;
    verdicts: Map<string, UploadVerdict>;
    chosen: ReadonlyMap<string, number>;
    refusal: Refusal | undefined;
    /** As in {@link refuseAll}. */
    withoutItEpoch: number;
  },
): Promise<AdmitUploadOutcome> {
  const { attempt, verdicts, chosen, refusal } = input;
  const { tenant, reservation } = attempt;
  // Nobody gets the answer any more. A scan of a shard relies on that: it knows of every claim that was made a while
  // before it, although the function that made the claim may have been frozen before it wrote the reservation.
  if (deps.clock.nowMs() > attempt.beganMs + deps.settings.batchTimeLimitMs) {
    await deps.ledger.deleteReservation(keyOf(attempt));
    return retryLater(deps);
  }
  const issued = await deps.ledger.issueReservation({ ...keyOf(attempt), claims: chosen });
  // A reconcile voided the reservation and no longer counts it, so no URL may be handed out.
  if (issued === 'gone') return retryLater(deps);
  deps.knownObjects.offer(repoPrefix({ tenant, repo: reservation.repo }), chosen.keys());
  const verified = uploadsToVerify(chosen, { objects: reservation.claims.size });
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
      const verifyToken = verified.has(oid) ? attempt.verifyToken : null;
      verdicts.set(oid, { kind: 'upload', put, verifyToken, expiresInMs });
    }),
  );
  if (refusal) {
    addRefusal(verdicts, refusal);
    await forgetRefused(deps, input);
  }
  return { kind: 'answered', verdicts };
}

async function refuseAll(
  deps: AdmitUploadDeps,
  input: {
    attempt: BatchAttempt;
    verdicts: Map<string, UploadVerdict>;
    /** Of the last reconcile that is known not to have counted this reservation: it was committed before, or is our own. */
    withoutItEpoch: number;
    refusal: Refusal;
  },
): Promise<AdmitUploadOutcome> {
  const { attempt, verdicts, refusal } = input;
  // A batch whose reservation was voided was paused for so long that what it read proves nothing any more.
  if ((await deps.ledger.deleteReservation(keyOf(attempt))) === 'absent') return retryLater(deps);
  addRefusal(verdicts, refusal);
  await forgetRefused(deps, input);
  return { kind: 'answered', verdicts };
}

/**
 * A reconcile that read the reservation before it was deleted shows what was refused as reserved, for as long as nobody
 * counts again. So somebody does, as after an upload: nobody waits for it. A tenant that is full may be pushed to for
 * ever, and the recount meets the next refusal. So it must not use up what is kept for those who wait.
 */
async function forgetRefused(
  deps: AdmitUploadDeps,
  { attempt, withoutItEpoch }: { attempt: BatchAttempt; withoutItEpoch: number },
): Promise<void> {
  const { tenant } = attempt;
  const now = await deps.ledger.readTenant(tenant);
  if (now && now.epoch > withoutItEpoch) await requestOrLog(deps, { tenant, reason: 'upload', full: false });
}

function addRefusal(verdicts: Map<string, UploadVerdict>, refusal: Refusal): void {
  for (const oid of refusal.oids) verdicts.set(oid, { kind: 'over-limit', refusal });
}

type RetryOutcome = Extract<AdmitUploadOutcome, { kind: 'retry' }>;

/** A recount settles what has arrived meanwhile. It is seldom later. */
const lateWaitMs = 60_000;
/** Longest Retry-After before jitter. git-lfs gives up if the wait is longer than 5 minutes. */
const retryAfterMaxMs = 4 * 60_000;

/**
 * Retry-After with jitter, so that clients that were deferred together do not return together.
 *
 * @param waitMs earliest time from now at which the answer can differ.
 */
function retryLater(deps: Pick<Deps, 'ids' | 'settings'>, waitMs = 0): RetryOutcome {
  const { retryAfterMs } = deps.settings;
  const jitter = Number.parseInt(sha256Hex(deps.ids.random(8)).slice(0, 4), 16) / 0xffff;
  const leastMs = Math.max(retryAfterMs, Math.min(waitMs, retryAfterMaxMs));
  return { kind: 'retry', retryAfterMs: Math.round(leastMs + retryAfterMs * jitter) };
}
