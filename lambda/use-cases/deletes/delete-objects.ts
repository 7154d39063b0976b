import type { Deletion } from '../../domain/deletion.ts';
import { objectKey, repoPrefix } from '../../domain/names.ts';
import type { Counted, TenantRecord } from '../../domain/tenant.ts';
import { allPages } from '../all-pages.ts';
import type { Deps } from '../deps.ts';

/** What a delete frees, and when. */
export interface DeletePlan {
  /** As last counted; null: never counted, which is not zero. */
  readonly objectCount: number | null;
  readonly bytes: number | null;
  /** From then on it goes; what live reservations hold, once they are dead. */
  readonly dueAtMs: number;
}

/**
 * Marks one object for deletion; after the grace time it goes, unless somebody pushes it again meanwhile.
 * One that is marked already keeps its time.
 *
 * @returns undefined where it is not stored.
 */
export async function markObject(
  deps: Pick<Deps, 'ledger' | 'store' | 'queue' | 'clock' | 'ids' | 'settings'>,
  input: { tenant: string; repo: string; oid: string; dryRun: boolean },
): Promise<DeletePlan | undefined> {
  const { ledger, store, queue, clock, ids, settings } = deps;
  const { tenant, repo, oid, dryRun } = input;
  const [stored, deletions] = await Promise.all([
    store.head(objectKey({ tenant, repo, oid })),
    allPages(ledger.deletions(tenant)),
  ]);
  if (!stored) return undefined;
  const nowMs = clock.nowMs();
  const marked = deletions.find(
    (deletion) => deletion.state !== 'gone' && deletion.repo === repo && deletion.objects.has(oid),
  );
  const dueAtMs = marked?.dueAtMs ?? nowMs + settings.deleteGraceMs;
  if (!dryRun && !marked) {
    const objects = new Map([[oid, stored.sizeBytes]]);
    const deletion: Deletion = {
      id: ids.random(16),
      repo,
      state: 'marked',
      objects,
      dueAtMs,
      deadlineMs: 0,
    };
    await ledger.putDeletion({ tenant, deletion });
  }
  if (!dryRun && dueAtMs <= nowMs) await queue.request({ tenant, reason: 'delete', full: false });
  return { objectCount: 1, bytes: stored.sizeBytes, dueAtMs };
}

/**
 * Closes a repo, so that new batches get 404, and has it emptied at once; what live reservations hold goes
 * when they are dead. One that is closed already is asked for again.
 *
 * @returns what its last count says that it frees; undefined where there is no such repo: nothing was
 * counted in it, and nothing is stored.
 */
export async function deleteRepo(
  deps: Pick<Deps, 'ledger' | 'listing' | 'queue' | 'clock'>,
  input: { tenant: string; repo: string; dryRun: boolean },
): Promise<DeletePlan | undefined> {
  const { ledger, listing, queue, clock } = deps;
  const { tenant, repo, dryRun } = input;
  const known = await ledger.readRepo({ tenant, repo });
  const closedAtMs = known?.closedAtMs ?? null;
  const isCounted = known !== undefined && known.epoch > 0 && (known.objectCount > 0 || closedAtMs !== null);
  if (!isCounted && closedAtMs === null) {
    const page = await listing.listPage({ prefix: repoPrefix({ tenant, repo }), maxKeys: 1 });
    if (page.keyCount === 0) return undefined;
  }
  const dueAtMs = closedAtMs ?? clock.nowMs();
  if (!dryRun) {
    if (closedAtMs === null) await ledger.closeRepo({ tenant, repo, closedAtMs: dueAtMs });
    await queue.request({ tenant, reason: 'delete', full: false });
  }
  return { ...freed(isCounted ? known : null), dueAtMs };
}

/**
 * Closes a tenant for good, makes its tokens worthless and has all of its repos emptied. Its name stays
 * taken: no late write or URL of the former can touch a later tenant.
 *
 * @returns what its last count says that it frees.
 */
export async function deleteTenant(
  deps: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'tokens'>,
  input: { tenant: TenantRecord; dryRun: boolean },
): Promise<DeletePlan> {
  const { ledger, queue, clock, tokens } = deps;
  const { tenant, closedAtMs, counted } = input.tenant;
  const dueAtMs = closedAtMs ?? clock.nowMs();
  if (!input.dryRun) {
    await ledger.closeTenant({ tenant, closedAtMs: dueAtMs });
    for (const { tokenId } of await tokens.list(tenant)) await tokens.delete({ tenant, tokenId });
    await queue.request({ tenant, reason: 'delete', full: true });
  }
  return { ...freed(counted), dueAtMs };
}

function freed(counted: Counted | null): Pick<DeletePlan, 'objectCount' | 'bytes'> {
  return { objectCount: counted?.objectCount ?? null, bytes: counted?.storedBytes ?? null };
}
