import { isOid, isRepoName, repoPrefix, tenantPrefix } from '../../domain/names.ts';
import type { Deps } from '../deps.ts';

export interface StoredObjectPage {
  readonly objects: readonly { readonly repo: string; readonly oid: string; readonly sizeBytes: number }[];
  /** The last key of the page, relative to the tenant's path. null: no page follows. */
  readonly next: string | null;
}

/**
 * What lies in the store below a tenant's path, or one of its repos: one page, of one LIST. Keys that are no objects of
 * git-lfs are left out, so a page may be shorter than asked for, or empty, without being the last.
 *
 * @param input.after `next` of the page before.
 * @throws {StoreUnavailableError}
 */
export async function listStoredObjects(
  { listing }: Pick<Deps, 'listing'>,
  input: { tenant: string; repo?: string; pageSize: number; after?: string },
): Promise<StoredObjectPage> {
  const { tenant, repo, pageSize, after } = input;
  const base = tenantPrefix(tenant);
  const page = await listing.listPage({
    prefix: repo === undefined ? base : repoPrefix({ tenant, repo }),
    maxKeys: pageSize,
    ...(after !== undefined && { startAfter: base + after }),
  });
  const objects: StoredObjectPage['objects'][number][] = [];
  for (let index = 0; index < page.keyCount; index += 1) {
    const [name = '', oid = '', ...deeper] = page.keyAt(index).slice(base.length).split('/');
    if (deeper.length === 0 && isRepoName(name) && isOid(oid))
      objects.push({ repo: name, oid, sizeBytes: page.sizeAt(index) });
  }
  const hasNext = page.isTruncated && page.keyCount > 0;
  return { objects, next: hasNext ? page.keyAt(page.keyCount - 1).slice(base.length) : null };
}
