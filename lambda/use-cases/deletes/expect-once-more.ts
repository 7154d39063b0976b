import { isOid } from '../../domain/names.ts';
import { lateAfterDelete, type Reservation, sumClaims } from '../../domain/reservation.ts';
import type { Deps } from '../deps.ts';

/**
 * A late reservation of objects that are about to be deleted, if a PUT may store them once more. Their room is then
 * free, like that of any late upload, up to the tenant's limit and no further.
 *
 * Without it, somebody could send each object twice, once fast and once slowly, and delete what has arrived, again and
 * again: each round would have the whole limit, and the slow PUTs of all of them would end later.
 *
 * The repo's item is read after its reservations: a reconcile that deleted one of them has noted it there first.
 *
 * @returns undefined if no PUT of them can be under way. Nothing is written yet.
 * @throws {LedgerUnavailableError}
 */
export async function expectedOnceMore(
  deps: Pick<Deps, 'ledger' | 'clock' | 'ids' | 'settings'>,
  input: {
    tenant: string;
    repo: string;
    /** Name below the repo → bytes. */
    objects: ReadonlyMap<string, number>;
    /** By the reservations of the repo, which were read before. */
    putsUntilMs: number;
    /** When the delete ends. */
    deadlineMs: number;
  },
): Promise<Reservation | undefined> {
  const { ledger, clock, ids, settings } = deps;
  const { tenant, repo } = input;
  // There is a URL only for an object with an oid.
  const claims = new Map([...input.objects].filter(([name]) => isOid(name)));
  if (claims.size === 0) return undefined;
  const [record, account] = await Promise.all([ledger.readRepo({ tenant, repo }), ledger.readTenant(tenant)]);
  const putsUntilMs = Math.max(record?.putsUntilMs ?? 0, input.putsUntilMs);
  const nowMs = clock.nowMs();
  if (nowMs > putsUntilMs || !account) return undefined;
  const id = ids.random(16);
  // Without a limit only the look at the end matters. Giants are asked for the objects by their names, or else all their
  // shards would have to be scanned then.
  const isNameless = account.limitBytes === null && record?.giant === undefined;
  const isSum = isNameless || account.claimCount + claims.size > settings.lateClaimsMax;
  return lateAfterDelete(settings, {
    id,
    repo,
    // No oid, so no scan sees it.
    claims: isSum ? new Map([[`*${id}`, sumClaims(claims)]]) : claims,
    ...(isSum && { objectCount: claims.size }),
    putsUntilMs,
    deletedByMs: input.deadlineMs,
    nowMs,
  });
}
