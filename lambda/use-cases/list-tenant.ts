import { tenantPrefix } from '../domain/names.ts';
import { listFolderPages } from '../ports/object-listing.ts';
import type { Deps } from './deps.ts';

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
  deps: Pick<Deps, 'listing'>,
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
