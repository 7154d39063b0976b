import { allPages, mapLimited } from '../rules/async.ts';
import { deletionPrefix, repoPrefix, tenantPrefix } from '../rules/names.ts';
import type { Settings } from '../rules/settings.ts';
import { listTenant } from '../scan/find-stored.ts';
import { listFolderPages, listPages } from '../store/rules/store.ts';
import type { CoreDeps } from './core-deps.ts';
import { heldUntilMs } from './deletes.ts';
import { isReserved } from './reservations.ts';
import {
  type Deletion,
  deleteRunMs,
  deletionObjectsMax,
  emptiedName,
  keptUntilMs,
  newDeletion,
} from './rules/deletion.ts';
import { portionsOf } from './rules/emptied.ts';
import { isOfFiles, type RepoRecord, type TenantRecord } from './rules/tenant.ts';
import { type DeletionDeps, runDeletion } from './run-deletions.ts';
import { forgetAll } from './seams.ts';

interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
}

/**
 * Lists a repo, as many objects at a time as one deletion can name. The caller may delete these before it asks for
 * the next.
 *
 * @yields name relative to {@link deletionPrefix} → bytes.
 * @throws {StoreUnavailableError}
 */
export async function* listInDeletions(
  deps: Pick<CoreDeps, 'listing'>,
  path: { tenant: string; repo: string },
): AsyncIterable<ReadonlyMap<string, number>> {
  const prefix = deletionPrefix(path);
  for await (const page of objectsOf(deps, path)) {
    yield* portionsOf(page.map(({ key, sizeBytes }) => [key.slice(prefix.length), sizeBytes] as const));
  }
}

async function* objectsOf(
  deps: Pick<CoreDeps, 'listing'>,
  path: { tenant: string; repo: string },
): AsyncIterable<readonly ListedObject[]> {
  if (path.repo === '')
    for await (const { keys } of listFolderPages(deps.listing, tenantPrefix(path.tenant))) yield keys;
  yield* listBelow(deps, repoPrefix(path));
}

async function* listBelow(
  deps: Pick<CoreDeps, 'listing'>,
  prefix: string,
): AsyncIterable<readonly ListedObject[]> {
  for await (const page of listPages(deps.listing, { prefix, maxKeys: deletionObjectsMax }))
    yield Array.from({ length: page.keyCount }, (_, index) => ({
      key: page.keyAt(index),
      sizeBytes: page.sizeAt(index),
    }));
}

export type EmptyReposDeps = DeletionDeps & Pick<CoreDeps, 'listing' | 'belongings' | 'claims'>;

/**
 * - `done`: nothing more can be done now. If objects are left, they wait for reservations to die or for deletes that
 *   were not answered, and the schedule requests the next run.
 * - `opening`: a repo is empty. It can be opened once no batch that began before its closing can still be running.
 * - `unfinished`: the time was up first.
 */
type EmptyReposOutcome = 'done' | 'opening' | 'unfinished';

/**
 * Continues to empty the repos that are closed. A repo that is empty and has no reservation left is opened again, so
 * that its name can be used. Whoever uses it finds none of its locks, and it is neither public nor mapped. One that fails
 * keeps no other from its turn.
 *
 * @param input.repos of the tenant. Default: they are read.
 * @param input.untilMs nothing more is begun after this, except that one deletion is always run.
 * @throws what the first one failed by, after all of them.
 */
export async function emptyClosedRepos(
  deps: EmptyReposDeps,
  input: { tenant: string; untilMs: number; repos?: readonly RepoRecord[] },
): Promise<EmptyReposOutcome> {
  const { tenant } = input;
  const repos = input.repos ?? (await allPages(deps.ledger.repos(tenant)));
  let isOpening = false;
  let isFirst = true;
  let failure: { readonly error: unknown } | undefined;
  for (const { repo, closedAtMs, kind, emptyFromMs = 0 } of repos) {
    if (closedAtMs === null || deps.clock.nowMs() < emptyFromMs) continue;
    if (!isFirst && deps.clock.nowMs() > input.untilMs) return 'unfinished';
    isFirst = false;
    try {
      const outcome = await emptyAndOpen(deps, { ...input, repo, closedAtMs, kind });
      if (outcome === 'unfinished') return outcome;
      // The next repo would leave another note. The closed repos keep the tenant due.
      if (outcome === 'unanswered') return 'done';
      if (outcome === 'opening') isOpening = true;
    } catch (error) {
      deps.log.warn('emptying a repo failed: trying the next one', { tenant, repo, error });
      failure ??= { error };
    }
  }
  if (failure) throw failure.error;
  return isOpening ? 'opening' : 'done';
}

/**
 * Ends what goes another way to a repo that is closed: nobody can push to it, so what it stores is of no use, and what it claims
 * holds up its delete. What is about to be done ends by itself, and is found by the next run if it's open again.
 */
async function endUploads(
  { ledger, claims }: EmptyReposDeps,
  { tenant, repo, untilMs }: { tenant: string; repo: string; untilMs: number },
): Promise<void> {
  for await (const page of ledger.reservationsOf({ tenant, repo, ofUploads: true }))
    for (const reservation of page) await claims.end({ tenant, reservation, states: 'open', untilMs });
}

async function emptyAndOpen(
  deps: EmptyReposDeps,
  input: { tenant: string; untilMs: number; closedAtMs: number } & Pick<RepoRecord, 'repo' | 'kind'>,
): Promise<EmptyReposOutcome | 'unanswered'> {
  await endUploads(deps, input);
  const beganMs = deps.clock.nowMs();
  const outcome = await emptyRepo(deps, input);
  if (outcome === 'not-empty' && isOfFiles(input)) await waitForUrls(deps, input);
  if (outcome === 'not-empty') return 'done';
  if (outcome !== 'empty') return outcome;
  // An empty object may come until then, behind the listing.
  const listedMs = isOfFiles(input) ? beganMs : deps.clock.nowMs();
  const isOpening = listedMs <= closedUntilMs(deps.settings, input);
  return isOpening ? 'opening' : openUnlessHeld(deps, input);
}

/** Of files only empty objects are left, and once no upload is claimed any more, nothing else comes before these go. */
async function waitForUrls(
  { ledger }: EmptyReposDeps,
  path: { tenant: string; repo: string; closedAtMs: number },
): Promise<void> {
  if (await isReserved(ledger, path)) return;
  const records = await allPages(ledger.emptied(path));
  const emptyFromMs = Math.max(0, ...records.map(({ dueAtMs }) => dueAtMs));
  if (emptyFromMs > 0) await ledger.emptyLater({ ...path, emptyFromMs });
}

/**
 * By then a batch that read the repo before its closing has ended, or will never issue a URL. And no batch after the
 * opening is told by a listing of before that something is stored. Nor is any empty object still put at a name.
 */
function closedUntilMs(
  settings: Settings,
  { closedAtMs, kind }: { closedAtMs: number; kind?: RepoRecord['kind'] },
): number {
  const putMs = kind === 'files' ? closedAtMs + deleteRunMs + 2 * settings.clockSkewMs : 0;
  return Math.max(closedAtMs + settings.pendingVoidAfterMs, keptUntilMs(settings, closedAtMs), putMs);
}

async function openUnlessHeld(
  deps: EmptyReposDeps,
  input: { tenant: string; closedAtMs: number; untilMs: number } & Pick<RepoRecord, 'repo' | 'kind'>,
): Promise<'done' | 'unfinished'> {
  const { tenant, repo, closedAtMs, untilMs } = input;
  if ((await heldUntilMs(deps, { tenant, repo })) > 0) return 'done';
  // Of files, what is lapsed may still come.
  if (isOfFiles(input) && (await isReserved(deps.ledger, { tenant, repo }))) return 'done';
  // A second defence: each deletion that `emptyRepo` read has ended, and one that is written since is void once the repo
  // is open.
  if ((await deletionsOf(deps, { tenant, repo })).length > 0) return 'done';
  // A request that saw the repo open has ended, as a batch has. So nothing of it comes after this.
  const left = await forgetAll(deps.belongings, (each) => each.forgetRepo?.({ tenant, repo, untilMs }));
  if (left !== 'done') return left === 'waits' ? 'done' : left;
  for await (const page of deps.ledger.emptied({ tenant, repo }))
    for (const { id } of page) await deps.ledger.removeEmptied({ tenant, repo, id });
  await deps.ledger.noteGone({ tenant, repo, oids: [emptiedName], atMs: deps.clock.nowMs() });
  await deps.ledger.openRepo({ tenant, repo, closedAtMs });
  deps.log.info('repo emptied', { tenant, repo });
  return 'done';
}

/**
 * @returns `not-empty`: objects are left that cannot be deleted now. `unanswered`: the store did not answer a delete.
 */
async function emptyRepo(
  deps: EmptyReposDeps,
  input: { tenant: string; closedAtMs: number; untilMs: number } & Pick<RepoRecord, 'repo' | 'kind'>,
): Promise<'empty' | 'not-empty' | 'unanswered' | 'unfinished'> {
  const { tenant, repo, closedAtMs, untilMs } = input;
  const ofFiles = isOfFiles(input);
  // Of files, they go when no PUT can be under way.
  const emptied = ofFiles ? await allPages(deps.ledger.emptied({ tenant, repo })) : [];
  const left = new Set<string>(emptied.flatMap(({ names }) => names));
  const deletions = await deletionsOf(deps, { tenant, repo });
  // The store didn't answer, or a run died: it is taken over in a minute. Else each try of a repo that can't be deleted would
  // add a deletion of as many objects, and each reconcile read them all.
  if (deletions.some((deletion) => deletion.state === 'deleting' && deletion.closedAtMs !== undefined))
    return 'not-empty';
  if (await mustWait(deps, { tenant, deletions })) return 'not-empty';
  for (const deletion of deletions) {
    // The grace time is for pushes that keep an object. Nobody can push to a closed repo, so it is skipped.
    // What its last run removed is taken off first.
    const mayRun = deletion.state === 'scheduled' && !deletion.removal;
    const run = mayRun ? await runDeletion(deps, { tenant, deletion, isClosed: true }) : undefined;
    if (run?.kind === 'unanswered') return 'unanswered';
    if (run?.kind === 'ended' && run.isWaiting) return 'not-empty';
    if (run?.kind !== 'ended' || run.heldCount > 0)
      for (const name of deletion.objects.keys()) left.add(name);
    if (deps.clock.nowMs() > untilMs) return 'unfinished';
  }
  for await (const listed of listInDeletions(deps, { tenant, repo })) {
    const objects = new Map([...listed].filter(([name]) => !left.has(name)));
    if (objects.size === 0) continue;
    const id = deps.ids.random(16);
    const deletion = newDeletion({ id, repo, objects, dueAtMs: deps.clock.nowMs(), closedAtMs });
    await deps.ledger.putDeletion({ tenant, deletion });
    const run = await runDeletion(deps, { tenant, deletion, isClosed: true });
    // The store is struggling. Every further deletion would leave another note on the tenant's item.
    if (run.kind === 'unanswered') return 'unanswered';
    if (run.kind === 'ended' && run.isWaiting) return 'not-empty';
    if (ofFiles || run.kind === 'refused' || run.heldCount > 0)
      for (const name of objects.keys()) left.add(name);
    if (deps.clock.nowMs() > untilMs) return 'unfinished';
  }
  return left.size === 0 ? 'empty' : 'not-empty';
}

/** Whether the tenant has too many entries, and what waits for that was tried within the hour: it takes a HEAD an object. */
async function mustWait(
  { ledger, clock, settings }: Pick<CoreDeps, 'ledger' | 'clock' | 'settings'>,
  { tenant, deletions }: { tenant: string; deletions: readonly Deletion[] },
): Promise<boolean> {
  const nowMs = clock.nowMs();
  const isTried = ({ closedAtMs, dueAtMs }: Deletion) => closedAtMs !== undefined && nowMs < dueAtMs;
  if (!deletions.some(isTried)) return false;
  const account = await ledger.readTenant(tenant);
  return account !== undefined && account.entryCount + deletionObjectsMax > settings.unconfirmedEntriesMax;
}

/** A repo's deletions that are marked or deleting. */
async function deletionsOf(
  deps: Pick<CoreDeps, 'ledger'>,
  path: { tenant: string; repo: string },
): Promise<Deletion[]> {
  const deletions = await allPages(deps.ledger.deletionsOf(path));
  return deletions.filter((deletion) => deletion.state !== 'deleted');
}

const closesAtOnce = 16;

/**
 * Closes every repo that a closed tenant still has or may get: those that the bucket lists, even if the ledger
 * does not know them, and those that the ledger has objects or reservations of. An open tenant is left alone.
 *
 * @param input.untilMs no others are begun after this.
 * @returns false if the time was up first.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function closeReposOfClosedTenant(
  deps: Pick<CoreDeps, 'ledger' | 'listing' | 'clock'>,
  { account, untilMs }: { account: TenantRecord; untilMs: number },
): Promise<boolean> {
  const { ledger, clock } = deps;
  const { tenant, closedAtMs } = account;
  if (closedAtMs === null) return true;
  const { folders, rootObjects } = await listTenant(deps, { tenant });
  const names = new Set(folders);
  if (rootObjects.objectCount > 0) names.add('');
  for await (const page of ledger.reservations(tenant)) for (const { repo } of page) names.add(repo);
  const records = await allPages(ledger.repos(tenant));
  for (const { repo, objectCount } of records) if (objectCount > 0) names.add(repo);
  for (const record of records) if (record.closedAtMs !== null) names.delete(record.repo);
  let isDone = true;
  await mapLimited([...names], closesAtOnce, async (repo) => {
    if (clock.nowMs() > untilMs) isDone = false;
    else await ledger.closeRepo({ tenant, repo, closedAtMs, isForGood: true });
  });
  return isDone;
}
