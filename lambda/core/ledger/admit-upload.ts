import { allPages } from '../rules/async.ts';
import { sha256Hex } from '../rules/hash.ts';
import { objectKey, repoPrefix } from '../rules/names.ts';
import { PrefixSet, prefixText } from '../rules/prefix-set.ts';
import { type FindStoredDeps, findStored, remembering } from '../scan/find-stored.ts';
import { addWithinLimit, unconfirmedCheckOf } from './add-within-limit.ts';
import type { CoreDeps } from './core-deps.ts';
import { decideAtLimit, type LimitDecision, type LimitQuestion } from './decide-at-limit.ts';
import { requestOrLog } from './reconcile-requests.ts';
import { type Deletion, unmarkedObjectsMax } from './rules/deletion.ts';
import { fitsBeside, limitsOf, type Refusal } from './rules/limits.ts';
import { sumEntries, uploadsToVerify } from './rules/reservation.ts';
import { entriesMaxOf, isOfFiles, isOnHold, type TenantRecord, tenantEntriesMax } from './rules/tenant.ts';
import { type Crowded, onePutEach, type Ticket, type WayInput } from './rules/upload-way.ts';
import { isNoting } from './rules/watch.ts';
import { tell } from './seams.ts';
import type { AddOutcome } from './tenant-counter-store.ts';
import {
  type AdmitUploadDeps,
  type AdmitUploadInput,
  type AdmitUploadOutcome,
  type BatchAttempt,
  keyOf,
  newAttempt,
  type UploadVerdict,
} from './upload-batch.ts';

/**
 * While a gc run is under way in the repo, notes what a batch names. A deletion of the gc run that is claimed after
 * this leaves it alone. One that was claimed before is found by whoever reads deletions after this.
 *
 * @throws {LedgerUnavailableError}
 */
async function noteNamed(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  { watch, objects, attempt }: Pick<AdmitUploadInput, 'watch' | 'objects'> & { attempt: BatchAttempt },
): Promise<void> {
  const { tenant, beganMs, reservation } = attempt;
  if (!isNoting(watch, beganMs)) return;
  const note = { beganMs, prefixes: prefixText(objects.keys()) };
  await ledger.noteSeen({ tenant, watch, intentId: reservation.id, note });
}

/**
 * Takes the objects that a batch asks for out of marked deletions.
 *
 * @param input.names oid → bytes of all that the batch asks for.
 * @param input.stored oid → bytes of what the store had. It was asked before the deletions are read here, up to
 * `listingTrustMs` before the batch began.
 * @returns `deleting` if one of the objects is being deleted now, or was deleted after the store was asked. Nobody
 * can say yet whether it is stored.
 */
export async function keepFromDeletion(
  deps: Pick<CoreDeps, 'ledger' | 'clock' | 'settings'>,
  input: {
    tenant: string;
    repo: string;
    /** How many deletions the tenant has, as last known. */
    deletionCount: number;
    /** Of the tenant. */
    mayHaveOlderKeys?: boolean | undefined;
    names: ReadonlyMap<string, number>;
    stored: ReadonlyMap<string, number>;
    /** Of files: nothing is kept, and a name is free once its delete has ended. */
    isOfFiles?: boolean;
  },
): Promise<'kept' | 'deleting'> {
  const { tenant, repo, deletionCount, names: asked, isOfFiles = false } = input;
  if (input.mayHaveOlderKeys) await allPages(deps.ledger.deletions(tenant));
  // To read the few that there are takes less than to ask for each object.
  const deletions = await (deletionCount > asked.size
    ? deps.ledger.deletionsNaming({ tenant, repo, oids: asked.keys() })
    : allPages(deps.ledger.deletionsOf({ tenant, repo })));
  const nowMs = deps.clock.nowMs();
  const gone = new PrefixSet();
  for (const deletion of deletions) {
    const { state, prefixes = '', objects } = deletion;
    // In a large repo, the record of what is gone may be kept for longer than it concerns a batch.
    if (state === 'deleted' && nowMs > deletion.deadlineMs + 2 * deps.settings.clockSkewMs) continue;
    if (state === 'deleted') gone.addText(prefixes);
    // What is gone, and was not stored when the store was asked, is uploaded like any other object.
    const affected = state === 'deleted' ? input.stored : asked;
    const names = [...objects.keys()].filter((name) => affected.has(name));
    if (names.length === 0) continue;
    if (state !== 'scheduled' || isOfFiles) return 'deleting';
    if ((await unmark(deps, { tenant, deletion, names })) === 'refused') return 'deleting';
  }
  return [...input.stored.keys()].some((oid) => gone.has(oid)) ? 'deleting' : 'kept';
}

/**
 * Takes objects out of a deletion, some in each write.
 *
 * @returns `refused`: a deleter claimed it first. It got only what was not taken out before, which then stays.
 */
async function unmark(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  { tenant, deletion, names }: { tenant: string; deletion: Deletion; names: readonly string[] },
): Promise<'unmarked' | 'refused'> {
  const { repo, id: deletionId, dueAtMs } = deletion;
  for (let begin = 0; begin < names.length; begin += unmarkedObjectsMax) {
    const some = names.slice(begin, begin + unmarkedObjectsMax);
    if ((await ledger.unmark({ tenant, repo, deletionId, dueAtMs, names: some })) === 'refused')
      return 'refused';
  }
  return 'unmarked';
}

/** An object of this size is always asked for: to send it again would take longer than to ask. */
const askedBytesMin = 1024 ** 2;

/**
 * Finds out which objects of an upload batch are stored already. A listing that this process has made a moment ago
 * answers for those of which it is sure enough:
 *
 * - What was listed within `listingTrustMs` is stored. If it has been deleted since, the deletions that this batch reads
 *   after this still have the record.
 * - A small object that a listing within the last minute had not, and that this process has offered nobody since, is
 *   taken for new. If somebody else has pushed it meanwhile, it is sent once more and replaces itself, and its bytes count
 *   twice until the next reconcile. So near the limit it is asked for.
 *
 * @returns oid → stored bytes. Objects that are not stored are absent.
 * @throws {StoreUnavailableError}
 */
export async function findStoredForUpload(
  deps: FindStoredDeps & Pick<CoreDeps, 'knownObjects'>,
  { tenant, repo, repoObjects, objects, files }: AdmitUploadInput,
): Promise<Map<string, number>> {
  const { knownObjects, clock, settings } = deps;
  const place = { tenant: tenant.tenant, repo };
  // What is taken for new without asking must replace itself if it isn't.
  if (files) return findStored(deps, { ...place, repoObjects, oids: [...objects.keys()] });
  const path = repoPrefix(place);
  const listedAtMs = clock.nowMs();
  const listed = knownObjects.of(path, listedAtMs, settings.listingTrustMs);
  const isFarFromLimit = fitsBeside(limitsOf(tenant, { repo, nowMs: listedAtMs }), sumEntries(objects));
  const isNew = (oid: string, sizeBytes: number) =>
    isFarFromLimit && sizeBytes < askedBytesMin && knownObjects.lacks(path, oid, listedAtMs);
  const stored = new Map<string, number>();
  const asked: string[] = [];
  for (const [oid, sizeBytes] of objects) {
    const listedBytes = listed?.get(oid);
    if (listedBytes !== undefined) stored.set(oid, listedBytes);
    else if (!isNew(oid, sizeBytes)) asked.push(oid);
  }
  if (asked.length === 0) return stored;
  const remembered = remembering(knownObjects, { path, repoObjects, listedAtMs });
  const found = await findStored(deps, { ...place, repoObjects, oids: asked, ...remembered });
  for (const [oid, bytes] of found) stored.set(oid, bytes);
  return stored;
}

/** Measures and logs the outcome of one batch of uploads. */
function reportAdmission(
  deps: Pick<CoreDeps, 'metrics' | 'log'>,
  batch: { tenant: string; repo: string; objects: ReadonlyMap<string, number>; outcome: AdmitUploadOutcome },
): void {
  const { tenant, repo, objects, outcome } = batch;
  const { metrics, log } = deps;
  switch (outcome.kind) {
    case 'answered': {
      const oidsOf = (kind: UploadVerdict['kind']) =>
        [...outcome.verdicts].filter(([, verdict]) => verdict.kind === kind).map(([oid]) => oid);
      const inChunks = [...outcome.verdicts].flatMap(([oid, verdict]) =>
        verdict.kind === 'chunks' && !verdict.isResumed ? [oid] : [],
      );
      const admitted = [...oidsOf('upload'), ...inChunks];
      const admittedBytes = admitted.reduce((sum, oid) => sum + (objects.get(oid) ?? 0), 0);
      const refused = oidsOf('over-limit').length + oidsOf('no-space').length;
      if (admitted.length > 0) {
        metrics.increment('UploadsAdmitted', admitted.length);
        metrics.measure('BytesAdmitted', admittedBytes);
      }
      if (refused > 0) metrics.increment('UploadsRefused', refused);
      log.info('uploads', { tenant, repo, admitted: admitted.length, admittedBytes, refused });
      return;
    }
    case 'retry':
      metrics.increment('BatchesDeferred');
      log.info('uploads deferred', { tenant, repo, retryAfterMs: outcome.retryAfterMs });
      return;
    case 'absent':
      return;
  }
}

/**
 * Admits what fits below the tenant's limit, and signs its uploads. Three round trips:
 *
 *     1  ask what is stored, and put the reservation (pending); while the repo has a watch, note what is named
 *     2  add to the counter: one conditional ADD on the tenant item; take the objects out of marked deletions; queue a
 *        reconcile, which voids the reservation if this function dies before step 3
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

/** A batch of which nothing goes another way asks nobody. */
const wayFor = ({ way }: Pick<CoreDeps, 'way'>, { chunked }: Pick<WayInput, 'chunked'>) =>
  chunked ? way : onePutEach;

async function admit(deps: AdmitUploadDeps, input: AdmitUploadInput): Promise<AdmitUploadOutcome> {
  if (isOnHold(input.tenant)) return deferOnHold(deps, input.tenant);
  if (hasTooManyEntries(input.tenant, input.objects)) {
    await deps.queue.request({ tenant: input.tenant.tenant, reason: 'refusal', full: false });
    return retryLater(deps, entriesWaitMs(input.tenant, input.objects));
  }
  const attempt = newAttempt(deps, input);
  const { tenant, reservation } = attempt;
  const { appliedEpoch: withoutItEpoch } = input.tenant;
  const [stored, resumed] = await Promise.all([
    findStoredForUpload(deps, input),
    wayFor(deps, input).resume({ ...input, tenant }),
    deps.ledger.putReservation({
      tenant,
      reservation,
      dueAtMs: reservation.createdAtMs + deps.settings.pendingVoidAfterMs,
    }),
    noteNamed(deps, { ...input, attempt }),
  ]);
  const { verdicts, missing } = dividedBy({ stored, resumed }, input.objects);
  const unconfirmedCheck = unconfirmedCheckOf(deps, { attempt, missing, madeBy: input.madeBy });
  const unconfirmed = await unconfirmedCheck(input.tenant);
  if (unconfirmed.kind === 'waits')
    return deferBatch(deps, { attempt, waitMs: unconfirmedWaitMs, unconfirmedUntilMs: unconfirmed.untilMs });
  // A batch that is not expected to fit is usually refused, and a refusal is no reason to reconcile.
  const limits = limitsOf(input.tenant, { repo: input.repo, nowMs: attempt.beganMs });
  const isExpectedToFit = missing.size > 0 && fitsBeside(limits, sumEntries(missing));
  const requestUploadReconcile = () => requestOrLog(deps, { tenant, reason: 'upload', full: false });
  // Deletions are read after the reservation is put, and after what is named is noted: one that is claimed later sees
  // both, and spares the objects.
  const [added, keepOutcome, isFilesNow] = await Promise.all([
    addWithinLimit(deps, { ...input, ...unconfirmed, chosen: missing, notYetAdded: missing }),
    keepFromDeletion(deps, {
      tenant,
      repo: input.repo,
      deletionCount: input.tenant.deletionCount,
      mayHaveOlderKeys: input.tenant.mayHaveOlderKeys,
      names: input.objects,
      stored,
      isOfFiles: input.files !== undefined,
    }),
    becameFiles(deps, input),
    isExpectedToFit ? requestUploadReconcile() : undefined,
  ]);
  if (keepOutcome === 'deleting' || isFilesNow) {
    // When the client asks again, so does this process.
    deps.knownObjects.forget(repoPrefix({ tenant, repo: input.repo }));
    return deferBatch(deps, { attempt, waitMs: 0 });
  }
  if (missing.size === 0) {
    await deps.ledger.deleteReservation(keyOf(attempt));
    return { kind: 'answered', verdicts };
  }
  const decision = await decide(deps, { attempt, missing, unconfirmedCheck, added, input });
  // Beside what follows. The answer does not wait for it.
  if ('refusal' in decision && decision.refusal)
    void tell(deps, 'refused', { ...input, user: input.user ?? null, refusal: decision.refusal });
  switch (decision.kind) {
    case 'admit':
      if (!isExpectedToFit) await requestUploadReconcile();
      return issue(deps, { attempt, asked: input, verdicts, withoutItEpoch, ...decision });
    case 'full': {
      const { refusal, ownEpoch = withoutItEpoch } = decision;
      return refuseAll(deps, { attempt, verdicts, refusal, withoutItEpoch: ownEpoch });
    }
    case 'unknown':
      return deferBatch(deps, { attempt, ...decision });
    case 'absent':
      return decision;
  }
}

/** Whether a repo that nobody knew, or only a scan found, is one of files since this batch read it. Whoever creates one finds the reservation, or this finds it. */
async function becameFiles(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  { tenant: { tenant }, repo, isOfLfs = false, files }: AdmitUploadInput,
): Promise<boolean> {
  return !files && !isOfLfs && isOfFiles(await ledger.readRepo({ tenant, repo }));
}

/** How long a count takes that ends a hold, for most tenants. */
const holdWaitMs = 10_000;

/** The schedule counts the tenant when the hold can end. Somebody waits, so this asks for it too. */
async function deferOnHold(deps: AdmitUploadDeps, tenant: TenantRecord): Promise<AdmitUploadOutcome> {
  const { uploadsFromMs: heldUntilMs = 0 } = tenant;
  const waitMs = heldUntilMs - deps.clock.nowMs();
  if (waitMs < 0) await deps.queue.request({ tenant: tenant.tenant, reason: 'refusal', full: true });
  return { ...retryLater(deps, Math.max(holdWaitMs, waitMs)), heldUntilMs };
}

/** What is there is answered, and what is missing is to be admitted. */
function dividedBy(
  {
    stored,
    resumed,
  }: { stored: ReadonlyMap<string, number>; resumed: ReadonlyMap<string, Ticket | Crowded> },
  objects: ReadonlyMap<string, number>,
) {
  const verdicts = new Map<string, UploadVerdict>();
  const missing = new Map<string, number>();
  for (const [oid, sizeBytes] of objects) {
    const storedBytes = stored.get(oid);
    const ticket = resumed.get(oid);
    if (storedBytes !== undefined)
      verdicts.set(
        oid,
        storedBytes === sizeBytes ? { kind: 'stored' } : { kind: 'size-conflict', storedBytes },
      );
    else if (ticket && 'kind' in ticket) verdicts.set(oid, ticket);
    // It counts already.
    else if (ticket) verdicts.set(oid, { kind: 'chunks', verifyToken: null, isResumed: true, ...ticket });
    else missing.set(oid, sizeBytes);
  }
  return { verdicts, missing };
}

async function decide(
  deps: AdmitUploadDeps,
  {
    added,
    input,
    ...question
  }: Pick<LimitQuestion, 'attempt' | 'missing' | 'unconfirmedCheck'> & {
    added: AddOutcome;
    input: AdmitUploadInput;
  },
): Promise<LimitDecision> {
  const { tenant: before, repoObjects, isOptional } = input;
  switch (added.kind) {
    case 'added':
      return { kind: 'admit', chosen: question.missing, refusal: undefined };
    case 'refused':
      return decideRefused(deps, {
        ...question,
        tenant: added.tenant,
        before,
        repoObjects,
        isOptional,
      });
    case 'absent':
      return added;
  }
}

async function decideRefused(deps: AdmitUploadDeps, question: LimitQuestion): Promise<LimitDecision> {
  const { tenant, missing, unconfirmedCheck } = question;
  if (hasTooManyEntries(tenant, missing)) return { kind: 'unknown', waitMs: entriesWaitMs(tenant, missing) };
  const unconfirmed = await unconfirmedCheck(tenant);
  if (unconfirmed.kind === 'waits')
    return { kind: 'unknown', waitMs: unconfirmedWaitMs, unconfirmedUntilMs: unconfirmed.untilMs };
  return decideAtLimit(deps, question);
}

/** Whether a reservation of these entries is beyond what the next reconcile of the tenant can hold. */
function hasTooManyEntries(tenant: TenantRecord, entries: ReadonlyMap<string, number>): boolean {
  return tenant.entryCount + 1 + entries.size > entriesMaxOf(tenant);
}

/** After a reconcile more are taken, unless there are as many as can be: those take their time to end. */
function entriesWaitMs({ entryCount }: TenantRecord, entries: ReadonlyMap<string, number>): number {
  return entryCount + 1 + entries.size > tenantEntriesMax ? retryAfterMaxMs : unconfirmedWaitMs;
}

/**
 * The reconcile is queued before the answer: no client is told to retry unless a reconcile will have the answer. And it's
 * queued after the reservation is gone: one that still read it would show what nobody was granted as reserved.
 */
async function deferBatch(
  deps: AdmitUploadDeps,
  {
    attempt,
    waitMs,
    unconfirmedUntilMs,
  }: { attempt: BatchAttempt; waitMs: number; unconfirmedUntilMs?: number },
): Promise<RetryOutcome> {
  const { tenant } = attempt;
  await deps.ledger.deleteReservation(keyOf(attempt));
  await deps.queue.request({ tenant, reason: 'refusal', full: false });
  return { ...retryLater(deps, waitMs), ...(unconfirmedUntilMs !== undefined && { unconfirmedUntilMs }) };
}

async function issue(
  deps: AdmitUploadDeps,
  input: {
    attempt: BatchAttempt;
    asked: AdmitUploadInput;
    verdicts: Map<string, UploadVerdict>;
    chosen: ReadonlyMap<string, number>;
    refusal: Refusal | undefined;
    /** As in {@link refuseAll}. */
    withoutItEpoch: number;
  },
): Promise<AdmitUploadOutcome> {
  const { attempt, asked, verdicts, refusal } = input;
  const { tenant, reservation } = attempt;
  const chosen = withSpace(deps, input);
  if (chosen.size === 0) return refuseAll(deps, input);
  const { repo, id: reservationId } = reservation;
  // Before the reservation is issued: once a client knows of its uploads, they have records.
  // It was set for another store, if this one doesn't have it.
  const storageClass = deps.storageClasses.find((each) => each === asked.storageClass);
  const begun = {
    ...asked,
    tenant,
    repo,
    reservationId,
    objects: chosen,
    nowMs: attempt.beganMs,
    storageClass,
  };
  const way = wayFor(deps, asked);
  const { tickets: inChunks, isFull } = await way.begin(begun);
  // Nobody gets the answer any more. A scan of a shard relies on that: it knows of every entry that was made a while
  // before it, although the function that made the entry may have been frozen before it wrote the reservation.
  const isTooLate = deps.clock.nowMs() > attempt.beganMs + deps.settings.batchTimeLimitMs;
  if (isTooLate || isFull) {
    await deps.ledger.deleteReservation(keyOf(attempt));
    await way.remove({ tenant, repo, tickets: inChunks });
    return retryLater(deps);
  }
  const chunked = inChunks.size > 0 && {
    chunked: { oids: [...inChunks.keys()], untilMs: reservation.createdAtMs + way.claimedForMs },
  };
  const issued = await deps.ledger.issueReservation({ ...keyOf(attempt), entries: chosen, ...chunked });
  // A reconcile voided the reservation and no longer counts it, so no URL may be handed out.
  if (issued === 'gone') {
    await way.remove({ tenant, repo, tickets: inChunks });
    return retryLater(deps);
  }
  deps.knownObjects.offer(repoPrefix({ tenant, repo: reservation.repo }), chosen.keys());
  const verified = uploadsToVerify(chosen, { objects: reservation.entries.size });
  await Promise.all(
    [...chosen].map(async ([oid, sizeBytes]) => {
      const verifyToken = verified.has(oid) ? attempt.verifyToken : null;
      const ticket = inChunks.get(oid);
      if (ticket) return verdicts.set(oid, { kind: 'chunks', verifyToken, isResumed: false, ...ticket });
      const put = await deps.signer.signUpload({
        key: objectKey({ tenant, repo: reservation.repo, oid }),
        ...(asked.files ? { ...asked.files.get(oid), onlyNew: true } : { oid }),
        sizeBytes,
        storageClass,
        signedAtMs: reservation.createdAtMs,
        lifetimeMs: deps.settings.urlLifetimeMs,
      });
      const expiresInMs = reservation.createdAtMs + deps.settings.urlLifetimeMs - deps.clock.nowMs();
      return verdicts.set(oid, { kind: 'upload', put, verifyToken, expiresInMs });
    }),
  );
  addRefusal(verdicts, refusal);
  if (refusal || chosen.size < input.chosen.size) await forgetRefused(deps, input);
  return { kind: 'answered', verdicts, reservationId };
}

/**
 * Leaves out what the store's disk has no space for. It's asked last, so that what the limit refuses keeps none. What is left
 * out was added to the counter, which the next reconcile corrects.
 */
function withSpace(
  { store, way }: Pick<CoreDeps, 'store' | 'way'>,
  input: Pick<Parameters<typeof issue>[1], 'attempt' | 'asked' | 'verdicts' | 'chosen'>,
): ReadonlyMap<string, number> {
  const { attempt, asked, verdicts, chosen } = input;
  if (!store.takeSpace) return chosen;
  const uploads = [...chosen].map(([oid, sizeBytes]) => {
    const key = objectKey({ tenant: attempt.tenant, repo: asked.repo, oid });
    return { oid, key, diskBytes: asked.chunked?.has(oid) ? way.diskCopies * sizeBytes : sizeBytes };
  });
  const { lacking, freeBytes } = store.takeSpace(uploads, attempt.reservation.lapsedAtMs);
  for (const { oid } of lacking) verdicts.set(oid, { kind: 'no-space', freeBytes });
  return new Map([...chosen].filter(([oid]) => !verdicts.has(oid)));
}

async function refuseAll(
  deps: AdmitUploadDeps,
  input: {
    attempt: BatchAttempt;
    verdicts: Map<string, UploadVerdict>;
    /** Of the last reconcile that is known not to have counted this reservation: it was committed before, or is our own. */
    withoutItEpoch: number;
    refusal: Refusal | undefined;
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
 * ever, and the reconcile meets the next refusal. So it must not use up what is kept for those who wait.
 */
async function forgetRefused(
  deps: AdmitUploadDeps,
  { attempt, withoutItEpoch }: { attempt: BatchAttempt; withoutItEpoch: number },
): Promise<void> {
  const { tenant } = attempt;
  const now = await deps.ledger.readTenant(tenant);
  if (now && now.epoch > withoutItEpoch) await requestOrLog(deps, { tenant, reason: 'upload', full: false });
}

function addRefusal(verdicts: Map<string, UploadVerdict>, refusal: Refusal | undefined): void {
  if (!refusal) return;
  for (const oid of refusal.oids) verdicts.set(oid, { kind: 'over-limit', refusal });
}

type RetryOutcome = Extract<AdmitUploadOutcome, { kind: 'retry' }>;

/** A reconcile settles what has arrived meanwhile. It is seldom later. */
const unconfirmedWaitMs = 60_000;
/** Longest Retry-After before jitter. git-lfs gives up if the wait is longer than 5 minutes. */
const retryAfterMaxMs = 4 * 60_000;

/**
 * Retry-After with jitter, so that clients that were deferred together do not return together.
 *
 * @param waitMs earliest time from now at which the answer can differ.
 */
function retryLater(deps: Pick<CoreDeps, 'ids' | 'settings'>, waitMs = 0): RetryOutcome {
  const { retryAfterMs } = deps.settings;
  const jitter = Number.parseInt(sha256Hex(deps.ids.random(8)).slice(0, 4), 16) / 0xffff;
  const leastMs = Math.max(retryAfterMs, Math.min(waitMs, retryAfterMaxMs));
  return { kind: 'retry', retryAfterMs: Math.round(leastMs + retryAfterMs * jitter) };
}
