import { isVoid, newDeletion } from '../../domain/deletion.ts';
import { objectKey, repoPrefix } from '../../domain/names.ts';
import type { Counted, TenantRecord } from '../../domain/tenant.ts';
import { hasKeys } from '../../ports/object-listing.ts';
import { allPages } from '../all-pages.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';
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
 * @returns undefined if it is not stored.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function markObject(
  deps: Pick<Deps, 'ledger' | 'store' | 'queue' | 'clock' | 'ids' | 'settings'>,
  input: { tenant: string; repo: string; oid: string; dryRun: boolean },
): Promise<DeletePlan | undefined> {
  const { ledger, store, queue, clock, ids, settings } = deps;
  const { tenant, repo, oid, dryRun } = input;
  const [stored, record, deletions, heldMs] = await Promise.all([
    store.head(objectKey({ tenant, repo, oid })),
    ledger.readRepo({ tenant, repo }),
    allPages(ledger.deletionsOf({ tenant, repo })),
    heldUntilMs(deps, { tenant, repo, oid }),
  ]);
  if (!stored) return undefined;
  const nowMs = clock.nowMs();
  // That of a clean-up may end without deleting it, and one from before its repo was emptied deletes nothing.
  const marked = deletions.find(
    (deletion) =>
      deletion.state !== 'gone' &&
      deletion.sweep === undefined &&
      deletion.objects.has(oid) &&
      !isVoid(settings, deletion, { repo: record, nowMs }),
  );
  const dueAtMs = marked?.dueAtMs ?? nowMs + settings.deleteGraceMs;
  if (!dryRun && !marked) {
    const objects = new Map([[oid, stored.sizeBytes]]);
    const afterClosingMs = record?.endedClosingMs ?? 0;
    await ledger.putDeletion({
      tenant,
      deletion: newDeletion({ id: ids.random(16), repo, objects, dueAtMs, afterClosingMs }),
    });
  }
  if (!dryRun && dueAtMs <= nowMs) await queue.request({ tenant, reason: 'delete', full: false });
  return { objectCount: 1, bytes: stored.sizeBytes, ...dueAfter(dueAtMs, heldMs) };
}

/**
 * Closes a repo, so that new batches get 404, and requests that it is emptied. Objects that live reservations hold
 * are deleted once those are dead. For a repo that is closed already, only the request is sent again.
 *
 * @returns what the delete frees by the repo's last count. Until the last live reservation is dead, objects may come
 * back, so the plan is due no sooner. undefined if there is no such repo: nothing was counted in it, and nothing is
 * stored.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function deleteRepo(
  deps: Pick<Deps, 'ledger' | 'listing' | 'queue' | 'clock' | 'publicReads' | 'mappedRepos'>,
  input: { tenant: string; repo: string; dryRun: boolean },
): Promise<DeletePlan | undefined> {
  const { ledger, listing, queue, clock, publicReads, mappedRepos } = deps;
  const { tenant, repo, dryRun } = input;
  const record = await ledger.readRepo({ tenant, repo });
  const closedAtMs = record?.closedAtMs ?? null;
  const isCounted =
    record !== undefined && record.epoch > 0 && (record.objectCount > 0 || closedAtMs !== null);
  if (!isCounted && closedAtMs === null && record?.createdAtMs === undefined) {
    if (!(await hasKeys(listing, repoPrefix({ tenant, repo })))) return undefined;
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
