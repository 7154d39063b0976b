import { objectKey } from '../domain/names.ts';
import type { Deps } from './deps.ts';

/** What a delete will free, and when. */
export interface DeletePlan {
  readonly objectCount: number;
  readonly bytes: number;
  readonly dueAtMs: number;
}

/**
 * Marks one object for deletion; after the grace time it goes, unless somebody pushes it again meanwhile.
 *
 * @returns undefined where it is not stored.
 */
export async function markObject(
  deps: Pick<Deps, 'ledger' | 'store' | 'queue' | 'clock' | 'ids' | 'settings'>,
  input: { tenant: string; repo: string; oid: string; dryRun: boolean },
): Promise<DeletePlan | undefined> {
  const { ledger, store, queue, clock, ids, settings } = deps;
  const { tenant, repo, oid } = input;
  const stored = await store.head(objectKey({ tenant, repo, oid }));
  if (!stored) return undefined;
  const dueAtMs = clock.nowMs() + settings.deleteGraceMs;
  if (!input.dryRun) {
    const objects = new Map([[oid, stored.sizeBytes]]);
    const deletion = { id: ids.random(16), repo, state: 'marked', objects, dueAtMs, deadlineMs: 0 } as const;
    await ledger.putDeletion({ tenant, deletion });
    if (settings.deleteGraceMs === 0) await queue.request({ tenant, reason: 'delete', full: false });
  }
  return { objectCount: 1, bytes: stored.sizeBytes, dueAtMs };
}

/**
 * Closes a repo, so that new batches get 404, and has it emptied at once; what live reservations hold goes
 * when they are dead.
 *
 * @returns what its last count says that it frees; undefined where the repo is not known.
 */
export async function deleteRepo(
  deps: Pick<Deps, 'ledger' | 'queue' | 'clock'>,
  input: { tenant: string; repo: string; dryRun: boolean },
): Promise<DeletePlan | undefined> {
  const { ledger, queue, clock } = deps;
  const { tenant, repo } = input;
  const known = await ledger.readRepo({ tenant, repo });
  if (!known) return undefined;
  const nowMs = clock.nowMs();
  if (!input.dryRun) {
    await ledger.setRepoClosed({ tenant, repo, closedAtMs: known.closedAtMs ?? nowMs });
    await queue.request({ tenant, reason: 'delete', full: false });
  }
  return { objectCount: known.objectCount, bytes: known.storedBytes, dueAtMs: nowMs };
}

/**
 * Closes a tenant for good and has all of its repos emptied. Its name stays taken: no late write or URL of
 * the former can touch a later tenant.
 */
export async function deleteTenant(
  deps: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'tokens'>,
  tenant: string,
): Promise<void> {
  const { ledger, queue, clock, tokens } = deps;
  await ledger.closeTenant({ tenant, closedAtMs: clock.nowMs() });
  for (const token of await tokens.list(tenant)) await tokens.delete({ tenant, tokenId: token.tokenId });
  await queue.request({ tenant, reason: 'delete', full: true });
}
