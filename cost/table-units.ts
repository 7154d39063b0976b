import type { CleanUpCall, TableCall } from './operations.ts';

/** How DynamoDB bills by the size of an item. */

const writeUnitBytes = 1024;
const readUnitBytes = 4096;

function writeUnits(itemBytes: number): number {
  return Math.max(1, Math.ceil(itemBytes / writeUnitBytes));
}

/** Units of a strongly consistent read: one item, or all items of a query together. Finding nothing costs one. */
function readUnits(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / readUnitBytes));
}

/** A tenant's item with names of ordinary length: one write unit. */
const tenantItemBytes = 450;

/** A repo's item with what was stored on six days. Each covered reservation adds its id. */
function repoItemBytes(coveredReservations: number): number {
  return 340 + 33 * coveredReservations;
}

/** A reservation of `claims` objects: per object an oid of 64 characters, its size, and the map's overhead. */
function reservationItemBytes(claims: number): number {
  return 280 + 71 * claims;
}

/** Days that a forecast reads, and the item of each. */
const historyDays = 100;
const historyItemBytes = 150;

/** A deletion of `objects`: as a reservation, and what its clean-up is. */
function deletionItemBytes(objects: number): number {
  return 400 + 71 * objects;
}

/** A clean-up's item, with the ten largest objects that it found. */
const cleanupItemBytes = 1800;

/** What a batch names while a clean-up is open: eight bytes an object, as text. */
function seenItemBytes(objects: number): number {
  return 180 + 11 * objects;
}

/** Bytes of a reservation's keys in an index. */
const dueEntryBytes = 130;

/** What an operation finds in the table. */
export interface TableSizes {
  /** Objects of one reservation. */
  readonly claims: number;
  /** Reservations of the tenant, including dead ones. */
  readonly reservations: number;
  readonly repos: number;
  /** Whether the tenant is counted in full. That moves its entry in the index of what is due. */
  readonly isFull: boolean;
  /** Entries that a run of the schedule finds. */
  readonly due: number;
  /** Objects of a deletion. Default: none. */
  readonly deleting?: number;
}

export interface TableUnits {
  readonly reads: number;
  /** Of the item itself. */
  readonly writes: number;
  /** Of its index entries: a new or removed entry costs one, a moved one two. */
  readonly indexWrites: number;
}

/** Partitions that a run of the schedule queries: 3 kinds, 4 shards each. */
const duePartitions = 12;

/** Units of one call. A change to attributes outside an index costs nothing in it. */
export function unitsOfCall(call: TableCall, sizes: TableSizes): TableUnits {
  const reads = (units: number): TableUnits => ({ reads: units, writes: 0, indexWrites: 0 });
  const writes = (units: number, indexWrites = 0): TableUnits => ({ reads: 0, writes: units, indexWrites });
  const reservationBytes = reservationItemBytes(sizes.claims);
  switch (call) {
    case 'findToken':
    case 'readTenant':
    case 'readRefreshState':
    case 'readWarnings':
    case 'readRepo':
    case 'deletions':
    case 'deletionsOf':
    case 'findMappedRepo':
    case 'findGrant':
    // Few repos have more file locks than fit into one unit: about ten.
    case 'listLocks':
    // Few tenants have more public repos than that: about thirty.
    case 'listPublicRepos':
      return reads(1);
    case 'readReservation':
      return reads(readUnits(reservationBytes));
    case 'reservations':
      return reads(readUnits(sizes.reservations * reservationBytes));
    case 'reservationsOf':
      return reads(readUnits((sizes.reservations / Math.max(1, sizes.repos)) * reservationBytes));
    case 'repos':
      return reads(readUnits(sizes.repos * repoItemBytes(sizes.reservations / Math.max(1, sizes.repos))));
    case 'dueTenants': {
      // Reads of an index are eventually consistent: half a unit each.
      const perPartition = (sizes.due * dueEntryBytes) / duePartitions;
      return reads((duePartitions * readUnits(perPartition)) / 2);
    }
    case 'putRefreshState':
    case 'keepGrant':
      return writes(1);
    case 'noteCount':
      // A second one if the day had a higher count. Most tenants only grow.
      return writes(1);
    case 'daysOfHistory':
      // Eventually consistent.
      return reads(readUnits(historyDays * historyItemBytes) / 2);
    // The item of the month.
    case 'meterDownloads':
    case 'addDownloadsToDay':
      return writes(1);
    case 'addCommitted':
    case 'beginReconcile':
      return writes(writeUnits(tenantItemBytes));
    case 'commitTenant':
      return writes(writeUnits(tenantItemBytes), sizes.isFull ? 2 : 0);
    case 'commitRepo':
      return writes(writeUnits(repoItemBytes(sizes.reservations)));
    case 'issueReservation':
      // It is due at its death then, and no longer when its batch must be dead.
      return writes(writeUnits(reservationBytes), 2);
    case 'putReservation':
    case 'deleteReservation':
      return writes(writeUnits(reservationBytes), 1);
    default:
      return unitsOfCleanUp(call, sizes);
  }
}

function unitsOfCleanUp(call: CleanUpCall, sizes: TableSizes): TableUnits {
  const reads = (units: number): TableUnits => ({ reads: units, writes: 0, indexWrites: 0 });
  const writes = (units: number, indexWrites = 0): TableUnits => ({ reads: 0, writes: units, indexWrites });
  const deletionUnits = writeUnits(deletionItemBytes(sizes.deleting ?? 0));
  switch (call) {
    case 'readCleanup':
    case 'listExports':
    // What was named since a moment ago.
    case 'seen':
    case 'deletionsNaming':
      return reads(1);
    case 'beginAudit':
    case 'finishAudit':
    case 'noteGone':
      return writes(1);
    case 'putCleanup':
      // When it is next to be looked at moves each time.
      return writes(writeUnits(cleanupItemBytes), 2);
    case 'noteSeen':
      return writes(writeUnits(seenItemBytes(sizes.claims)));
    case 'openWatch':
    case 'closeWatch':
    case 'markDirty':
      return writes(writeUnits(repoItemBytes(0)));
    case 'announceDelete':
    case 'setLease':
    case 'removeNote':
      return writes(writeUnits(tenantItemBytes));
    case 'putDeletion':
      return writes(deletionUnits, 1);
    case 'claimDeletion':
    case 'endDeletion':
      return writes(deletionUnits, 2);
  }
}
