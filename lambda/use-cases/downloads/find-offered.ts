import type { Deps } from '../../deps.ts';
import { repoPrefix } from '../../rules/names.ts';
import { type FindStoredDeps, findStored, type Question, remembering } from '../../scan/find-stored.ts';

export type FindOfferedDeps = FindStoredDeps & Pick<Deps, 'knownObjects'>;

/**
 * Finds out which objects of a repo may be downloaded. What was listed within the last minute is not asked for again: if
 * it was deleted meanwhile, its URL says 404, as it does when the object is deleted just after the answer.
 *
 * @returns oid → stored bytes. Objects that are not stored are absent.
 * @throws {StoreUnavailableError}
 */
export async function findOffered(deps: FindOfferedDeps, question: Question): Promise<Map<string, number>> {
  const { knownObjects, clock } = deps;
  const { oids, repoObjects } = question;
  const path = repoPrefix(question);
  const listedAtMs = clock.nowMs();
  const known = knownObjects.of(path, listedAtMs);
  const found = new Map<string, number>();
  for (const oid of oids) {
    const bytes = known?.get(oid);
    if (bytes !== undefined) found.set(oid, bytes);
  }
  const left = oids.filter((oid) => !found.has(oid));
  if (left.length === 0) return found;
  const asked = await findStored(deps, {
    ...question,
    oids: left,
    ...remembering(knownObjects, { path, repoObjects, listedAtMs }),
  });
  for (const [oid, bytes] of asked) found.set(oid, bytes);
  return found;
}
