import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { isOid, isRepoName, objectKey, repoPrefix, tenantPrefix } from '../../core/rules/names.ts';
import { listTenant } from '../../core/scan/find-stored.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { type ListedPage, listPages, nextPage } from '../../core/store/rules/store.ts';
import { fileReposOf, headsAtOnce, withoutEmptied } from '../../frame/access/files.ts';
import { fileNameFault } from '../../frame/access/rules/file-names.ts';
import { decodeJson, type ExportLease } from './lease.ts';
import type { ExportPorts } from './ports.ts';
import { type ExportFailure, type ExportJob, listKey, requestKey } from './rules/job.ts';
import {
  decodeObjectList,
  distinctObjects,
  fileOf,
  type RequestedObject,
  type StoredObject,
} from './rules/objects.ts';

const reposAtOnce = 4;
const firstDigits = [...'0123456789abcdef'];

interface ListObjectsInput {
  readonly tenant: string;
  /** null: all repos. */
  readonly repo: string | null;
  /** The objects that are wanted, with the names that they are to have. undefined: all. */
  readonly wanted: ReadonlyMap<string, string | undefined> | undefined;
  /** Those of files. */
  readonly fileRepos: ReadonlySet<string>;
  /** More are not listed. */
  readonly objectsMax: number;
  /** Called after each request, and awaited. */
  readonly onRequest: () => Promise<void>;
}

/**
 * Finds the objects that an export is to have, with their versions. An oid that lies in several repos is found several
 * times. Keys that are no objects of git-lfs, nor files, are left out, and so are empty objects in the place of deleted files.
 *
 * @throws {StoreUnavailableError}
 */
export async function listObjects(
  deps: Pick<CoreDeps, 'listing' | 'store'> & Pick<FilePorts, 'archives'>,
  input: ListObjectsInput,
): Promise<
  { readonly kind: 'listed'; readonly objects: readonly StoredObject[] } | { readonly kind: 'too-many' }
> {
  const { tenant, repo, wanted } = input;
  // A repo may have many more objects than are wanted.
  if (repo !== null && wanted !== undefined)
    return { kind: 'listed', objects: await findObjects(deps, { ...input, repo, wanted }) };
  const found = new Found(input);
  const repos = repo === null ? await openRepos(deps, input, found) : [repo];
  await mapLimited(repos, reposAtOnce, async (each) => {
    const isOfFiles = input.fileRepos.has(each);
    const list = { prefix: repoPrefix({ tenant, repo: each }), isOfFiles };
    if (!found.isFull) await listRepo(deps, list, found, input.onRequest);
  });
  if (found.isFull) return { kind: 'too-many' };
  const head = async (key: string) => {
    const stored = await deps.store.head(key);
    await input.onRequest();
    return stored;
  };
  const files = await withoutEmptied(head, found.files, ({ key }) => key);
  return { kind: 'listed', objects: [...files, ...found.objects] };
}

/** The repos that are still to be listed: none, if all objects of the tenant are on one page. */
async function openRepos(
  deps: Pick<CoreDeps, 'listing'>,
  { tenant, onRequest }: ListObjectsInput,
  found: Found,
): Promise<string[]> {
  // Asked for at the same time: most tenants need no other.
  const [{ folders }, page] = await Promise.all([
    listTenant(deps, { tenant, onPage: onRequest }),
    nextPage(deps.listing, { prefix: tenantPrefix(tenant), readsEtags: true }, onRequest),
  ]);
  if (page.isTruncated) return [...folders].filter(isRepoName);
  found.notePage(page);
  return [];
}

async function findObjects(
  { archives }: Pick<FilePorts, 'archives'>,
  input: ListObjectsInput & { repo: string; wanted: ReadonlyMap<string, string | undefined> },
): Promise<StoredObject[]> {
  const { tenant, repo, wanted, onRequest } = input;
  const heads = await mapLimited([...wanted], headsAtOnce, async ([oid, name]) => {
    const key = objectKey({ tenant, repo, oid });
    const head = await archives.head(key);
    await onRequest();
    return head && { oid, key, ...head, ...(name !== undefined && { name }) };
  });
  return heads.filter((each) => each !== undefined);
}

/** Lists a repo: the first page alone, and what follows by the first digits of the oids, at the same time. Files one by one. */
async function listRepo(
  deps: Pick<CoreDeps, 'listing'>,
  { prefix, isOfFiles }: { prefix: string; isOfFiles: boolean },
  found: Found,
  onRequest: () => Promise<void>,
): Promise<void> {
  const first = await nextPage(deps.listing, { prefix, readsEtags: true }, onRequest);
  found.notePage(first);
  if (!first.isTruncated) return;
  const startAfter = first.keyAt(first.keyCount - 1);
  const reached = startAfter.slice(prefix.length, prefix.length + 1);
  // What follows the first page is below the repo, or below one of the digits.
  const open = isOfFiles ? [''] : firstDigits.filter((digit) => digit >= reached);
  await mapLimited(open, firstDigits.length, async (digit) => {
    // Older versions of MinIO list nothing after a key that doesn't begin with the prefix.
    const rest = { ...((isOfFiles || digit === reached) && { startAfter }), readsEtags: true };
    const request = { prefix: `${prefix}${digit}`, ...rest };
    for await (const page of listPages(deps.listing, request, onRequest)) {
      found.notePage(page);
      if (found.isFull) return;
    }
  });
}

/** The objects that were found, up to a maximum. */
class Found {
  readonly objects: StoredObject[] = [];
  readonly files: StoredObject[] = [];
  isFull = false;
  readonly #wanted: ListObjectsInput['wanted'];
  readonly #fileRepos: ReadonlySet<string>;
  readonly #objectsMax: number;

  constructor({ wanted, fileRepos, objectsMax }: ListObjectsInput) {
    this.#wanted = wanted;
    this.#fileRepos = fileRepos;
    this.#objectsMax = objectsMax;
  }

  notePage(page: ListedPage): void {
    for (let index = 0; index < page.keyCount; index += 1)
      this.#note(page.keyAt(index), page.sizeAt(index), page.etagAt(index));
  }

  #note(key: string, sizeBytes: number, etag: string): void {
    const [, repo = '', ...names] = key.split('/');
    const oid = names.join('/');
    const isFile = this.#fileRepos.has(repo);
    // Deeper keys, such as tenant/repo/folder/oid, are no objects of git-lfs.
    if (isFile ? fileNameFault(oid) !== undefined : !isOid(oid) || !isRepoName(repo)) return;
    if (this.#wanted && (isFile || !this.#wanted.has(oid))) return;
    if (this.objects.length + this.files.length >= this.#objectsMax) {
      this.isFull = true;
      return;
    }
    if (isFile) {
      this.files.push(fileOf({ sizeBytes, etag, key }));
      return;
    }
    const name = this.#wanted?.get(oid);
    this.objects.push({ oid, sizeBytes, etag, key, ...(name !== undefined && { name }) });
  }
}

export type GatherDeps = Pick<CoreDeps, 'listing' | 'store' | 'ledger'> &
  Pick<ExportPorts, 'exportSettings'> &
  Pick<FilePorts, 'archives'>;

/** What an export is to have. */
export interface Gathered {
  readonly objects: readonly StoredObject[];
  readonly conflicts: number;
  /** Objects that were asked for, and are not stored. */
  readonly missing: readonly { readonly oid: string; readonly sizeBytes: number | null }[];
}

/** Lists the objects of an export. */
export async function gatherObjects(
  deps: GatherDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<Gathered | { failure: ExportFailure }> {
  const { objectsMax } = deps.exportSettings;
  const { tenant, request } = job;
  const [wanted, fileRepos] = await Promise.all([
    wantedObjects(deps, job),
    fileReposOf(deps, { tenant, repo: request.repo }),
  ]);
  const listed = await listObjects(deps, {
    tenant,
    repo: request.repo,
    wanted,
    fileRepos,
    objectsMax,
    onRequest: () => lease.renew(),
  });
  if (listed.kind === 'too-many') {
    const message = `There are more than ${objectsMax.toLocaleString('en-US')} objects. Export repos individually.`;
    return { failure: { reason: 'too-many-objects', message } };
  }
  const { objects, conflicts } = distinctObjects(listed.objects);
  const found = new Set(objects.map(({ oid }) => oid));
  const before = job.round > 1 && (await deps.archives.get(listKey(job, job.round - 1)));
  // A file that was deleted meanwhile is no loss.
  const lost = before && decodeObjectList(before).find(({ oid }) => oid !== '' && !found.has(oid));
  if (lost) {
    const message = `The object ${lost.key} was deleted, lost or damaged during the export. Push it again if you need it. Then retry.`;
    return { failure: { reason: 'objects-vanish', message } };
  }
  const missing = [...(wanted?.keys() ?? [])]
    .filter((oid) => !found.has(oid))
    .map((oid) => ({ oid, sizeBytes: null }));
  return { objects, conflicts: conflicts.length, missing };
}

async function wantedObjects(
  { archives }: Pick<FilePorts, 'archives'>,
  job: ExportJob,
): Promise<ReadonlyMap<string, string | undefined> | undefined> {
  if (job.request.listedObjects === null) return undefined;
  const bytes = await archives.get(requestKey(job));
  if (!bytes) throw new Error('The list of requested objects is gone. Start it again.');
  return new Map(decodeJson<RequestedObject[]>(bytes).map(({ oid, name }) => [oid, name]));
}
