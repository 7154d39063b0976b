import type { FunctionName } from '../lambda/routes.ts';
import type { Listing } from './listing-cost.ts';

/**
 * The calls of each operation to table, store and queue. `test/unit/cost/operation-cost.test.ts` runs the handlers and
 * compares, so this is what the product does, not a guess.
 */
export type PortCall = TableCall | 'HEAD' | 'LIST' | 'SEND';

export type TableCall =
  | 'findToken'
  | 'readTenant'
  | 'readRepo'
  | 'readReservation'
  | 'repos'
  | 'reservations'
  | 'reservationsOf'
  | 'deletions'
  | 'deletionsOf'
  | 'dueTenants'
  | 'addCommitted'
  | 'putReservation'
  | 'issueReservation'
  | 'deleteReservation'
  | 'beginReconcile'
  | 'commitRepo'
  | 'commitTenant';

export interface Operation {
  readonly function: FunctionName;
  readonly calls: Readonly<Partial<Record<PortCall, number>>>;
  /** Calls of table and queue that wait for each other. */
  readonly tableRounds: number;
  /** HEADs, and LISTs, that wait for each other while no call of the table runs. */
  readonly headRounds: number;
  readonly listRounds: number;
}

const authenticated = { findToken: 1, readTenant: 1, readRepo: 1 } as const;

/** HEADs at a time in one batch. */
const headsAtOnce = 128;
const headRounds = (objects: number) => Math.ceil(objects / headsAtOnce);

/** A batch to upload new objects, for a tenant that is not near its limit. */
export function uploadBatch(objects: number): Operation {
  return {
    function: 'lfsBatch',
    calls: {
      ...authenticated,
      HEAD: objects,
      putReservation: 1,
      addCommitted: 1,
      deletionsOf: 1,
      issueReservation: 1,
      SEND: 1,
    },
    tableRounds: 4,
    headRounds: headRounds(objects),
    listRounds: 0,
  };
}

/** A batch to download objects that exist. */
export function downloadBatch(objects: number): Operation {
  return {
    function: 'lfsBatch',
    calls: { ...authenticated, HEAD: objects },
    tableRounds: 2,
    headRounds: headRounds(objects),
    listRounds: 0,
  };
}

/** The client's check after one upload. */
export function verify(): Operation {
  return {
    function: 'lfsVerify',
    calls: { readReservation: 1, HEAD: 1, SEND: 1 },
    tableRounds: 1,
    headRounds: 1,
    listRounds: 0,
  };
}

/** The console's read, answered from the table. */
export function cachedSubscription(): Operation {
  return {
    function: 'getSubscription',
    calls: { findToken: 1, readTenant: 1, repos: 1 },
    tableRounds: 2,
    headRounds: 0,
    listRounds: 0,
  };
}

export interface RecountShape {
  /** One listing per repo that is scanned. */
  readonly scans: readonly Listing[];
  /** Whether the folders of the tenant are listed first. */
  readonly isFull: boolean;
  /** Dead reservations, which it deletes. */
  readonly dead: number;
}

/** Repos scanned, and items written, at a time. */
const atOnce = 8;

/** A reconcile on its own, of a tenant without deletions. */
function reconcile({ scans, isFull, dead }: RecountShape) {
  const folders = isFull ? 1 : 0;
  const rounds = Math.max(0, ...scans.map((scan) => scan.rounds));
  return {
    calls: {
      beginReconcile: 1,
      reservations: 1,
      repos: 1,
      LIST: folders + scans.reduce((sum, scan) => sum + scan.requests, 0),
      commitRepo: scans.length,
      commitTenant: 1,
      deleteReservation: dead,
    },
    tableRounds: 4 + Math.ceil(scans.length / atOnce) + Math.ceil(dead / atOnce),
    listRounds: folders + Math.ceil(scans.length / atOnce) * rounds,
  };
}

/** The console's read if the last count is too old: it first counts in full. */
export function missedSubscription(shape: Omit<RecountShape, 'isFull'>): Operation {
  const inner = reconcile({ ...shape, isFull: true });
  return {
    function: 'getSubscription',
    calls: { ...inner.calls, findToken: 1, readTenant: 1, repos: 2 },
    tableRounds: inner.tableRounds + 2,
    headRounds: 0,
    listRounds: inner.listRounds,
  };
}

/** One message of the queue: looks for deletions that are due, then reconciles. */
export function recount(shape: RecountShape): Operation {
  const inner = reconcile(shape);
  return {
    function: 'reconcile',
    calls: { ...inner.calls, readTenant: 1, deletions: 1, repos: 2 },
    tableRounds: inner.tableRounds + 3,
    headRounds: 0,
    listRounds: inner.listRounds,
  };
}

/** Messages that the schedule sends in one request. It sends one request after the other. */
const messagesPerSend = 10;

/** One message of the queue whose recount is deferred: looks for deletions that are due, and is sent again. */
export function deferredRecount(): Operation {
  return {
    function: 'reconcile',
    calls: { readTenant: 2, deletions: 1, repos: 1, SEND: 1 },
    tableRounds: 5,
    headRounds: 0,
    listRounds: 0,
  };
}

/** One tenant in one run of storeEvents. Repos whose events a reservation expects are not recorded. */
export function tenantEvents(repos: { expected: number; recorded: number }): Operation {
  const looked = repos.expected + repos.recorded;
  return {
    function: 'storeEvents',
    calls: {
      readTenant: 1,
      readRepo: looked,
      reservationsOf: looked,
      putReservation: repos.recorded,
      SEND: 1,
    },
    tableRounds: 2 + 2 * Math.ceil(looked / atOnce) + Math.ceil(repos.recorded / atOnce),
    headRounds: 0,
    listRounds: 0,
  };
}

/** One run of the schedule that finds this many tenants due. */
export function refresh(due: number): Operation {
  // If less than one tenant is due on average, most runs send nothing.
  const sends = Math.min(due, Math.ceil(due / messagesPerSend));
  return {
    function: 'refresh',
    calls: { dueTenants: 1, SEND: sends },
    tableRounds: 1 + sends,
    headRounds: 0,
    listRounds: 0,
  };
}
