import { listsToAsk } from '../lambda/domain/ask-by-listing.ts';
import { flatRangesAtOnce, planFlat } from '../lambda/domain/flat-listing.ts';
import { defaultSettings } from '../lambda/domain/settings.ts';
import type { FunctionName } from '../lambda/routes.ts';
import { type Listing, splitListing } from './listing-cost.ts';

/**
 * The calls of each operation to table, store and queue. `test/unit/cost/operation-cost.test.ts` runs the handlers and
 * compares, so this is what the product does, not a guess.
 */
export type PortCall = TableCall | StoreCall | 'SEND';

type StoreCall = 'HEAD' | 'GET' | 'PUT' | 'DELETE' | 'LIST';

export type TableCall =
  | 'findToken'
  | 'listLocks'
  | 'listPublicRepos'
  | 'readTenant'
  | 'readRepo'
  | 'readReservation'
  | 'repos'
  | 'reservations'
  | 'reservationsOf'
  | 'deletions'
  | 'deletionsOf'
  | 'dueTenants'
  | 'readRefreshState'
  | 'putRefreshState'
  | 'addCommitted'
  | 'meterDownloads'
  | 'addDownloadsToDay'
  | 'putReservation'
  | 'issueReservation'
  | 'deleteReservation'
  | 'beginReconcile'
  | 'commitRepo'
  | 'commitTenant'
  | 'noteCount'
  | 'daysOfHistory'
  | 'readWarnings'
  | 'findMappedRepo'
  | 'findGrant'
  | 'keepGrant'
  | CleanUpCall;

/** What only clean-ups do, and what is pushed meanwhile. */
export type CleanUpCall =
  | 'beginAudit'
  | 'finishAudit'
  | 'openWatch'
  | 'closeWatch'
  | 'readCleanup'
  | 'putCleanup'
  | 'noteSeen'
  | 'seen'
  | 'listExports'
  | 'setLease'
  | 'deletionsNaming'
  | 'putDeletion'
  | 'claimDeletion'
  | 'endDeletion'
  | 'announceDelete'
  | 'removeNote'
  | 'markDirty'
  | 'noteGone';

export interface Operation {
  readonly function: FunctionName;
  /** Objects that it asks the store for, one by one or by listing. Default: 0. */
  readonly objects?: number;
  readonly calls: Readonly<Partial<Record<PortCall, number>>>;
  /** Calls of table and queue that wait for each other. */
  readonly tableRounds: number;
  /** HEADs and their like, and LISTs, that wait for each other while no call of the table runs. */
  readonly headRounds: number;
  readonly listRounds: number;
  /** Questions to a git host that wait for each other. Default: 0. */
  readonly hostRounds?: number;
}

const authenticated = { findToken: 1, readTenant: 1, readRepo: 1 } as const;

/** HEADs at a time in one batch. */
const headsAtOnce = 128;

/** A batch's question what is stored: by listing the repo if that is no dearer, else by HEAD. */
function askStore(objects: number, repoObjects: number | undefined) {
  if (listsToAsk(defaultSettings, { objectCount: objects, repoObjects }) === 0) {
    return { calls: { HEAD: objects }, headRounds: Math.ceil(objects / headsAtOnce), listRounds: 0 };
  }
  const { requests, rounds } = splitListing(repoObjects ?? 0, { hasHint: true });
  return { calls: { LIST: requests }, headRounds: 0, listRounds: rounds };
}

/**
 * A batch to upload new objects, for a tenant that is not near its limit.
 *
 * @param repoObjects how many the repo had when it was last counted. undefined: it never was, and is small.
 */
export function uploadBatch(objects: number, repoObjects?: number): Operation {
  const { calls, ...rounds } = askStore(objects, repoObjects);
  return {
    function: 'lfsBatch',
    objects,
    calls: {
      ...authenticated,
      ...calls,
      putReservation: 1,
      addCommitted: 1,
      deletionsOf: 1,
      issueReservation: 1,
      SEND: 1,
    },
    tableRounds: 4,
    ...rounds,
  };
}

/** A batch to download objects that exist. @param repoObjects as for an upload. */
export function downloadBatch(objects: number, repoObjects?: number): Operation {
  const { calls, ...rounds } = askStore(objects, repoObjects);
  return {
    function: 'lfsBatch',
    objects,
    // After the store's answer, both at once.
    calls: { ...authenticated, ...calls, meterDownloads: 1, addDownloadsToDay: 1 },
    tableRounds: 3,
    ...rounds,
  };
}

/** The client's check after one upload. */
export function verify(): Operation {
  return {
    function: 'lfsVerify',
    objects: 1,
    calls: { readReservation: 1, HEAD: 1, SEND: 1 },
    tableRounds: 1,
    headRounds: 1,
    listRounds: 0,
  };
}

/** The client's question before a push which files of the repo others have locked. */
export function verifyLocks(): Operation {
  return {
    function: 'lfsLocks',
    calls: { ...authenticated, listLocks: 1 },
    tableRounds: 3,
    headRounds: 0,
    listRounds: 0,
  };
}

/** The console's read, answered from the table. */
export function cachedSubscription(): Operation {
  return {
    function: 'getSubscription',
    calls: { findToken: 1, readTenant: 1, repos: 1, listPublicRepos: 1, daysOfHistory: 1 },
    tableRounds: 2,
    headRounds: 0,
    listRounds: 0,
  };
}

export interface RecountShape {
  /** Objects in each repo that is scanned. A full count scans all. */
  readonly repos: readonly number[];
  /** Whether the whole tenant is counted. Then no repo has changed since it was counted. */
  readonly isFull: boolean;
  /** Dead reservations, which it deletes. */
  readonly dead: number;
}

/** Repos scanned, and items written, at a time. */
const atOnce = 8;

/** A reconcile on its own, of a tenant without deletions, whose repos were counted before. */
function reconcile({ repos, isFull, dead }: RecountShape) {
  const lists = isFull ? fullListing(repos) : listEach(repos);
  const written = isFull ? 0 : repos.length;
  const rereads = Math.min(1, repos.length);
  return {
    calls: {
      beginReconcile: 1,
      reservations: 1,
      repos: 1,
      // After a scan.
      readTenant: rereads,
      LIST: lists.requests,
      commitRepo: written,
      commitTenant: 1,
      deleteReservation: dead,
      noteCount: 1,
      readWarnings: 1,
    },
    // The history is written while dead reservations are deleted.
    tableRounds: 4 + rereads + Math.ceil(written / atOnce) + Math.max(1, Math.ceil(dead / atOnce)),
    listRounds: lists.rounds,
  };
}

/** Each repo on its own. */
function listEach(repos: readonly number[]): Listing {
  const scans = repos.map((objects) => splitListing(objects, { hasHint: true }));
  const rounds = Math.max(0, ...scans.map((scan) => scan.rounds));
  return {
    requests: scans.reduce((sum, scan) => sum + scan.requests, 0),
    rounds: Math.ceil(scans.length / atOnce) * rounds,
  };
}

/** The small repos flat and the large ones each on their own, or the folders first and then each repo. */
function fullListing(repos: readonly number[]): Listing {
  const plan = planFlat(repos.map((objectCount, index) => ({ repo: `r${index}`, objectCount })));
  const large = listEach(repos.filter((_, index) => plan.large.has(`r${index}`)));
  const small = repos.length - plan.large.size;
  if (plan.requests >= 1 + small) {
    const each = listEach(repos);
    return { requests: 1 + each.requests, rounds: 1 + each.rounds };
  }
  const longest = Math.max(...plan.ranges.map((range) => range.requests));
  const rounds = Math.ceil(plan.ranges.length / flatRangesAtOnce) * longest;
  return { requests: plan.requests + large.requests, rounds: rounds + large.rounds };
}

/** The console's read if the last count is too old: it first counts in full. */
export function missedSubscription(shape: Omit<RecountShape, 'isFull'>): Operation {
  const inner = reconcile({ ...shape, isFull: true });
  return {
    function: 'getSubscription',
    calls: {
      ...inner.calls,
      findToken: 1,
      readTenant: 1 + inner.calls.readTenant,
      repos: 2,
      listPublicRepos: 1,
      daysOfHistory: 1,
    },
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
    calls: { ...inner.calls, readTenant: 1 + inner.calls.readTenant, deletions: 1, repos: 2 },
    tableRounds: inner.tableRounds + 3,
    headRounds: 0,
    listRounds: inner.listRounds,
  };
}

/** Tenants that the schedule reads at a time. */
const readsAtOnce = 16;
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

/**
 * One run of the schedule that finds this many tenants due.
 *
 * @param looked with a round through what is still due: the tenants that it looks at.
 */
export function refresh(due: number, looked?: number): Operation {
  // If less than one tenant is due on average, most runs send nothing.
  const sends = Math.min(due, Math.ceil(due / messagesPerSend));
  const queries = looked === undefined ? 1 : 2;
  return {
    function: 'refresh',
    calls: {
      readRefreshState: 1,
      dueTenants: queries,
      ...(looked !== undefined && { readTenant: looked }),
      SEND: sends,
      putRefreshState: 1,
    },
    tableRounds: 2 + queries + Math.ceil((looked ?? 0) / readsAtOnce) + sends,
    headRounds: 0,
    listRounds: 0,
  };
}
