import { sha256Hex } from '../../domain/hash.ts';
import { isDead, type Reservation } from '../../domain/reservation.ts';
import { changeNote, type StoreChange } from '../../domain/store-change.ts';
import type { RepoRecord } from '../../domain/tenant.ts';
import { allPages } from '../all-pages.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';

export type StoreEventsOutcome =
  /** There is no such tenant, or it is being deleted and will be counted anyway. */
  | { readonly kind: 'absent' }
  /** Every change was counted already, or is in a repo that is being emptied. */
  | { readonly kind: 'nothing-new' }
  /** A recount was requested. A note was written for these repos: nothing else in the ledger shows their change. */
  | { readonly kind: 'requested'; readonly noted: readonly string[] };

const notesAtOnce = 8;

/**
 * Records the changes that the store reported about one tenant's objects, and requests a recount if one is needed.
 *
 * - A change that the last scan of the repo must have seen is dropped, and so is a change in a repo that is being
 *   emptied.
 * - An upload that a live reservation claims, with this exact size, was expected. Its repo is due until a scan sees it.
 * - For everything else a note is written (see {@link changeNote}) before the recount is requested. Without the note
 *   the recount would find nothing to scan.
 *
 * The order of the events does not matter, and an event that is delivered twice costs at most one more scan.
 *
 * @throws {LedgerUnavailableError} The events are to be redelivered.
 */
export async function recordStoreEvents(
  deps: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'ids' | 'log' | 'settings'>,
  input: { tenant: string; changes: readonly StoreChange[] },
): Promise<StoreEventsOutcome> {
  const { ledger, queue, clock, settings } = deps;
  const { tenant } = input;
  const record = await ledger.readTenant(tenant);
  if (!record || record.closedAtMs !== null) return { kind: 'absent' };
  const [reservations, repos] = await Promise.all([
    allPages(ledger.reservations(tenant)),
    allPages(ledger.repos(tenant)),
  ]);
  const nowMs = clock.nowMs();
  const byName = new Map(repos.map((repo) => [repo.repo, repo]));
  const newChanges = input.changes.filter((change) => {
    const repo = byName.get(change.repo);
    return !repo || !(repo.closedAtMs !== null || hasSeen(repo, change, settings.clockSkewMs));
  });
  if (newChanges.length === 0) return { kind: 'nothing-new' };

  const live = reservations.filter(
    (reservation) => reservation.state === 'issued' && !isDead(reservation, nowMs),
  );
  const unexpected = newChanges.filter((change) => !live.some((reservation) => claims(reservation, change)));
  const noted = [...new Set(unexpected.map((change) => change.repo))];
  await mapLimited(noted, notesAtOnce, (repo) => {
    const id = sha256Hex(deps.ids.random(40)).slice(0, 32);
    return ledger.putReservation({ tenant, reservation: changeNote(settings, { id, repo, nowMs }) });
  });
  await queue.request({ tenant, reason: 'event', full: false });
  deps.log.info('store changed', { tenant, events: input.changes.length, news: newChanges.length, noted });
  return { kind: 'requested', noted };
}

/** True if the repo's last scan began after the change, even if the store's clock is off by the clock skew. */
function hasSeen(repo: RepoRecord, change: StoreChange, clockSkewMs: number): boolean {
  return repo.countedAtMs > change.atMs + clockSkewMs;
}

/** An object of another size than claimed was not uploaded with this reservation's URL. */
function claims(reservation: Reservation, change: StoreChange): boolean {
  return (
    change.kind === 'created' &&
    reservation.repo === change.repo &&
    reservation.claims.get(change.name) === change.sizeBytes
  );
}
