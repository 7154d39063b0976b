import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { isOid, isRepoName, repoPrefix, tenantPrefix } from '../../core/rules/names.ts';
import { nextPage } from '../../core/store/rules/store.ts';
import { fileNameFault } from '../access/rules/file-names.ts';
import { iso } from '../contract/fields.ts';
import type { ObjectPageBody } from '../contract/objects.ts';

interface StoredObjectPage extends Omit<ObjectPageBody, 'nextCursor'> {
  /** Those of repos of files, and the empty objects in the place of deleted ones. */
  readonly files: NonNullable<ObjectPageBody['files']>;
  /** The last key of the page, relative to the tenant's path. null: no page follows. */
  readonly next: string | null;
}

/**
 * What lies in the store below a tenant's path, or one of its repos: one page. Keys that are no objects of
 * git-lfs, nor files, are only summed up, so a page may be shorter than asked for, or empty, without being the last.
 *
 * @param input.fileRepos which repos are of files. Default: none.
 * @param input.after `next` of the page before.
 * @throws {StoreUnavailableError}
 */
export async function listStoredObjects(
  { listing }: Pick<CoreDeps, 'listing'>,
  input: { tenant: string; repo?: string; fileRepos?: ReadonlySet<string>; pageSize: number; after?: string },
): Promise<StoredObjectPage> {
  const { tenant, repo, fileRepos, pageSize, after } = input;
  const base = tenantPrefix(tenant);
  const page = await nextPage(listing, {
    prefix: repo === undefined ? base : repoPrefix({ tenant, repo }),
    maxKeys: pageSize,
    readsTimes: true,
    ...(after !== undefined && { startAfter: base + after }),
  });
  const { objects, files }: Pick<StoredObjectPage, 'objects' | 'files'> = { objects: [], files: [] };
  const others = new Map<string, { objectCount: number; sizeBytes: number }>();
  for (let index = 0; index < page.keyCount; index += 1) {
    const path = page.keyAt(index).slice(base.length);
    const [name = '', ...names] = path.split('/');
    const oid = names.join('/');
    const isFile = fileRepos?.has(name) === true;
    const modifiedMs = page.lastModifiedMsAt(index);
    const sizeBytes = page.sizeAt(index);
    const stored = { sizeBytes, storedAt: modifiedMs === undefined ? null : iso(modifiedMs) };
    if (isFile && fileNameFault(oid) === undefined) files.push({ repo: name, name: oid, ...stored });
    else if (!isFile && isRepoName(name) && isOid(oid)) objects.push({ repo: name, oid, ...stored });
    else {
      const folder = path.includes('/') ? name : '';
      const sums = others.get(folder) ?? { objectCount: 0, sizeBytes: 0 };
      others.set(folder, { objectCount: sums.objectCount + 1, sizeBytes: sums.sizeBytes + sizeBytes });
    }
  }
  return {
    objects,
    files,
    others: [...others].map(([of, sums]) => ({ repo: of, ...sums })),
    next: page.isTruncated ? page.keyAt(page.keyCount - 1).slice(base.length) : null,
  };
}
