import { isOid } from '../../domain/names.ts';
import { lateAfterDelete } from '../../domain/reservation.ts';
import type { Deps } from '../deps.ts';

/**
 * Before objects are deleted: makes a late reservation of those that a PUT may store once more. Their room is then free,
 * like that of any late upload, up to the tenant's limit and no further.
 *
 * Without it, somebody could send each object twice, once fast and once slowly, and delete what has arrived, again and
 * again: each round would have the whole limit, and the slow PUTs of all of them would end later.
 *
 * The repo's item is read after its reservations: a reconcile that deleted one of them has noted it there first.
 *
 * @throws {LedgerUnavailableError}
 */
export async function expectOnceMore(
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
): Promise<void> {
  const { ledger, clock, ids, settings } = deps;
  const { tenant, repo } = input;
  // There is a URL only for an object with an oid.
  const claims = new Map([...input.objects].filter(([name]) => isOid(name)));
  const record = await ledger.readRepo({ tenant, repo });
  const putsUntilMs = Math.max(record?.putsUntilMs ?? 0, input.putsUntilMs);
  const nowMs = clock.nowMs();
  if (claims.size === 0 || nowMs > putsUntilMs) return;
  const reservation = lateAfterDelete(settings, {
    id: ids.random(16),
    repo,
    claims,
    putsUntilMs,
    deletedByMs: input.deadlineMs,
    nowMs,
  });
  await ledger.putReservation({ tenant, reservation });
}
