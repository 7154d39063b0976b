import type { FunctionName } from '../lambda/routes.ts';
import type { Listing } from './listing-cost.ts';

/**
 * What each operation asks of table, store and queue. `test/unit/cost/operation-cost.test.ts` runs the handlers and
 * compares, so these are what the product does, not what somebody thought it would.
 */
export type PortCall = TableCall | 'HEAD' | 'LIST' | 'SEND';

export type TableCall =
  | 'findToken'
  | 'readTenant'
  | 'readRepo'
  | 'readReservation'
  | 'repos'
  | 'reservations'
  | 'deletions'
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
  /** Calls that wait for each other: of table and queue, … */
  readonly tableRounds: number;
  /** … and HEADs and LISTs that nothing of the table runs beside. */
  readonly headRounds: number;
  readonly listRounds: number;
}

const authenticated = { findToken: 1, readTenant: 1, readRepo: 1 } as const;

/** HEADs at once in one batch. */
const headsAtOnce = 128;
const headRounds = (objects: number) => Math.ceil(objects / headsAtOnce);

/** A batch that asks to upload objects that are new, for a tenant that is not at its limit. */
export function uploadBatch(objects: number): Operation {
  return {
    function: 'lfsBatch',
    calls: {
      ...authenticated,
      HEAD: objects,
      putReservation: 1,
      addCommitted: 1,
      deletions: 1,
      issueReservation: 1,
      SEND: 1,
    },
    tableRounds: 3,
    headRounds: headRounds(objects),
    listRounds: 0,
  };
}

/** A batch that asks to download objects that are there. */
export function downloadBatch(objects: number): Operation {
  return {
    function: 'lfsBatch',
    calls: { ...authenticated, HEAD: objects },
    tableRounds: 1,
    headRounds: headRounds(objects),
    listRounds: 0,
  };
}

/** The client's question after one upload. */
export function verify(): Operation {
  return {
    function: 'lfsVerify',
    calls: { readReservation: 1, HEAD: 1, SEND: 1 },
    tableRounds: 1,
    headRounds: 1,
    listRounds: 0,
  };
}

/** The console's read, from the cache. */
export function cachedSubscription(): Operation {
  return {
    function: 'getSubscription',
    calls: { findToken: 1, readTenant: 1, repos: 1 },
    tableRounds: 1,
    headRounds: 0,
    listRounds: 0,
  };
}

export interface RecountShape {
  /** One for each repo that is scanned. */
  readonly scans: readonly Listing[];
  /** Lists the folders of the tenant first. */
  readonly full: boolean;
  /** Reservations that are dead, and cleared away. */
  readonly dead: number;
}

/** Repos scanned, and items written, at once. */
const atOnce = 8;

/** A reconcile by itself, of a tenant of which nothing is being deleted. */
function reconcile({ scans, full, dead }: RecountShape) {
  const folders = full ? 1 : 0;
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

/** The console's read where the cache is too old: counts in full first. */
export function missedSubscription(shape: Omit<RecountShape, 'full'>): Operation {
  const inner = reconcile({ ...shape, full: true });
  return {
    function: 'getSubscription',
    calls: { ...inner.calls, findToken: 1, readTenant: 1, repos: 2 },
    tableRounds: inner.tableRounds + 1,
    headRounds: 0,
    listRounds: inner.listRounds,
  };
}

/** One message of the queue: looks whether anything is to be deleted, then reconciles. */
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

/** Messages that the schedule sends in one request, one request after the other. */
const messagesPerSend = 10;

/** One message of the queue whose recount has to wait: looks whether anything is to be deleted, and is sent again. */
export function deferredRecount(): Operation {
  return {
    function: 'reconcile',
    calls: { readTenant: 2, deletions: 1, repos: 1, SEND: 1 },
    tableRounds: 5,
    headRounds: 0,
    listRounds: 0,
  };
}

/** What one run of storeEvents does about one tenant: where events were expected, no repo is noted. */
export function tenantEvents(noted: number): Operation {
  return {
    function: 'storeEvents',
    calls: { readTenant: 1, reservations: 1, repos: 1, putReservation: noted, SEND: 1 },
    tableRounds: 3 + Math.ceil(noted / atOnce),
    headRounds: 0,
    listRounds: 0,
  };
}

/** One run of the schedule that finds so many tenants due. */
export function refresh(due: number): Operation {
  // On average less than one tenant may be due: then most runs send nothing.
  const sends = Math.min(due, Math.ceil(due / messagesPerSend));
  return {
    function: 'refresh',
    calls: { dueTenants: 1, SEND: sends },
    tableRounds: 1 + sends,
    headRounds: 0,
    listRounds: 0,
  };
}
