import type { Deps } from '../deps.ts';
import { deleteRunMs } from '../ledger/rules/deletion.ts';
import type { RepoPath } from '../ledger/rules/tenant.ts';
import type { DeletionDeps } from '../ledger/run-deletions.ts';
import { repoPrefix } from '../rules/names.ts';
import { hasKeys, type SignedRequest } from '../store/rules/store.ts';
import {
  type Cleanup,
  type CleanupRun,
  candidatesKey,
  endedCleanup,
  isUnderWay,
  keepSetKey,
  newCleanup,
  type Selection,
  snapshotFromMs,
  tidiedCleanup,
  withRun,
} from './rules/gc.ts';
import { PrefixSet, prefixBytes, TooManyPrefixesError } from './rules/prefix-set.ts';
import { isNoting } from './rules/watch.ts';

/** What a clean-up needs to go on: beside what deletes need, a listing and files of its own. */
export type CleanupDeps = DeletionDeps &
  Pick<Deps, 'listing' | 'exportJobs'> & {
    readonly archives: Pick<Deps['archives'], 'put' | 'get'>;
  };

/**
 * Writes a clean-up over the one that was read.
 *
 * @param input.read what was read of it. null: there was none.
 * @returns undefined if somebody else has changed it since.
 * @throws {LedgerUnavailableError}
 */
export function putCleanup(
  { ledger, ids }: Pick<Deps, 'ledger' | 'ids'>,
  { tenant, cleanup, read }: { tenant: string; cleanup: Cleanup; read: Cleanup | null },
): Promise<Cleanup | undefined> {
  return ledger.putCleanup({ tenant, cleanup, versionRead: read?.version ?? null, writeId: ids.random(16) });
}

/**
 * The clean-up of a repo, or the last one that it had.
 *
 * @returns undefined if it never had one, or its tenant is another of the same name by now.
 * @throws {LedgerUnavailableError}
 */
export async function readCleanup(
  { ledger, clock }: Pick<Deps, 'ledger' | 'clock'>,
  path: RepoPath,
): Promise<Cleanup | undefined> {
  const cleanup = await ledger.readCleanup(path);
  if (!cleanup || !isUnderWay(cleanup)) return cleanup;
  const nowMs = clock.nowMs();
  // Nobody has looked since its time was over.
  return isNoting(cleanup.watch, nowMs) ? cleanup : endedCleanup(cleanup, { state: 'expired', nowMs });
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

type OpenCleanupOutcome =
  /** It is under way: this one, or one that was opened before. */
  | { readonly kind: 'open'; readonly cleanup: Cleanup }
  /** There is no such repo, or it is being deleted. */
  | { readonly kind: 'no-repo' }
  /** One has ended just now, or is being ended. */
  | { readonly kind: 'busy' };

/**
 * Opens a repo's watch: from now on each upload batch notes which objects it names. A repo that has one keeps it.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function openCleanup(
  deps: Pick<Deps, 'ledger' | 'listing' | 'clock' | 'ids' | 'log' | 'settings'>,
  path: RepoPath,
): Promise<OpenCleanupOutcome> {
  const { ledger, clock, ids, settings } = deps;
  if (!(await isOpenRepo(deps, path))) return { kind: 'no-repo' };
  const openedAtMs = clock.nowMs();
  const opened = await ledger.openWatch({
    ...path,
    watch: {
      id: ids.random(16),
      openedAtMs,
      untilMs: openedAtMs + settings.cleanupLimitMs,
      hasPrefixes: true,
    },
    nowMs: openedAtMs,
  });
  if (opened.kind === 'refused') return { kind: 'busy' };
  const { watch } = opened;
  const before = await ledger.readCleanup(path);
  if (before?.watch.id === watch.id)
    // It has ended, and its watch is still to be closed.
    return isUnderWay(before) ? { kind: 'open', cleanup: before } : { kind: 'busy' };
  const cleanup = newCleanup({ repo: path.repo, watch });
  const put = await putCleanup(deps, { tenant: path.tenant, cleanup, read: before ?? null });
  if (!put) return { kind: 'busy' };
  deps.log.info('clean-up opened', { ...path, watchId: watch.id });
  return { kind: 'open', cleanup: put };
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
  | { readonly kind: 'running'; readonly cleanup: Cleanup };

/** A keep-set, as its file is named and sent. */
interface KeepSet {
  /** Objects to which some commit of the clone points. */
  readonly keepCount: number;
  readonly keepSha256: string;
}

/**
 * A URL to send a keep-set to.
 *
 * @throws {LedgerUnavailableError}
 */
export async function signKeepSet(
  deps: Pick<Deps, 'ledger' | 'clock' | 'signer' | 'settings'>,
  { keepCount, keepSha256, ...path }: RepoPath & KeepSet,
): Promise<NotReady | { readonly kind: 'signed'; readonly put: SignedRequest }> {
  const ready = await readyCleanup(deps, path);
  if (ready.kind !== 'ready') return ready;
  const { tenant } = path;
  const put = await deps.signer.signUpload({
    key: keepSetKey({ tenant, watchId: ready.cleanup.watch.id }, keepSha256),
    oid: keepSha256,
    sizeBytes: keepCount * prefixBytes,
    signedAtMs: deps.clock.nowMs(),
    lifetimeMs: deps.settings.urlLifetimeMs,
  });
  return { kind: 'signed', put };
}

/**
 * Begins a run with a keep-set that was sent. It is a dry run unless somebody asks for more. It goes on in the queue of
 * recounts. A request that is repeated finds the run that it began.
 *
 * @throws {LedgerUnavailableError} @throws when the queue did not accept it. The schedule makes up for that.
 */
export async function startRun(
  deps: Pick<Deps, 'ledger' | 'clock' | 'ids' | 'queue' | 'settings'>,
  { tenant, repo, ...wish }: RepoPath & Omit<CleanupRun, 'id' | 'requestedAtMs'>,
): Promise<NotReady | { readonly kind: 'started'; readonly cleanup: Cleanup }> {
  const ready = await readyCleanup(deps, { tenant, repo });
  if (ready.kind !== 'ready') return ready;
  const { cleanup } = ready;
  const run = { ...wish, id: deps.ids.random(16), requestedAtMs: deps.clock.nowMs() };
  const begun = await putCleanup(deps, { tenant, cleanup: withRun(cleanup, run), read: cleanup });
  if (!begun) {
    const now = await readCleanup(deps, { tenant, repo });
    return now && isUnderWay(now) ? { kind: 'running', cleanup: now } : { kind: 'not-open' };
  }
  // Without it, the schedule finds that the run is due.
  await deps.queue.request({ tenant, reason: 'delete', full: false });
  return { kind: 'started', cleanup: begun };
}

async function readyCleanup(
  deps: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  path: RepoPath,
): Promise<NotReady | { readonly kind: 'ready'; readonly cleanup: Cleanup }> {
  const cleanup = await readCleanup(deps, path);
  if (!cleanup || !isUnderWay(cleanup)) return { kind: 'not-open' };
  const fromMs = snapshotFromMs(cleanup, deps.settings);
  if (deps.clock.nowMs() < fromMs) return { kind: 'too-early', fromMs };
  return cleanup.state === 'watching' ? { kind: 'ready', cleanup } : { kind: 'running', cleanup };
}

/** Others write the record at most once for each thousand objects. */
const attemptsMax = 20;

/**
 * Ends a clean-up. What it has not deleted stays, but for up to 1,000 objects that are being deleted right now. One that
 * has ended is left as it is.
 *
 * @returns the clean-up as it is now. undefined: there is none. `busy`: others write it all the time.
 * @throws {LedgerUnavailableError} @throws when the queue did not accept what is left to do. The schedule makes up for that.
 */
export async function cancelCleanup(
  deps: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'ids' | 'log'>,
  path: RepoPath,
): Promise<Cleanup | 'busy' | undefined> {
  const { ledger, clock } = deps;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const cleanup = await ledger.readCleanup(path);
    if (!cleanup || !isUnderWay(cleanup)) return cleanup;
    const ended = await putCleanup(deps, {
      tenant: path.tenant,
      cleanup: endedCleanup(cleanup, { state: 'cancelled', nowMs: clock.nowMs() }),
      read: cleanup,
    });
    if (!ended) continue;
    deps.log.info('clean-up cancelled', { ...path, watchId: ended.watch.id });
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
 * Removes what a clean-up that has ended has left: its files, and then its watch. May be repeated. The files of runs before
 * the last are left to the store's lifecycle.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function tidyCleanup(
  deps: Pick<Deps, 'ledger' | 'store' | 'clock' | 'ids'>,
  { tenant, cleanup }: { tenant: string; cleanup: Cleanup },
): Promise<'done'> {
  const { ledger, store, clock } = deps;
  const { repo, watch, run, selecting, dueAtMs } = cleanup;
  const selection = cleanup.selection ?? selecting?.found;
  const path = { tenant, watchId: watch.id };
  if (dueAtMs !== null) {
    const keys = selection ? candidatesKeys(path, selection) : [];
    if (run) keys.push(keepSetKey(path, run.keepSha256));
    const deadlineMs = clock.nowMs() + deleteRunMs;
    for (const error of (await store.delete(keys, { deadlineMs })).values()) throw error;
    await putCleanup(deps, { tenant, cleanup: tidiedCleanup(cleanup), read: cleanup });
  }
  // Last: by it others find what is left to be done.
  await ledger.closeWatch({ tenant, repo, watch });
  return 'done';
}
