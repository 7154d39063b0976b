import { mapLimited } from '../rules/async.ts';
import type { Clock, Log } from '../rules/clock-and-log.ts';
import { compareKeys, objectKey, repoPrefix, tenantPrefix } from '../rules/names.ts';
import type { Settings } from '../rules/settings.ts';
import {
  listFolderPages,
  type ObjectListing,
  type ObjectStore,
  StoreUnavailableError,
} from '../store/rules/store.ts';
import { type KnownObjects, knownObjectsMax, type ListingPace, listsToAsk } from './rules/known-objects.ts';
import type { PathScan, PathScanOutcome } from './rules/scan-plan.ts';

/** What lies directly below a tenant's path. */
export interface TenantListing {
  /** Names without the slash. Each is the path of a repo, whatever the name looks like; it may be empty. */
  readonly folders: ReadonlySet<string>;
  /** Objects in no folder. They belong to no repo, but they are stored, so they count. */
  readonly rootObjects: { readonly storedBytes: number; readonly objectCount: number };
  /** LIST requests made. */
  readonly requests: number;
}

/**
 * Lists a tenant's folders, and sums up the objects beside them.
 *
 * @param input.onPage called after each LIST request, and awaited.
 * @throws {StoreUnavailableError}
 */
export async function listTenant(
  deps: { readonly listing: ObjectListing },
  input: { tenant: string; onPage?: () => Promise<void> },
): Promise<TenantListing> {
  const prefix = tenantPrefix(input.tenant);
  const folders = new Set<string>();
  let storedBytes = 0;
  let objectCount = 0;
  let requests = 0;
  for await (const page of listFolderPages(deps.listing, prefix)) {
    requests += 1;
    for (const folder of page.commonPrefixes) folders.add(folder.slice(prefix.length, -1));
    for (const object of page.keys) {
      storedBytes += object.sizeBytes;
      objectCount += 1;
    }
    await input.onPage?.();
  }
  return { folders, rootObjects: { storedBytes, objectCount }, requests };
}

export interface FindStoredDeps {
  readonly store: ObjectStore;
  readonly scan: PathScan;
  readonly listingPace: ListingPace;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: Settings;
}

/** How long a listing may take. What it has not listed by then is asked by HEAD. */
const listingMs = 3000;

export interface Question {
  readonly tenant: string;
  readonly repo: string;
  readonly oids: readonly string[];
  /** How many objects the repo had when it was last counted. undefined: it never was. */
  readonly repoObjects?: number | undefined;
  /** Hears everything that the repo has, if it was listed whole: oid → bytes. */
  readonly onListed?: (objects: ReadonlyMap<string, number>) => void;
}

/**
 * Finds out which objects of a repo are stored: by listing the repo if that costs no more than a HEAD for each object,
 * and by HEAD otherwise. A LIST request costs as much as 12.5 HEADs, and names 1,000 objects with their sizes.
 *
 * Both see every object that was stored before this began.
 *
 * @returns oid → stored bytes. Objects that are not stored are absent.
 * @throws {StoreUnavailableError}
 */
export async function findStored(deps: FindStoredDeps, question: Question): Promise<Map<string, number>> {
  const { clock, listingPace, settings } = deps;
  const { oids, repoObjects } = question;
  const requestsMax = listsToAsk(settings, { objectCount: oids.length, repoObjects });
  if (requestsMax === 0 || listingPace.isSlow(clock.nowMs())) return headAll(deps, question, oids);
  const listed = await list(deps, question, requestsMax);
  if (!listed) return headAll(deps, question, oids);
  if (listed.kind === 'done') {
    question.onListed?.(listed.seen);
    return ofThem(listed.seen, oids);
  }
  // The repo has more objects than when it was counted.
  const { seen, ranges } = listed.rest;
  const found = ofThem(new Map(seen), oids);
  const left = oids.filter((oid) => {
    const isIn = ({ after, last }: (typeof ranges)[number]) =>
      (after === null || compareKeys(oid, after) > 0) && (last === null || compareKeys(oid, last) <= 0);
    return !found.has(oid) && ranges.some(isIn);
  });
  for (const [oid, bytes] of await headAll(deps, question, left)) found.set(oid, bytes);
  return found;
}

/** @returns undefined if the store did not list. */
async function list(
  { scan, clock, listingPace, log }: FindStoredDeps,
  { tenant, repo, oids, repoObjects, onListed }: Question,
  requestsMax: number,
): Promise<PathScanOutcome | undefined> {
  const beganMs = clock.nowMs();
  try {
    return await scan.scan({
      prefix: repoPrefix({ tenant, repo }),
      lookFor: onListed ? 'everything' : new Set(oids),
      requestsMax,
      deadlineMs: beganMs + listingMs,
      ...(repoObjects !== undefined && { hintObjects: repoObjects }),
    });
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    log.warn('repo not listed for a batch; checking its objects individually', { tenant, repo });
    return undefined;
  } finally {
    listingPace.note(clock.nowMs() - beganMs, clock.nowMs());
  }
}

/** Lets a question keep what it lists for others of the same process, unless the repo is too large. */
export function remembering(
  knownObjects: KnownObjects,
  input: { path: string; repoObjects: number | undefined; listedAtMs: number },
): Pick<Question, 'onListed'> {
  const { path, repoObjects = 0, listedAtMs } = input;
  if (repoObjects > knownObjectsMax) return {};
  return { onListed: (objects) => knownObjects.keep(path, { objects, listedAtMs }) };
}

function ofThem(seen: ReadonlyMap<string, number>, oids: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const oid of oids) {
    const bytes = seen.get(oid);
    if (bytes !== undefined) found.set(oid, bytes);
  }
  return found;
}

async function headAll(
  { store, settings }: Pick<FindStoredDeps, 'store' | 'settings'>,
  { tenant, repo }: Question,
  oids: readonly string[],
): Promise<Map<string, number>> {
  const heads = await mapLimited(oids, settings.scanConcurrency, (oid) =>
    store.head(objectKey({ tenant, repo, oid })),
  );
  const stored = new Map<string, number>();
  oids.forEach((oid, index) => {
    const head = heads[index];
    if (head) stored.set(oid, head.sizeBytes);
  });
  return stored;
}
