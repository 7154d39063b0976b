import type { Deps } from '../../deps.ts';
import {
  type Deletion,
  isVoid,
  newDeletion,
  openDeletionsMax,
  singleDeletionId,
} from '../../domain/deletion.ts';
import type { Counted, TenantRecord } from '../../domain/tenant.ts';
import { mapLimited } from '../../rules/async.ts';
import { objectKey, repoPrefix } from '../../rules/names.ts';
import { hasKeys } from '../../store/rules/store.ts';
import { uploadingRepos } from '../uploading-repos.ts';
import { heldUntilMs } from './held-until.ts';

/** Public and mapped repos of a tenant that are ended at a time. */
const endsAtOnce = 16;

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
 * object that is marked already keeps its time.
 *
 * @returns undefined if it is not stored. `full`: so many deletions wait that no other can be marked now.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function markObject(
  deps: Pick<Deps, 'ledger' | 'store' | 'queue' | 'clock' | 'ids' | 'settings'>,
  input: { tenant: string; repo: string; oid: string; dryRun: boolean },
): Promise<DeletePlan | 'full' | undefined> {
  const { ledger, store, queue, clock, settings } = deps;
  const { tenant, repo, oid, dryRun } = input;
  const [stored, record, deletions, gone, heldMs] = await Promise.all([
    store.head(objectKey({ tenant, repo, oid })),
    ledger.readRepo({ tenant, repo }),
    ledger.deletionsNaming({ tenant, repo, oids: [oid] }),
    ledger.goneOf({ tenant, repo, oids: [oid] }),
    heldUntilMs(deps, { tenant, repo, oid }),
  ]);
  if (!stored) return undefined;
  const nowMs = clock.nowMs();
  // That of a clean-up may end without deleting it, and one from before its repo was emptied deletes nothing.
  const valid = deletions.find(
    (deletion) =>
      deletion.state !== 'gone' &&
      deletion.sweep === undefined &&
      deletion.objects.has(oid) &&
      !isVoid(settings, deletion, { repo: record, nowMs }),
  );
  // A clean-up had deleted it, and it was pushed again since. What goes now, it hasn't deleted.
  if (!dryRun && gone.has(oid)) await ledger.forgetGone({ tenant, repo, oid });
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
  { ledger, store, ids }: Pick<Deps, 'ledger' | 'store' | 'ids'>,
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
 * are deleted once those are dead. For a repo that is closed already, only the request is sent again.
 *
 * @returns what the delete frees by the repo's last count. Until the last live reservation is dead, objects may come
 * back, so the plan is due no sooner. undefined if there is no such repo: nothing was counted in it, nothing is stored, and
 * it is neither public nor mapped, has no limit, and nothing is being uploaded to it.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function deleteRepo(
  deps: Pick<Deps, 'ledger' | 'listing' | 'queue' | 'clock' | 'publicReads' | 'mappedRepos'>,
  input: { tenant: string; repo: string; dryRun: boolean; hasLimit?: boolean },
): Promise<DeletePlan | undefined> {
  const { ledger, listing, queue, clock, publicReads, mappedRepos } = deps;
  const { tenant, repo, dryRun } = input;
  const record = await ledger.readRepo({ tenant, repo });
  const closedAtMs = record?.closedAtMs ?? null;
  const isCounted =
    record !== undefined && record.epoch > 0 && (record.objectCount > 0 || closedAtMs !== null);
  if (!isCounted && closedAtMs === null && record?.createdAtMs === undefined) {
    // What is listed without an object can be deleted, too.
    const found = await Promise.all([
      hasKeys(listing, repoPrefix({ tenant, repo })),
      publicReads.find({ tenant, repo }),
      mappedRepos.find({ tenant, repo }),
      uploadingRepos(deps, { tenant, repos: [repo] }).then(([uploading]) => uploading !== undefined),
    ]);
    if (!input.hasLimit && !found.some(Boolean)) return undefined;
  }
  const closingMs = closedAtMs ?? clock.nowMs();
  if (!dryRun) {
    if (closedAtMs === null) await ledger.closeRepo({ tenant, repo, closedAtMs: closingMs });
    const atMs = clock.nowMs();
    await Promise.all([publicReads.end({ tenant, repo, atMs }), mappedRepos.end({ tenant, repo, atMs })]);
    await queue.request({ tenant, reason: 'delete', full: false });
  }
  const heldMs = await heldUntilMs(deps, { tenant, repo });
  return { ...totalsOf(isCounted ? record : null), ...dueAfter(closingMs, heldMs) };
}

/**
 * Closes a tenant for good, revokes its tokens, ends what was public or mapped and requests that all of its repos are emptied. Its name stays taken,
 * so that no late write and no old URL can touch a later tenant.
 *
 * @returns what the delete frees by the tenant's last count.
 * @throws {LedgerUnavailableError}
 */
export async function deleteTenant(
  deps: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'tokens' | 'exchangeRules' | 'publicReads' | 'mappedRepos'>,
  input: { tenant: TenantRecord; dryRun: boolean },
): Promise<DeletePlan> {
  const { ledger, queue, clock, tokens, exchangeRules, publicReads, mappedRepos } = deps;
  const { tenant, closedAtMs, counted } = input.tenant;
  const dueAtMs = closedAtMs ?? clock.nowMs();
  if (!input.dryRun) {
    await ledger.closeTenant({ tenant, closedAtMs: dueAtMs });
    // First: a request that times out below has deleted the tenant. Closed, it lets no token in.
    await queue.request({ tenant, reason: 'delete', full: true });
    await mapLimited(await publicReads.list(tenant), endsAtOnce, ({ repo }) =>
      publicReads.end({ tenant, repo, atMs: clock.nowMs() }),
    );
    await mapLimited(await mappedRepos.list(tenant), endsAtOnce, ({ repo }) =>
      mappedRepos.end({ tenant, repo, atMs: clock.nowMs() }),
    );
    await mapLimited(await exchangeRules.list(tenant), endsAtOnce, (rule) => exchangeRules.delete(rule));
    await mapLimited(await tokens.list(tenant), endsAtOnce, ({ tokenId }) =>
      tokens.delete({ tenant, tokenId }),
    );
  }
  return { ...totalsOf(counted), dueAtMs, waitsFor: null };
}

function dueAfter(dueAtMs: number, heldMs: number): Pick<DeletePlan, 'dueAtMs' | 'waitsFor'> {
  return heldMs > dueAtMs ? { dueAtMs: heldMs, waitsFor: 'uploads' } : { dueAtMs, waitsFor: null };
}

function totalsOf(counted: Counted | null): Pick<DeletePlan, 'objectCount' | 'bytes'> {
  return { objectCount: counted?.objectCount ?? null, bytes: counted?.storedBytes ?? null };
}
