import { mapLimited } from '../rules/async.ts';
import { objectKey, repoPrefix } from '../rules/names.ts';
import { hasKeys } from '../store/rules/store.ts';
import type { CoreDeps } from './core-deps.ts';
import type { DeletionPage } from './deletion-store.ts';
import type { Input } from './ledger.ts';
import { uploadingRepos } from './reservations.ts';
import { type Deletion, isVoid, newDeletion, openDeletionsMax, singleDeletionId } from './rules/deletion.ts';
import { isLapsed, unconfirmedUntilMs } from './rules/reservation.ts';
import type { Scanned, TenantRecord } from './rules/tenant.ts';

/**
 * When the last live reservation of a repo is lapsed. Until then its URLs may bring back what it claims, so that is not
 * deleted.
 *
 * @param input.oid only the reservations that claim this object. Default: all.
 * @returns 0 if there is none.
 */
export async function heldUntilMs(
  { ledger, clock }: Pick<CoreDeps, 'ledger' | 'clock'>,
  input: { tenant: string; repo: string; oid?: string },
): Promise<number> {
  const { tenant, repo, oid } = input;
  let untilMs = 0;
  for await (const page of ledger.reservationsOf({ tenant, repo, ofUploads: true })) {
    for (const reservation of page) {
      if (isLapsed(reservation, clock.nowMs())) continue;
      if (oid === undefined || reservation.entries.has(oid))
        untilMs = Math.max(untilMs, reservation.lapsedAtMs);
    }
  }
  return untilMs;
}

/** What the reservations of a repo mean for objects that are to be deleted. */
interface Holds {
  /** The objects that live reservations claim. They are not deleted, because a URL may bring them back. */
  readonly held: ReadonlySet<string>;
  /** When the last of these reservations is lapsed. 0 if there is none. */
  readonly untilMs: number;
  /** When the last PUT has ended whose URL is of one of the repo's reservations, live or lapsed. 0 if there is none. */
  readonly putsUntilMs: number;
}

/**
 * Reads a repo's reservations, a page at a time. Those of deletes are left out, or each delete would read what all
 * before it have left: none is late for longer than the repo's item says, and none is alive.
 *
 * @param input.names of the objects that are to be deleted.
 */
export async function readHolds(
  { ledger, clock }: Pick<CoreDeps, 'ledger' | 'clock'>,
  input: { tenant: string; repo: string; names: Iterable<string> },
): Promise<Holds> {
  const { tenant, repo } = input;
  const names = new Set(input.names);
  const held = new Set<string>();
  let untilMs = 0;
  let putsUntilMs = 0;
  for await (const page of ledger.reservationsOf({ tenant, repo, ofUploads: true })) {
    for (const reservation of page) {
      if (reservation.entries.size > 0) putsUntilMs = Math.max(putsUntilMs, unconfirmedUntilMs(reservation));
      if (isLapsed(reservation, clock.nowMs())) continue;
      const claimed = [...reservation.entries.keys()].filter((oid) => names.has(oid));
      if (claimed.length > 0) untilMs = Math.max(untilMs, reservation.lapsedAtMs);
      for (const oid of claimed) held.add(oid);
    }
  }
  return { held, untilMs, putsUntilMs };
}

/** What a delete frees, and when. */
export interface DeletePlan {
  /** As last counted. null: never counted, which is not zero. */
  readonly objectCount: number | null;
  readonly bytes: number | null;
  /** When all of it may be deleted. */
  readonly dueAtMs: number;
  /** `uploads`: it is not due sooner, because live reservations hold it until then. */
  readonly waitsFor: 'uploads' | null;
}

/**
 * Marks one object for deletion. It is deleted after the grace time, unless somebody pushes it again before then. An
 * object that is marked already keeps its time. One that is damaged is gone at once: a push is to bring it back.
 *
 * @returns undefined if it is not stored. `full`: so many deletions wait that no other can be marked now.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function markObject(
  deps: Pick<CoreDeps, 'ledger' | 'store' | 'queue' | 'clock' | 'ids' | 'settings'>,
  input: { tenant: string; repo: string; oid: string; dryRun: boolean },
): Promise<DeletePlan | 'full' | undefined> {
  const { ledger, store, queue, clock, settings } = deps;
  const { tenant, repo, oid, dryRun } = input;
  const damagedBytes = dryRun ? undefined : await store.discardDamaged?.(objectKey({ tenant, repo, oid }));
  if (damagedBytes !== undefined)
    return { objectCount: 1, bytes: damagedBytes, dueAtMs: clock.nowMs(), waitsFor: null };
  const [stored, record, deletions, heldMs] = await Promise.all([
    store.head(objectKey({ tenant, repo, oid })),
    ledger.readRepo({ tenant, repo }),
    ledger.deletionsNaming({ tenant, repo, oids: [oid] }),
    heldUntilMs(deps, { tenant, repo, oid }),
  ]);
  if (!stored) return undefined;
  const nowMs = clock.nowMs();
  // That of a gc run may end without deleting it, and one from before its repo was emptied deletes nothing.
  const valid = deletions.find(
    (deletion) =>
      deletion.state !== 'deleted' &&
      deletion.sweep === undefined &&
      deletion.objects.has(oid) &&
      !isVoid(settings, deletion, { repo: record, nowMs }),
  );
  let dueAtMs = valid?.dueAtMs ?? nowMs + settings.deleteGraceMs;
  if (!dryRun && !valid) {
    const id = singleDeletionId(oid);
    const objects = new Map([[oid, stored.sizeBytes]]);
    const afterClosingMs = record?.endedClosingMs ?? 0;
    const marked = newDeletion({ id, repo, objects, dueAtMs, afterClosingMs });
    const before = deletions.find((deletion) => deletion.id === id);
    const put = await putMark(deps, { tenant, oid, marked, before });
    if (put === 'not-stored') return undefined;
    // A run counts what is left.
    if (put === 'full') await queue.request({ tenant, reason: 'delete', full: false });
    if (put === 'full') return put;
    dueAtMs = put;
  }
  if (!dryRun && dueAtMs <= nowMs) await queue.request({ tenant, reason: 'delete', full: false });
  return { objectCount: 1, bytes: stored.sizeBytes, ...dueAfter(dueAtMs, heldMs) };
}

/**
 * @param input.before what there is of the same id: it names the object no more, or is void, or gone.
 * @returns when it may be deleted. `not-stored`: a run had deleted the object after the store was asked.
 */
async function putMark(
  { ledger, store, ids }: Pick<CoreDeps, 'ledger' | 'store' | 'ids'>,
  input: { tenant: string; oid: string; marked: Deletion; before: Deletion | undefined },
): Promise<number | 'full' | 'not-stored'> {
  const { tenant, oid, marked, before } = input;
  const { repo } = marked;
  if (before && before.state !== 'deleting') {
    // A batch may still believe a listing from before the delete, and finds no record of it any more. So the object has
    // to be there again: the store is asked once the record was read.
    if (!(await store.head(objectKey({ tenant, repo, oid })))) return 'not-stored';
    // Later than before, so that no write that was meant for the former mark changes this one.
    const dueAtMs = Math.max(marked.dueAtMs, before.dueAtMs + 1);
    const outcome = await ledger.remark({ tenant, before, deletion: { ...marked, dueAtMs } });
    if (outcome === 'marked') return dueAtMs;
  }
  const counted = await ledger.countDeletions({ tenant, difference: 1, atMost: openDeletionsMax });
  if (counted === 'refused') return 'full';
  // While a run has the item, another one says the same.
  const id = before ? ids.random(16) : marked.id;
  await ledger.putDeletion({ tenant, deletion: { ...marked, id } });
  return marked.dueAtMs;
}

/**
 * Closes a repo, so that new batches get 404, and requests that it is emptied. Objects that live reservations hold
 * are deleted once those are lapsed. For a repo that is closed already, only the request is sent again.
 *
 * @returns what the delete frees by the repo's last count. Until the last live reservation is lapsed, objects may come
 * back, so the plan is due no sooner. undefined if there is no such repo: nothing was counted in it, nothing is stored, and
 * no subject keeps anything of it, it has no limit, and nothing is being uploaded to it.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function deleteRepo(
  deps: Pick<CoreDeps, 'ledger' | 'listing' | 'queue' | 'clock' | 'belongings'>,
  input: { tenant: string; repo: string; dryRun: boolean; hasLimit?: boolean },
): Promise<DeletePlan | undefined> {
  const { ledger, listing, queue, clock, belongings } = deps;
  const { tenant, repo, dryRun } = input;
  const record = await ledger.readRepo({ tenant, repo });
  const closedAtMs = record?.closedAtMs ?? null;
  const isScanned =
    record !== undefined && record.epoch > 0 && (record.objectCount > 0 || closedAtMs !== null);
  if (!isScanned && closedAtMs === null && record?.createdAtMs === undefined) {
    // What is listed without an object can be deleted, too.
    const found = await Promise.all([
      hasKeys(listing, repoPrefix({ tenant, repo })),
      ...belongings.map((each) => each.knows?.({ tenant, repo })),
      uploadingRepos(deps, { tenant, repos: [repo] }).then(([uploading]) => uploading !== undefined),
    ]);
    if (!input.hasLimit && !found.some(Boolean)) return undefined;
  }
  const closingMs = closedAtMs ?? clock.nowMs();
  if (!dryRun) {
    if (closedAtMs === null) await ledger.closeRepo({ tenant, repo, closedAtMs: closingMs });
    // First: a request that times out below has deleted the repo. Closed, nothing of it lets anybody in.
    await queue.request({ tenant, reason: 'delete', full: false });
    await Promise.all(belongings.map((each) => each.closeRepo?.({ tenant, repo })));
  }
  const heldMs = await heldUntilMs(deps, { tenant, repo });
  return { ...totalsOf(isScanned ? record : null), ...dueAfter(closingMs, heldMs) };
}

/**
 * Closes a tenant for good, ends what lets people in, and requests that all of its repos are emptied. Its name stays taken,
 * so that no late write and no old URL can touch a later tenant.
 *
 * @returns what the delete frees by the tenant's last count.
 * @throws {LedgerUnavailableError}
 */
export async function deleteTenant(
  deps: Pick<CoreDeps, 'ledger' | 'queue' | 'clock' | 'belongings'>,
  input: { tenant: TenantRecord; dryRun: boolean },
): Promise<DeletePlan> {
  const { ledger, queue, clock, belongings } = deps;
  const { tenant, closedAtMs, scanned } = input.tenant;
  const dueAtMs = closedAtMs ?? clock.nowMs();
  if (!input.dryRun) {
    await ledger.closeTenant({ tenant, closedAtMs: dueAtMs });
    // First: a request that times out below has deleted the tenant. Closed, it lets no token in.
    await queue.request({ tenant, reason: 'delete', full: true });
    for (const { closeTenant } of belongings) await closeTenant?.(tenant);
  }
  return { ...totalsOf(scanned), dueAtMs, waitsFor: null };
}

function dueAfter(dueAtMs: number, heldMs: number): Pick<DeletePlan, 'dueAtMs' | 'waitsFor'> {
  return heldMs > dueAtMs ? { dueAtMs: heldMs, waitsFor: 'uploads' } : { dueAtMs, waitsFor: null };
}

function totalsOf(scanned: Scanned | null): Pick<DeletePlan, 'objectCount' | 'bytes'> {
  return { objectCount: scanned?.objectCount ?? null, bytes: scanned?.storedBytes ?? null };
}

const reposAtOnce = 8;

/** One object that somebody asked to delete, for people. */
export interface ShownDeletion {
  readonly repo: string;
  readonly oid: string;
  readonly sizeBytes: number;
  /** `marked`: a push that names it keeps it. `deleting`: nobody can keep it any more. */
  readonly state: 'scheduled' | 'deleting';
  /** It goes no sooner. */
  readonly dueAtMs: number;
}

/**
 * One page of the objects that somebody asked to delete one by one, of a tenant or of one repo. What goes with a whole repo,
 * or by a gc run, is left out: those have no grace time, and are told where they are asked for. So is what was called off.
 * A page can be shorter than asked for.
 *
 * It takes one query, and then one read for each repo on the page.
 *
 * @throws {LedgerUnavailableError}
 */
export async function listDeletions(
  { ledger, clock, settings }: Pick<CoreDeps, 'ledger' | 'clock' | 'settings'>,
  input: Input<'listDeletions'>,
): Promise<{ deletions: readonly ShownDeletion[]; next: DeletionPage['next'] }> {
  const { tenant } = input;
  const page = await readPage(ledger, input);
  const asked = page.deletions.filter(({ sweep }) => sweep === undefined);
  const names = [...new Set(asked.map(({ repo }) => repo))];
  const read = await mapLimited(names, reposAtOnce, (repo) => ledger.readRepo({ tenant, repo }));
  const repos = new Map(names.map((repo, index) => [repo, read[index]]));
  const nowMs = clock.nowMs();
  const goes = (deletion: Deletion) => {
    const repo = repos.get(deletion.repo);
    // One of a whole repo is void once that is open.
    return (repo?.closedAtMs ?? null) === null && !isVoid(settings, deletion, { repo, nowMs });
  };
  return { deletions: asked.filter(goes).flatMap(show), next: page.next };
}

/** A cursor may be of another repo than is asked for: then nothing of it was shown before, or all of it. */
async function readPage(ledger: CoreDeps['ledger'], input: Input<'listDeletions'>): Promise<DeletionPage> {
  const { after, ...fromTheFirst } = input;
  const { repo } = input;
  if (after === undefined || repo === undefined || after.repo === repo) return ledger.listDeletions(input);
  return `${after.repo}#` < `${repo}#` ? ledger.listDeletions(fromTheFirst) : { deletions: [], next: null };
}

function show({ repo, state, objects, dueAtMs }: Deletion): ShownDeletion[] {
  if (state === 'deleted') return [];
  return [...objects].map(([oid, sizeBytes]) => ({ repo, oid, sizeBytes, state, dueAtMs }));
}
