import { sha256Hex } from '../../domain/hash.ts';
import { isDead, type Reservation } from '../../domain/reservation.ts';
import { changeNote, type StoreChange } from '../../domain/store-change.ts';
import type { RepoRecord } from '../../domain/tenant.ts';
import { allPages } from '../all-pages.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';

export type StoreEventsOutcome =
  /** There is no such tenant, or it is being deleted and looked after anyway. */
  | { readonly kind: 'absent' }
  /** All of it was counted already, or lies in repos that are being emptied. */
  | { readonly kind: 'nothing-new' }
  /** A recount was asked for; these repos changed in a way that nothing else would have told. */
  | { readonly kind: 'asked'; readonly noted: readonly string[] };

const notesAtOnce = 8;

/**
 * Takes up what the store tells of one tenant's objects, and asks for a recount where one is needed.
 *
 * - What the last scan of the repo must have seen, or what is told of a repo that is being emptied, is dropped.
 * - An upload that a live reservation claims, to the byte, was expected: its repo is due already.
 * - Everything else gets a note first (see {@link changeNote}), and then the request: a request alone would
 *   find nothing to scan.
 *
 * Nothing depends on the order of events, and one that comes twice costs a scan at the most.
 *
 * @throws {LedgerUnavailableError} so that the events come again.
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
  const news = input.changes.filter((change) => {
    const repo = byName.get(change.repo);
    return !repo || !(repo.closedAtMs !== null || hasSeen(repo, change, settings.clockSkewMs));
  });
  if (news.length === 0) return { kind: 'nothing-new' };

  const live = reservations.filter((each) => each.state === 'issued' && !isDead(each, nowMs));
  const unexpected = news.filter((change) => !live.some((reservation) => claims(reservation, change)));
  const noted = [...new Set(unexpected.map((change) => change.repo))];
  await mapLimited(noted, notesAtOnce, (repo) => {
    const id = sha256Hex(deps.ids.random(40)).slice(0, 32);
    return ledger.putReservation({ tenant, reservation: changeNote(settings, { id, repo, nowMs }) });
  });
  await queue.request({ tenant, reason: 'event', full: false });
  deps.log.info('store changed', { tenant, events: input.changes.length, news: news.length, noted });
  return { kind: 'asked', noted };
}

/** True where the scan that the repo's count is of began after the store had done it. */
function hasSeen(repo: RepoRecord, change: StoreChange, clockSkewMs: number): boolean {
  return repo.countedAtMs > change.atMs + clockSkewMs;
}

/** A size that was not claimed is no upload of that reservation, so it is not expected. */
function claims(reservation: Reservation, change: StoreChange): boolean {
  return (
    change.kind === 'created' &&
    reservation.repo === change.repo &&
    reservation.claims.get(change.name) === change.sizeBytes
  );
}
