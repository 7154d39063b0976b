import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { isOid, isRepoName, objectKey, repoPrefix, tenantPrefix } from '../../core/rules/names.ts';
import { listTenant } from '../../core/scan/find-stored.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { type ListedPage, listPages, nextPage } from '../../core/store/rules/store.ts';
import { decodeJson, type ExportLease } from './lease.ts';
import type { ExportPorts } from './ports.ts';
import { type ExportFailure, type ExportJob, listKey, requestKey } from './rules/job.ts';
import {
  decodeObjectList,
  distinctObjects,
  type RequestedObject,
  type StoredObject,
} from './rules/objects.ts';

const reposAtOnce = 4;
const headsAtOnce = 32;
const firstDigits = [...'0123456789abcdef'];

interface ListObjectsInput {
  readonly tenant: string;
  /** null: all repos. */
  readonly repo: string | null;
  /** The objects that are wanted, with the names that they are to have. undefined: all. */
  readonly wanted: ReadonlyMap<string, string | undefined> | undefined;
  /** More are not listed. */
  readonly objectsMax: number;
  /** Called after each request, and awaited. */
  readonly onRequest: () => Promise<void>;
}

/**
 * Finds the objects that an export is to have, with their versions. An oid that lies in several repos is found several
 * times. Keys that are no objects of git-lfs are left out.
 *
 * @throws {StoreUnavailableError}
 */
export async function listObjects(
  deps: Pick<CoreDeps, 'listing'> & Pick<FilePorts, 'archives'>,
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
    if (!found.isFull) await listRepo(deps, repoPrefix({ tenant, repo: each }), found, input.onRequest);
  });
  return found.isFull ? { kind: 'too-many' } : { kind: 'listed', objects: found.objects };
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

/** Lists a repo: the first page alone, and what follows by the first digits of the oids, at the same time. */
async function listRepo(
  deps: Pick<CoreDeps, 'listing'>,
  prefix: string,
  found: Found,
  onRequest: () => Promise<void>,
): Promise<void> {
  const first = await nextPage(deps.listing, { prefix, readsEtags: true }, onRequest);
  found.notePage(first);
  if (!first.isTruncated) return;
  const startAfter = first.keyAt(first.keyCount - 1);
  const reached = startAfter.slice(prefix.length, prefix.length + 1);
  const open = firstDigits.filter((digit) => digit >= reached);
  await mapLimited(open, firstDigits.length, async (digit) => {
    // Older versions of MinIO list nothing after a key that doesn't begin with the prefix.
    const rest = { ...(digit === reached && { startAfter }), readsEtags: true };
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
  isFull = false;
  readonly #wanted: ListObjectsInput['wanted'];
  readonly #objectsMax: number;

  constructor({ wanted, objectsMax }: Pick<ListObjectsInput, 'wanted' | 'objectsMax'>) {
    this.#wanted = wanted;
    this.#objectsMax = objectsMax;
  }

  notePage(page: ListedPage): void {
    for (let index = 0; index < page.keyCount; index += 1)
      this.#note(page.keyAt(index), page.sizeAt(index), page.etagAt(index));
  }

  #note(key: string, sizeBytes: number, etag: string): void {
    const [, repo = '', oid = '', ...deeper] = key.split('/');
    // Deeper keys, such as tenant/repo/folder/oid, are no objects of git-lfs.
    if (!isOid(oid) || !isRepoName(repo) || deeper.length > 0) return;
    if (this.#wanted && !this.#wanted.has(oid)) return;
    if (this.objects.length >= this.#objectsMax) {
      this.isFull = true;
      return;
    }
    const name = this.#wanted?.get(oid);
    this.objects.push({ oid, sizeBytes, etag, key, ...(name !== undefined && { name }) });
  }
}

type GatherDeps = Pick<CoreDeps, 'listing'> &
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
  const wanted = await wantedObjects(deps, job);
  const listed = await listObjects(deps, {
    tenant: job.tenant,
    repo: job.request.repo,
    wanted,
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
  const lost = before && decodeObjectList(before).find(({ oid }) => !found.has(oid));
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
