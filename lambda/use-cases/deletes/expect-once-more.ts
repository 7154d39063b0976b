import type { Deps } from '../../deps.ts';
import {
  lateAfterDelete,
  onceMoreIdStart,
  type Reservation,
  storedAgainUntilMs,
} from '../../domain/reservation.ts';
import { mapLimited } from '../../rules/async.ts';
import { deletionPrefix, isOid } from '../../rules/names.ts';
import { StoreUnavailableError } from '../../store/rules/store.ts';

const headsAtOnce = 16;

/**
 * A late reservation of objects that are about to be deleted, if a PUT may store them once more. Their room is then
 * free, like that of any late upload, up to the tenant's limit and no further.
 *
 * Without it, somebody could send each object twice, once fast and once slowly, and delete what has arrived, again and
 * again: each round would have the whole limit, and the slow PUTs of all of them would end later.
 *
 * The repo's item is read after its reservations: a reconcile that deleted one of them has noted it there first.
 *
 * @returns undefined if no PUT of them can be under way. Nothing is written yet. `tooMany`: the tenant has so many
 * claims that no more should be added.
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
): Promise<{ late: Reservation; tooMany: boolean } | undefined> {
  const { ledger, clock, ids, settings } = deps;
  const { tenant, repo } = input;
  // There is a URL only for an object with an oid.
  const claims = new Map([...input.objects].filter(([name]) => isOid(name)));
  if (claims.size === 0) return undefined;
  const [record, account] = await Promise.all([ledger.readRepo({ tenant, repo }), ledger.readTenant(tenant)]);
  const putsUntilMs = Math.max(record?.putsUntilMs ?? 0, input.putsUntilMs);
  const nowMs = clock.nowMs();
  if (nowMs > putsUntilMs || !account) return undefined;
  const late = lateAfterDelete(settings, {
    id: onceMoreIdStart + ids.random(16),
    tenant,
    repo,
    claims,
    putsUntilMs,
    deletedByMs: input.deadlineMs,
    nowMs,
  });
  return { late, tooMany: account.claimCount + 1 + claims.size > settings.lateClaimsMax };
}

/**
 * Which of these objects a PUT may store once more, by when the store says that each was put. It costs a HEAD for each.
 *
 * @returns undefined: the store did not answer for each.
 */
export async function findYoung(
  { store, clock, settings }: Pick<Deps, 'store' | 'clock' | 'settings'>,
  input: { tenant: string; repo: string; names: Iterable<string> },
): Promise<ReadonlySet<string> | undefined> {
  const { tenant, repo } = input;
  const young = new Set<string>();
  try {
    await mapLimited([...input.names].filter(isOid), headsAtOnce, async (name) => {
      const stored = await store.head(`${deletionPrefix({ tenant, repo })}${name}`);
      if (!stored) return;
      const { sizeBytes, lastModifiedMs = clock.nowMs() } = stored;
      if (clock.nowMs() <= storedAgainUntilMs(settings, { sizeBytes, lastModifiedMs })) young.add(name);
    });
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return undefined;
  }
  return young;
}
