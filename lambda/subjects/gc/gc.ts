import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { deleteRunMs } from '../../core/ledger/rules/deletion.ts';
import { lapsedAtMs } from '../../core/ledger/rules/reservation.ts';
import type { RepoPath, RepoRecord } from '../../core/ledger/rules/tenant.ts';
import { isNoting } from '../../core/ledger/rules/watch.ts';
import type { DeletionDeps } from '../../core/ledger/run-deletions.ts';
import { allPages, mapLimited } from '../../core/rules/async.ts';
import { repoPrefix } from '../../core/rules/names.ts';
import { PrefixSet, prefixBytes, TooManyPrefixesError } from '../../core/rules/prefix-set.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { hasKeys, listPages, type SignedRequest } from '../../core/store/rules/store.ts';
import { wrongKind } from '../../frame/access/rules/kinds.ts';
import type { GcPorts } from './ports.ts';
import {
  endedGc,
  type Gc,
  type GcRun,
  gcPrefixOf,
  isTidied,
  isUnderWay,
  newGc,
  reachableSetKey,
  setsBytesMax,
  setsFolder,
  snapshotFromMs,
  tidiedGc,
  withRun,
  withSet,
} from './rules/gc.ts';

/** What a gc run needs to go on: beside what deletes need, a listing and files of its own. */
export type GcDeps = DeletionDeps &
  Pick<CoreDeps, 'listing' | 'holds'> &
  GcPorts & {
    readonly archives: Pick<FilePorts['archives'], 'put' | 'get'>;
  };

/**
 * Writes a gc run over the one that was read.
 *
 * @param input.read what was read of it. null: there was none.
 * @returns undefined if somebody else has changed it since.
 * @throws {LedgerUnavailableError}
 */
export function putGc(
  { gcRuns, ids }: Pick<CoreDeps, 'ids'> & GcPorts,
  { tenant, gc, read }: { tenant: string; gc: Gc; read: Gc | null },
): Promise<Gc | undefined> {
  return gcRuns.put({ tenant, gc, versionRead: read?.version ?? null, writeId: ids.random(16) });
}

/**
 * The gc run of a repo, or the last one that it had.
 *
 * @returns undefined if it never had one, or its tenant is another of the same name by now.
 * @throws {LedgerUnavailableError}
 */
export async function readGc(
  { gcRuns, clock }: Pick<CoreDeps, 'clock'> & GcPorts,
  path: RepoPath,
): Promise<Gc | undefined> {
  const gc = await gcRuns.read(path);
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
  { ledger }: Pick<CoreDeps, 'ledger'>,
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
  /** It's of files. */
  | { readonly kind: 'wrong-kind'; readonly detail: string }
  /** One has ended, and its files are still to be removed. */
  | { readonly kind: 'busy' };

/**
 * Opens a repo's watch: from now on each upload batch notes which objects it names. A repo that has one keeps it.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function openGc(
  deps: Pick<CoreDeps, 'ledger' | 'listing' | 'queue' | 'clock' | 'ids' | 'log' | 'settings'> & GcPorts,
  path: RepoPath,
): Promise<OpenGcOutcome> {
  const { ledger, gcRuns, clock, ids, settings } = deps;
  const record = await ledger.readRepo(path);
  const detail = wrongKind(record, { ...path, needed: 'lfs' });
  if (detail !== undefined) return { kind: 'wrong-kind', detail };
  if (!(await isOpenRepo(deps, path, record))) return { kind: 'no-repo' };
  const openedAtMs = clock.nowMs();
  const last = await gcRuns.read(path);
  const opened = await ledger.openWatch({
    ...path,
    watch: {
      id: ids.random(16),
      openedAtMs,
      untilMs: openedAtMs + settings.gcLimitMs,
      hasPrefixes: true,
    },
    nowMs: openedAtMs,
    ...(last && isTidied(last) && { over: last.watch.id }),
  });
  if (opened.kind === 'refused') {
    await deps.queue.request({ tenant: path.tenant, reason: 'delete', full: false });
    return { kind: 'busy' };
  }
  const { watch } = opened;
  const before = await gcRuns.read(path);
  if (before?.watch.id === watch.id)
    // It has ended, and its watch is still to be closed.
    return isUnderWay(before) ? { kind: 'open', gc: before } : { kind: 'busy' };
  const gc = newGc({ repo: path.repo, watch, set: before?.set });
  const put = await putGc(deps, { tenant: path.tenant, gc, read: before ?? null });
  if (!put) return { kind: 'busy' };
  deps.log.info('gc run opened', { ...path, watchId: watch.id });
  return { kind: 'open', gc: put };
}

async function isOpenRepo(
  { listing }: Pick<CoreDeps, 'listing'>,
  path: RepoPath,
  record: RepoRecord | undefined,
): Promise<boolean> {
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
 * @returns `too-much`: with those of other repos it would have more bytes than a tenant may have in the store.
 * @throws {LedgerUnavailableError}
 */
export async function signReachableSet(
  deps: Pick<CoreDeps, 'ledger' | 'clock' | 'ids' | 'signer' | 'settings'> & GcPorts,
  { reachableCount, reachableSha256, ...path }: RepoPath & ReachableSet,
): Promise<
  NotReady | { readonly kind: 'too-much' } | { readonly kind: 'signed'; readonly put: SignedRequest }
> {
  const { clock, settings, signer } = deps;
  const { tenant } = path;
  const ready = await readyGc(deps, path);
  if (ready.kind !== 'ready') return ready;
  const { gc } = ready;
  const [sizeBytes, signedAtMs] = [reachableCount * prefixBytes, clock.nowMs()];
  const lifetimeMs = settings.urlLifetimeMs;
  const entries = new Map([[reachableSha256, sizeBytes]]);
  const untilMs = lapsedAtMs(settings, { expiresAtMs: signedAtMs + lifetimeMs, entries });
  const noted = await putGc(deps, { tenant, gc: withSet(gc, { bytes: sizeBytes, untilMs }), read: gc });
  if (!noted) return { kind: 'running', gc };
  // Each notes its own before it adds up, so many at once don't get beyond it either.
  if ((await signedSetBytes(deps, tenant)) > setsBytesMax) {
    await putGc(deps, { tenant, gc: { ...noted, set: gc.set }, read: noted });
    return { kind: 'too-much' };
  }
  const put = await signer.signUpload({
    key: reachableSetKey(path),
    oid: reachableSha256,
    sizeBytes,
    signedAtMs,
    lifetimeMs,
  });
  return { kind: 'signed', put };
}

const readsAtOnce = 16;

/** Of all repos of a tenant. A repo has its watch for as long as one can be stored. */
async function signedSetBytes(
  { ledger, gcRuns }: Pick<CoreDeps, 'ledger'> & GcPorts,
  tenant: string,
): Promise<number> {
  const watched = (await allPages(ledger.repos(tenant))).filter(({ watch }) => watch);
  const all = await mapLimited(watched, readsAtOnce, ({ repo }) => gcRuns.read({ tenant, repo }));
  return all.reduce((sum, gc) => sum + (gc?.set?.bytes ?? 0), 0);
}

/**
 * Begins a run with a reachable set that was sent. It is a dry run unless somebody asks for more. It goes on in the queue of
 * reconciles. A request that is repeated finds the run that it began.
 *
 * @throws {LedgerUnavailableError} @throws when the queue did not accept it. The schedule makes up for that.
 */
export async function startRun(
  deps: Pick<CoreDeps, 'ledger' | 'clock' | 'ids' | 'queue' | 'settings'> & GcPorts,
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
  deps: Pick<CoreDeps, 'clock' | 'settings'> & GcPorts,
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
  deps: Pick<CoreDeps, 'queue' | 'clock' | 'ids' | 'log'> & GcPorts,
  path: RepoPath,
): Promise<Gc | 'busy' | undefined> {
  const { gcRuns, clock } = deps;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const gc = await gcRuns.read(path);
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

export type RemoveDeps = Pick<CoreDeps, 'listing' | 'store' | 'clock'>;

async function removeKeys({ store, clock }: RemoveDeps, keys: readonly string[]): Promise<void> {
  const deadlineMs = clock.nowMs() + deleteRunMs;
  for (const error of (await store.delete(keys, { deadlineMs })).values()) throw error;
}

/**
 * Removes all files below a prefix: those of a watch, or of a tenant.
 *
 * @param but folders of the tenant whose files stay.
 * @throws {StoreUnavailableError}
 */
export async function removeGcFiles(
  deps: RemoveDeps,
  prefix: string,
  but: ReadonlySet<string | undefined> = new Set(),
): Promise<void> {
  for await (const page of listPages(deps.listing, { prefix })) {
    const keys = [...Array(page.keyCount).keys()].map(page.keyAt, page);
    const gone = keys.filter((key) => !but.has(key.split('/')[2]));
    if (gone.length > 0) await removeKeys(deps, gone);
  }
}

/**
 * Removes what a gc run that has ended has left: its files, and then its watch. While a reachable set can still land, the watch
 * stays, and they are removed once more after that. So is what landed late of watches that nobody has. May be repeated.
 *
 * @param input.open the watches of all repos. Another's candidates are written by this queue alone, after it has read them.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function tidyGc(
  deps: RemoveDeps & Pick<CoreDeps, 'ledger' | 'ids'> & GcPorts,
  { tenant, gc, open }: { tenant: string; gc: Gc; open: readonly string[] },
): Promise<'done'> {
  const { repo, watch, dueAtMs } = gc;
  const nowMs = deps.clock.nowMs();
  if (dueAtMs !== null) {
    if (nowMs < dueAtMs) return 'done';
    await removeKeys(deps, [reachableSetKey({ tenant, repo })]);
    const but = new Set([setsFolder, ...open.filter((id) => id !== watch.id)]);
    await removeGcFiles(deps, gcPrefixOf(tenant), but);
    const tidied = tidiedGc(gc, { nowMs });
    await putGc(deps, { tenant, gc: tidied, read: gc });
    if (tidied.dueAtMs !== null) return 'done';
  }
  // Last: by it others find what is left to be done.
  await deps.ledger.closeWatch({ tenant, repo, watch });
  return 'done';
}
