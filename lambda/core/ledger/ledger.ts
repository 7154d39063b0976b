import type { Table } from '../table/requests.ts';
import { deletionMethods } from './deletion-store.ts';
import { emptiedMethods } from './emptied-store.ts';
import { reconcileMethods } from './reconcile-store.ts';
import { refreshMethods } from './refresh-store.ts';
import { repoMethods, shardMethods } from './repo-store.ts';
import { reservationMethods } from './reservation-store.ts';
import { counterMethods } from './tenant-counter-store.ts';
import { tenantMethods } from './tenant-store.ts';
import { watchMethods } from './watch-store.ts';

/**
 * The ledger on one DynamoDB table: table.ts describes its items, docs/how-it-works.md explains the protocol.
 *
 * A write is atomic, and changes one item. It may land late or twice: conditions make a repeated write harmless.
 * A write that got no answer is repeated, the first attempt may land after the second, even after others, and a function
 * may be frozen before it writes. Landing once more, or late:
 *
 * - `createTenant`, `closeTenant`: only if it is not there yet, or open
 * - `updateTenant`: a limit or a plan; `setRepoLimit`; `steerScan`: only over the version of the settings
 *   that was read. If others have changed them, it is read and tried again, for as long as somebody waits.
 *   What is then as it was to be was most likely changed by the first attempt: the audit, the warnings and the
 *   reconcile take it so
 * - `addCommitted`: adds again: the counter is too high, never too low, until the next reconcile
 * - `beginReconcile`: while a lease lasts, refused. After it: an epoch that nobody uses, and a lease that has
 *   ended by then or in 15 s
 * - `setLease`, `commitTenant`: only in its epoch, the latter once: the lease may last 15 s longer. What an
 *   overtaken reconcile has listed is charged in the epoch that it finds
 * - `announceDelete`, `removeIntent`: a note that comes back lowers the confirmed usage once more, and has its repo
 *   scanned, until the next reconcile after its deadline
 * - `putReservation`: pending: void a minute after its creation. Late, or a note: looked at again, and settled
 * - `issueReservation`: only if it is there. A batch issues none when its time is over: what a scan before did
 *   not know of is not issued after
 * - `endChunked`: only over the uploads that were read
 * - `keepUnconfirmed`: entries that were settled are back, and due: they are asked for, and known to be counted for 10
 *   minutes (`recentMs`)
 * - `deleteReservation`, `voidReservation`: ids are random, so nobody else has this one
 * - `markDirty`: dirty once more. A known change never replaces an unknown one, which would be forgotten
 * - `clearDirty`, `openRepo`: only what it read: tokens are random, closings have times
 * - `createRepo`: a repo that was deleted is shown again, with nothing in it. Not while it is closed
 * - `confirmKind`, `dropKind`: only of a creation that is unproven: whichever comes first decides
 * - `removeRepo`: only the item that was read, with nothing in it. No reconcile that read it makes it again
 * - `endTidy`: only what it read: epochs are taken once
 * - `closeRepo`: not if this closing has ended. `emptyLater`: only in this closing, and it is empty no sooner
 * - `commitRepo`: only over an older epoch, with the dirty token that was read. The tenant remembers the
 *   newest epoch that may still write (`overtakenEpoch`)
 * - `startLargeRepo`: only if it is no large repo, and was not counted since. Its shards are there, unscanned
 * - `noteProgress`: shows an older progress
 * - `putShard` over one that was read: once: each write has a new epoch
 * - `putShard` that creates one: not over a newer one. One that was removed is back, and *replaced* by its
 *   parts
 * - `removeShard`: only as it was read: no other write has this epoch
 * - `putDeletion`: if its record is there, refused. Once the repo was emptied and opened: void. A mark is kept
 *   for its hour
 * - `remark`: only over what it read: each mark of an object is due later than the one before
 * - `countDeletions`: counts again: wrong until the next run
 * - `putDeletion` of a gc run: the same, and however late: void without its watch, and it deletes only what
 *   nobody has named since
 * - `putEmptied`: its names are asked for again when they are due. `removeEmptied`: one that is
 *   there again names what is not there any more
 * - `openWatch`: not if a watch is open, nor if one has ended that was opened then or later
 * - `closeWatch`: only that watch
 * - `noteSeen`, `noteGone`: the same item again. What is gone only says why an object is missing
 * - `unmark`, `claimDeletion`, `endDeletion`, `dropRemoval`, `removeDeletion`: only in the state, and with the
 *   due time, deadline or run, that it read
 *
 * Reads are strongly consistent, except `listTenants` and `dueTenants`, which find tenants by an index.
 *
 * @throws {LedgerUnavailableError} from every method, and from every page of the paged reads.
 * @throws {NewerFormatError} from every method that reads a tenant, begins a reconcile, or adds to the counter.
 */
export function createDynamoDbLedger(table: Table) {
  return {
    ...tenantMethods(table),
    ...counterMethods(table),
    ...repoMethods(table),
    ...reservationMethods(table),
    ...reconcileMethods(table),
    ...shardMethods(table),
    ...deletionMethods(table),
    ...emptiedMethods(table),
    ...watchMethods(table),
    ...refreshMethods(table),
  };
}

export type Ledger = ReturnType<typeof createDynamoDbLedger>;

/** What a method takes. */
export type Input<M extends keyof Ledger> = Parameters<Ledger[M]>[0];
