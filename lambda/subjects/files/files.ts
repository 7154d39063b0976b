import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { requestFileDeletion } from '../../core/ledger/empty-objects.ts';
import { isOver } from '../../core/ledger/rules/emptied.ts';
import { sumEntries } from '../../core/ledger/rules/reservation.ts';
import type { RepoPath } from '../../core/ledger/rules/tenant.ts';
import { objectKey, repoPrefix } from '../../core/rules/names.ts';
import { nextPage, pageKeysMax } from '../../core/store/rules/store.ts';
import { isFile, withoutEmptied } from '../../frame/access/files.ts';
import { beyondPrefix, type TokenRecord } from '../../frame/access/rules/tokens.ts';
import { endUpload, isGone, type PartDeps } from './parts.ts';

export interface ListedFile {
  readonly name: string;
  readonly sizeBytes: number;
  /** undefined: the store does not say. */
  readonly storedMs: number | undefined;
}

type ListDeps = Pick<CoreDeps, 'store' | 'listing'>;
type SumDeps = ListDeps & Pick<CoreDeps, 'clock' | 'settings'>;

export type FilesOf = RepoPath & {
  /** What their names begin with. */
  readonly prefix: string;
  /** Only names after this one, which begins with the prefix. */
  readonly after?: string | undefined;
  /** Empty objects are hidden unless this is so of their mark. */
  readonly isShown?: ((mark: string) => boolean) | undefined;
};

/**
 * One page of files. Empty objects in the place of deleted ones aren't any: of objects without bytes the store is asked.
 *
 * @returns next: the last name of the page. null: no page follows.
 * @throws {StoreUnavailableError}
 */
export async function listFiles(
  { store, listing }: ListDeps,
  { prefix, after, pageSize, isShown, ...path }: FilesOf & { pageSize: number },
): Promise<{ files: readonly ListedFile[]; next: string | null }> {
  const base = repoPrefix(path);
  const page = await nextPage(listing, {
    prefix: base + prefix,
    maxKeys: pageSize,
    readsTimes: true,
    ...(after !== undefined && { startAfter: base + after }),
  });
  const listed = Array.from({ length: page.keyCount }, (_, at) => ({
    name: page.keyAt(at).slice(base.length),
    sizeBytes: page.sizeAt(at),
    storedMs: page.lastModifiedMsAt(at),
  }));
  const files = await withoutEmptied(
    (key) => store.head(key),
    listed,
    ({ name }) => base + name,
    isShown,
  );
  return { files, next: page.isTruncated ? (listed.at(-1)?.name ?? null) : null };
}

/** LISTs of one request, and how long others are begun, so that its answer comes in time. */
const [pagesMax, listingMs] = [20, 10_000];

/** The files of up to 20 pages. @throws {StoreUnavailableError} */
async function someFiles(deps: SumDeps, of: FilesOf) {
  const files: ListedFile[] = [];
  let { after } = of;
  const untilMs = deps.clock.nowMs() + listingMs;
  for (let pages = 0; pages < pagesMax && deps.clock.nowMs() <= untilMs; pages += 1) {
    const page = await listFiles(deps, { ...of, after, pageSize: pageKeysMax });
    files.push(...page.files);
    if (page.next === null) return { files, next: null };
    after = page.next;
  }
  return { files, next: after ?? null };
}

interface Sum {
  readonly fileCount: number;
  readonly bytes: number;
  /** The name after which the rest follows. null: that was all. */
  readonly next: string | null;
}

const sumOf = ({ files, next }: Awaited<ReturnType<typeof someFiles>>): Sum => ({
  fileCount: files.length,
  bytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  next,
});

/** What files with a prefix take up, as the store lists them now. @throws {StoreUnavailableError} */
export const usageOfFiles = async (deps: SumDeps, of: FilesOf) => sumOf(await someFiles(deps, of));

type DeleteDeps = SumDeps & Pick<CoreDeps, 'ledger' | 'queue' | 'ids'>;

/**
 * Has files deleted that have a prefix, or this name. What is put from now on stays. So are empty objects that should be gone: their
 * record was lost, or its turn comes soon.
 *
 * @returns undefined: there is no file of this name. `full`: too many deletions wait.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function deleteFiles(
  deps: DeleteDeps,
  of: FilesOf & { name?: string | undefined; dryRun: boolean },
): Promise<Sum | 'full' | undefined> {
  const { tenant, repo, name, dryRun } = of;
  const isShown = (mark: string) => isOver(mark, deps.settings, deps.clock.nowMs());
  const found =
    name === undefined
      ? await someFiles(deps, { ...of, isShown })
      : await oneFile(deps, { tenant, repo, name, isShown });
  if (!found) return undefined;
  const { files } = found;
  if (dryRun || files.length === 0) return sumOf(found);
  const times = files.map(({ storedMs = Number.POSITIVE_INFINITY }) => storedMs);
  const newestMs = times.reduce((newest, time) => Math.max(newest, time), 0);
  const outcome = await requestFileDeletion(deps, {
    tenant,
    repo,
    objects: new Map(files.map((file) => [file.name, file.sizeBytes])),
    ...(newestMs < Number.POSITIVE_INFINITY && { newestMs }),
  });
  return outcome === 'full' ? 'full' : sumOf(found);
}

async function oneFile(
  { store }: ListDeps,
  { name, isShown, ...path }: RepoPath & { name: string; isShown: (mark: string) => boolean },
) {
  const stored = await store.head(objectKey({ ...path, oid: name }));
  if (!isFile(stored, isShown)) return undefined;
  return { files: [{ name, sizeBytes: stored.sizeBytes, storedMs: stored.lastModifiedMs }], next: null };
}

/**
 * Cancels uploads that a request was given: their URLs store nothing any more. What has arrived stays.
 *
 * @param input.name undefined: all of them.
 * @param input.token none with a prefix cancels uploads of other names, or learns of them.
 * @returns undefined: there are none, or a reconcile has settled them.
 * @throws {LedgerUnavailableError}
 */
export async function cancelUploads(
  deps: Pick<CoreDeps, 'ids' | 'queue'> & PartDeps,
  input: RepoPath & { uploadId: string; name: string | undefined; token: TokenRecord | undefined },
): Promise<{ fileCount: number; bytes: number } | 'full' | undefined> {
  const { uploadId, name, token = {}, ...path } = input;
  const reservation = await deps.ledger.readReservation({ ...path, reservationId: uploadId });
  if (reservation?.state !== 'issued') return undefined;
  const objects = new Map([...reservation.entries].filter(([each]) => each === (name ?? each)));
  if (objects.size === 0 || beyondPrefix(token, [...objects.keys()]) !== undefined) return undefined;
  const canceled = { fileCount: objects.size, bytes: sumEntries(objects) };
  for (const each of reservation.chunked ?? []) {
    if (!objects.has(each)) continue;
    const ended = await endUpload(deps, { ...path, name: each, upload: uploadId });
    if (!ended || isGone(ended)) objects.delete(each);
  }
  if (objects.size === 0) await deps.queue.request({ tenant: path.tenant, reason: 'delete', full: false });
  else if ((await requestFileDeletion(deps, { ...path, objects, onlyNew: true })) === 'full') return 'full';
  return canceled;
}
