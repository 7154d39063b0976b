import type { Deps } from '../deps.ts';
import { deleteRunMs } from '../ledger/rules/deletion.ts';
import type { RepoPath } from '../ledger/rules/tenant.ts';
import type { DeletionDeps } from '../ledger/run-deletions.ts';
import { repoPrefix } from '../rules/names.ts';
import { hasKeys, type SignedRequest } from '../store/rules/store.ts';
import {
  candidatesKey,
  endedGc,
  type Gc,
  type GcRun,
  isUnderWay,
  newGc,
  reachableSetKey,
  type Selection,
  snapshotFromMs,
  tidiedGc,
  withRun,
} from './rules/gc.ts';
import { PrefixSet, prefixBytes, TooManyPrefixesError } from './rules/prefix-set.ts';
import { isNoting } from './rules/watch.ts';

/** What a gc run needs to go on: beside what deletes need, a listing and files of its own. */
export type GcDeps = DeletionDeps &
  Pick<Deps, 'listing' | 'exportJobs'> & {
    readonly archives: Pick<Deps['archives'], 'put' | 'get'>;
  };

/**
 * Writes a gc run over the one that was read.
 *
 * @param input.read what was read of it. null: there was none.
 * @returns undefined if somebody else has changed it since.
 * @throws {LedgerUnavailableError}
 */
export function putGc(
  { ledger, ids }: Pick<Deps, 'ledger' | 'ids'>,
  { tenant, gc, read }: { tenant: string; gc: Gc; read: Gc | null },
): Promise<Gc | undefined> {
  return ledger.putGc({ tenant, gc, versionRead: read?.version ?? null, writeId: ids.random(16) });
}

/**
 * The gc run of a repo, or the last one that it had.
 *
 * @returns undefined if it never had one, or its tenant is another of the same name by now.
 * @throws {LedgerUnavailableError}
 */
export async function readGc(
  { ledger, clock }: Pick<Deps, 'ledger' | 'clock'>,
  path: RepoPath,
): Promise<Gc | undefined> {
  const gc = await ledger.readGc(path);
  if (!gc || !isUnderWay(gc)) return gc;
  const nowMs = clock.nowMs();
  // Nobody has looked since its time was over.
  return isNoting(gc.watch, nowMs) ? gc : endedGc(gc, { state: 'expired', nowMs });
}

/**
 * What batches have named in a watch.
 *
 * @param input.fromMs only by those that began then or later.
 * @returns undefined if they are more than one set holds.
 * @throws {LedgerUnavailableError}
 */
export async function readSeen(
  { ledger }: Pick<Deps, 'ledger'>,
  input: { tenant: string; watchId: string; fromMs: number },
): Promise<PrefixSet | undefined> {
  const seen = new PrefixSet();
  try {
    for await (const page of ledger.seen(input)) for (const { prefixes } of page) seen.addText(prefixes);
  } catch (error) {
    if (error instanceof TooManyPrefixesError) return undefined;
    throw error;
  }
  return seen;
}

type OpenGcOutcome =
  /** It is under way: this one, or one that was opened before. */
  | { readonly kind: 'open'; readonly gc: Gc }
  /** There is no such repo, or it is being deleted. */
  | { readonly kind: 'no-repo' }
  /** One has ended just now, or is being ended. */
  | { readonly kind: 'busy' };

/**
 * Opens a repo's watch: from now on each upload batch notes which objects it names. A repo that has one keeps it.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function openGc(
  deps: Pick<Deps, 'ledger' | 'listing' | 'clock' | 'ids' | 'log' | 'settings'>,
  path: RepoPath,
): Promise<OpenGcOutcome> {
  const { ledger, clock, ids, settings } = deps;
  if (!(await isOpenRepo(deps, path))) return { kind: 'no-repo' };
  const openedAtMs = clock.nowMs();
  const opened = await ledger.openWatch({
    ...path,
    watch: {
      id: ids.random(16),
      openedAtMs,
      untilMs: openedAtMs + settings.gcLimitMs,
      hasPrefixes: true,
    },
    nowMs: openedAtMs,
  });
  if (opened.kind === 'refused') return { kind: 'busy' };
  const { watch } = opened;
  const before = await ledger.readGc(path);
  if (before?.watch.id === watch.id)
    // It has ended, and its watch is still to be closed.
    return isUnderWay(before) ? { kind: 'open', gc: before } : { kind: 'busy' };
  const gc = newGc({ repo: path.repo, watch });
  const put = await putGc(deps, { tenant: path.tenant, gc, read: before ?? null });
  if (!put) return { kind: 'busy' };
  deps.log.info('gc run opened', { ...path, watchId: watch.id });
  return { kind: 'open', gc: put };
}

async function isOpenRepo(
  { ledger, listing }: Pick<Deps, 'ledger' | 'listing'>,
  path: RepoPath,
): Promise<boolean> {
  const record = await ledger.readRepo(path);
  if (record && record.closedAtMs !== null) return false;
  if (record?.watch || (record && record.objectCount > 0)) return true;
  return hasKeys(listing, repoPrefix(path));
}

export type NotReady =
  /** Nothing is open: there is no watch, or it has ended. */
  | { readonly kind: 'not-open' }
  /** The watch is too young for a snapshot. */
  | { readonly kind: 'too-early'; readonly fromMs: number }
  /** A run is under way. */
  | { readonly kind: 'running'; readonly gc: Gc };

/** A reachable set, as its file is named and sent. */
interface ReachableSet {
  /** Objects to which some commit of the clone points. */
  readonly reachableCount: number;
  readonly reachableSha256: string;
}

/**
 * A URL to send a reachable set to.
 *
 * @throws {LedgerUnavailableError}
 */
export async function signReachableSet(
  deps: Pick<Deps, 'ledger' | 'clock' | 'signer' | 'settings'>,
  { reachableCount, reachableSha256, ...path }: RepoPath & ReachableSet,
): Promise<NotReady | { readonly kind: 'signed'; readonly put: SignedRequest }> {
  const ready = await readyGc(deps, path);
  if (ready.kind !== 'ready') return ready;
  const { tenant } = path;
  const put = await deps.signer.signUpload({
    key: reachableSetKey({ tenant, watchId: ready.gc.watch.id }, reachableSha256),
    oid: reachableSha256,
    sizeBytes: reachableCount * prefixBytes,
    signedAtMs: deps.clock.nowMs(),
    lifetimeMs: deps.settings.urlLifetimeMs,
  });
  return { kind: 'signed', put };
}

/**
 * Begins a run with a reachable set that was sent. It is a dry run unless somebody asks for more. It goes on in the queue of
 * reconciles. A request that is repeated finds the run that it began.
 *
 * @throws {LedgerUnavailableError} @throws when the queue did not accept it. The schedule makes up for that.
 */
export async function startRun(
  deps: Pick<Deps, 'ledger' | 'clock' | 'ids' | 'queue' | 'settings'>,
  { tenant, repo, ...wish }: RepoPath & Omit<GcRun, 'id' | 'requestedAtMs'>,
): Promise<NotReady | { readonly kind: 'started'; readonly gc: Gc }> {
  const ready = await readyGc(deps, { tenant, repo });
  if (ready.kind !== 'ready') return ready;
  const { gc } = ready;
  const run = { ...wish, id: deps.ids.random(16), requestedAtMs: deps.clock.nowMs() };
  const begun = await putGc(deps, { tenant, gc: withRun(gc, run), read: gc });
  if (!begun) {
    const now = await readGc(deps, { tenant, repo });
    return now && isUnderWay(now) ? { kind: 'running', gc: now } : { kind: 'not-open' };
  }
  // Without it, the schedule finds that the run is due.
  await deps.queue.request({ tenant, reason: 'delete', full: false });
  return { kind: 'started', gc: begun };
}

async function readyGc(
  deps: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  path: RepoPath,
): Promise<NotReady | { readonly kind: 'ready'; readonly gc: Gc }> {
  const gc = await readGc(deps, path);
  if (!gc || !isUnderWay(gc)) return { kind: 'not-open' };
  const fromMs = snapshotFromMs(gc, deps.settings);
  if (deps.clock.nowMs() < fromMs) return { kind: 'too-early', fromMs };
  return gc.state === 'watching' ? { kind: 'ready', gc } : { kind: 'running', gc };
}

/** Others write the record at most once for each thousand objects. */
const attemptsMax = 20;

/**
 * Ends a gc run. What it has not deleted stays, but for up to 1,000 objects that are being deleted right now. One that
 * has ended is left as it is.
 *
 * @returns the gc run as it is now. undefined: there is none. `busy`: others write it all the time.
 * @throws {LedgerUnavailableError} @throws when the queue did not accept what is left to do. The schedule makes up for that.
 */
export async function cancelGc(
  deps: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'ids' | 'log'>,
  path: RepoPath,
): Promise<Gc | 'busy' | undefined> {
  const { ledger, clock } = deps;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const gc = await ledger.readGc(path);
    if (!gc || !isUnderWay(gc)) return gc;
    const ended = await putGc(deps, {
      tenant: path.tenant,
      gc: endedGc(gc, { state: 'cancelled', nowMs: clock.nowMs() }),
      read: gc,
    });
    if (!ended) continue;
    deps.log.info('gc run cancelled', { ...path, watchId: ended.watch.id });
    // Its files are still to be removed, and its watch is to be closed.
    await deps.queue.request({ tenant: path.tenant, reason: 'delete', full: false });
    return ended;
  }
  return 'busy';
}

function candidatesKeys(path: { tenant: string; watchId: string }, { folder, files }: Selection): string[] {
  return Array.from({ length: files }, (_, file) => candidatesKey(path, { folder, file }));
}

/**
 * Removes what a gc run that has ended has left: its files, and then its watch. May be repeated. The files of runs before
 * the last are left to the store's lifecycle.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function tidyGc(
  deps: Pick<Deps, 'ledger' | 'store' | 'clock' | 'ids'>,
  { tenant, gc }: { tenant: string; gc: Gc },
): Promise<'done'> {
  const { ledger, store, clock } = deps;
  const { repo, watch, run, selecting, dueAtMs } = gc;
  const selection = gc.selection ?? selecting?.found;
  const path = { tenant, watchId: watch.id };
  if (dueAtMs !== null) {
    const keys = selection ? candidatesKeys(path, selection) : [];
    if (run) keys.push(reachableSetKey(path, run.reachableSha256));
    const deadlineMs = clock.nowMs() + deleteRunMs;
    for (const error of (await store.delete(keys, { deadlineMs })).values()) throw error;
    await putGc(deps, { tenant, gc: tidiedGc(gc), read: gc });
  }
  // Last: by it others find what is left to be done.
  await ledger.closeWatch({ tenant, repo, watch });
  return 'done';
}
