import type { TableCall } from './operations.ts';

/** How DynamoDB bills by the size of an item. */

const writeUnitBytes = 1024;
const readUnitBytes = 4096;

function writeUnits(itemBytes: number): number {
  return Math.max(1, Math.ceil(itemBytes / writeUnitBytes));
}

/** Of a strongly consistent read: a get of one item, or a query of all items together. Nothing found is billed too. */
function readUnits(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / readUnitBytes));
}

/** A tenant's item with names of ordinary length: one write unit. */
const tenantItemBytes = 450;

/** A repo's item; each covered reservation adds its id. */
function repoItemBytes(coveredReservations: number): number {
  return 200 + 33 * coveredReservations;
}

/** A reservation of `claims` objects: each is an oid of 64 characters, its size, and what the map adds. */
function reservationItemBytes(claims: number): number {
  return 280 + 71 * claims;
}

/** Bytes of a reservation's keys in an index. */
const dueEntryBytes = 130;

/** What an operation meets in the table. */
export interface TableSizes {
  /** Objects of one reservation. */
  readonly claims: number;
  /** Reservations that the tenant has, dead ones too. */
  readonly reservations: number;
  readonly repos: number;
  /** A full count moves the tenant's place in the index of what is due: out of one, into another. */
  readonly full: boolean;
  /** Entries that a run of the schedule finds. */
  readonly due: number;
}

export interface TableUnits {
  readonly reads: number;
  /** Of the item itself. */
  readonly writes: number;
  /** Of its entries in the indexes: a new or removed entry is one, a moved one two. */
  readonly indexWrites: number;
}

/** Partitions that a run of the schedule queries: 3 kinds, 4 shards each. */
const duePartitions = 12;

/** Units of one call. A change of what an index does not hold costs nothing there. */
export function unitsOfCall(call: TableCall, sizes: TableSizes): TableUnits {
  const reads = (units: number): TableUnits => ({ reads: units, writes: 0, indexWrites: 0 });
  const writes = (units: number, indexWrites = 0): TableUnits => ({ reads: 0, writes: units, indexWrites });
  const reservationBytes = reservationItemBytes(sizes.claims);
  switch (call) {
    case 'findToken':
    case 'readTenant':
    case 'readRepo':
    case 'deletions':
      return reads(1);
    case 'readReservation':
      return reads(readUnits(reservationBytes));
    case 'reservations':
      return reads(readUnits(sizes.reservations * reservationBytes));
    case 'repos':
      return reads(readUnits(sizes.repos * repoItemBytes(sizes.reservations / Math.max(1, sizes.repos))));
    case 'dueTenants': {
      // Eventually consistent, as indexes are: half a unit each.
      const perPartition = (sizes.due * dueEntryBytes) / duePartitions;
      return reads((duePartitions * readUnits(perPartition)) / 2);
    }
    case 'addCommitted':
    case 'beginReconcile':
      return writes(writeUnits(tenantItemBytes));
    case 'commitTenant':
      return writes(writeUnits(tenantItemBytes), sizes.full ? 2 : 0);
    case 'commitRepo':
      return writes(writeUnits(repoItemBytes(sizes.reservations)));
    case 'issueReservation':
      return writes(writeUnits(reservationBytes));
    case 'putReservation':
    case 'deleteReservation':
      return writes(writeUnits(reservationBytes), 1);
  }
}
