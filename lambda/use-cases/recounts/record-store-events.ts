import type { Deps } from '../../deps.ts';
import { isDead, type Reservation } from '../../domain/reservation.ts';
import { changeNote, type StoreChange } from '../../domain/store-change.ts';
import { mapLimited } from '../../rules/async.ts';
import { sha256Hex } from '../../rules/hash.ts';

export type StoreEventsOutcome =
  /** There is no such tenant, or it is being deleted and will be counted anyway. */
  | { readonly kind: 'absent' }
  /** Every change was counted already, or is in a repo that is being emptied. */
  | { readonly kind: 'nothing-new' }
  /** A recount was requested. A note was written for these repos: nothing else in the ledger shows their change. */
  | { readonly kind: 'requested'; readonly noted: readonly string[] };

const reposAtOnce = 8;

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
  const byRepo = [...groupByRepo(input.changes)];
  const news = await mapLimited(byRepo, reposAtOnce, async ([repo, changes]) => ({
    repo,
    ...(await newsOf(deps, { tenant, repo, changes, fullCountedAtMs: record.fullCountedAtMs })),
  }));
  const newCount = news.reduce((sum, { changes }) => sum + changes.length, 0);
  if (newCount === 0) return { kind: 'nothing-new' };

  const noted = news.filter(({ isExpected }) => !isExpected).map(({ repo }) => repo);
  await mapLimited(noted, reposAtOnce, (repo) => {
    const id = sha256Hex(deps.ids.random(40)).slice(0, 32);
    const reservation = changeNote(settings, { id, repo, nowMs: clock.nowMs() });
    return ledger.putReservation({ tenant, reservation });
  });
  await queue.request({ tenant, reason: 'event', full: false });
  deps.log.info('store changed', { tenant, events: input.changes.length, news: newCount, noted });
  return { kind: 'requested', noted };
}

function groupByRepo(changes: readonly StoreChange[]): Map<string, StoreChange[]> {
  const byRepo = new Map<string, StoreChange[]>();
  for (const change of changes) byRepo.set(change.repo, [...(byRepo.get(change.repo) ?? []), change]);
  return byRepo;
}

/**
 * The changes of one repo that its last scan may not have seen, and whether live reservations claim all of them. The
 * reservations are read a page at a time, and no further than needed.
 */
async function newsOf(
  { ledger, clock, settings }: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  input: { tenant: string; repo: string; changes: readonly StoreChange[]; fullCountedAtMs: number },
): Promise<{ changes: readonly StoreChange[]; isExpected: boolean }> {
  const record = await ledger.readRepo(input);
  if (record && record.closedAtMs !== null) return { changes: [], isExpected: true };
  // A scan that began after a change has seen it, even if the store's clock is off by the clock skew. The shards of a
  // giant are scanned at different times, and its count is as new as the tenant's.
  const scannedAtMs = record && !record.giant ? record.countedAtMs : 0;
  const countedAtMs = Math.max(scannedAtMs, input.fullCountedAtMs);
  const changes = input.changes.filter((change) => countedAtMs <= change.atMs + settings.clockSkewMs);
  let unexpected = changes;
  if (changes.length === 0) return { changes, isExpected: true };
  const nowMs = clock.nowMs();
  for await (const page of ledger.reservationsOf({
    tenant: input.tenant,
    repo: input.repo,
    ofUploads: true,
  })) {
    const live = page.filter((reservation) => reservation.state === 'issued' && !isDead(reservation, nowMs));
    unexpected = unexpected.filter((change) => !live.some((reservation) => claims(reservation, change)));
    if (unexpected.length === 0) break;
  }
  return { changes, isExpected: unexpected.length === 0 };
}

/** An object of another size than claimed was not uploaded with this reservation's URL. */
function claims(reservation: Reservation, change: StoreChange): boolean {
  return change.kind === 'created' && reservation.claims.get(change.name) === change.sizeBytes;
}
