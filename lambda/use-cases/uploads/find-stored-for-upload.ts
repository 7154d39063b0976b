import { repoPrefix } from '../../domain/names.ts';
import { sumClaims } from '../../domain/reservation.ts';
import type { Deps } from '../deps.ts';
import { type FindStoredDeps, findStored, remembering } from '../find-stored.ts';
import type { AdmitUploadInput } from './batch-attempt.ts';
import { fitsBeside, limitsOf } from './limit-state.ts';

/** An object of this size is always asked for: to send it again would take longer than to ask. */
const askedBytesMin = 1024 ** 2;

/**
 * Finds out which objects of an upload batch are stored already.
 *
 * A small object that a listing within the last minute had not, and that this process has offered nobody since, is taken
 * for new. If somebody else has pushed it meanwhile, it is sent once more and replaces itself, and its bytes count twice
 * until the next recount. So near the limit everything is asked for. What a listing had is asked for again: who is told
 * "stored" must not lose it.
 *
 * @returns oid → stored bytes. Objects that are not stored are absent.
 * @throws {StoreUnavailableError}
 */
export async function findStoredForUpload(
  deps: FindStoredDeps & Pick<Deps, 'knownObjects'>,
  { tenant, repo, repoObjects, objects }: AdmitUploadInput,
): Promise<Map<string, number>> {
  const { knownObjects, clock } = deps;
  const place = { tenant: tenant.tenant, repo };
  const path = repoPrefix(place);
  const listedAtMs = clock.nowMs();
  const isFarFromLimit = fitsBeside(limitsOf(tenant, { repo, nowMs: listedAtMs }), sumClaims(objects));
  const isNew = ([oid, sizeBytes]: [string, number]) =>
    isFarFromLimit && sizeBytes < askedBytesMin && knownObjects.lacks(path, oid, listedAtMs);
  const asked = [...objects].filter((object) => !isNew(object)).map(([oid]) => oid);
  if (asked.length === 0) return new Map();
  const remembered = remembering(knownObjects, { path, repoObjects, listedAtMs });
  return findStored(deps, { ...place, repoObjects, oids: asked, ...remembered });
}
