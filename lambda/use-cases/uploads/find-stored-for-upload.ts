import type { Deps } from '../../deps.ts';
import { sumClaims } from '../../domain/reservation.ts';
import { repoPrefix } from '../../rules/names.ts';
import { type FindStoredDeps, findStored, remembering } from '../../scan/find-stored.ts';
import type { AdmitUploadInput } from './batch-attempt.ts';
import { fitsBeside, limitsOf } from './limit-state.ts';

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
 *   twice until the next recount. So near the limit it is asked for.
 *
 * @returns oid → stored bytes. Objects that are not stored are absent.
 * @throws {StoreUnavailableError}
 */
export async function findStoredForUpload(
  deps: FindStoredDeps & Pick<Deps, 'knownObjects'>,
  { tenant, repo, repoObjects, objects }: AdmitUploadInput,
): Promise<Map<string, number>> {
  const { knownObjects, clock, settings } = deps;
  const place = { tenant: tenant.tenant, repo };
  const path = repoPrefix(place);
  const listedAtMs = clock.nowMs();
  const listed = knownObjects.of(path, listedAtMs, settings.listingTrustMs);
  const isFarFromLimit = fitsBeside(limitsOf(tenant, { repo, nowMs: listedAtMs }), sumClaims(objects));
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
