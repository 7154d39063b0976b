import type { Deps } from '../../deps.ts';
import { deletionObjectsMax } from '../../domain/deletion.ts';
import { deletionPrefix, repoPrefix, tenantPrefix } from '../../rules/names.ts';
import { listFolderPages, listPages } from '../../store/rules/store.ts';

/** UTF-8 bytes of the names in one deletion. With the sizes they fit into an item of 400 KB. */
const nameBytesMax = 200_000;

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
  deps: Pick<Deps, 'listing'>,
  path: { tenant: string; repo: string },
): AsyncIterable<ReadonlyMap<string, number>> {
  const prefix = deletionPrefix(path);
  for await (const page of objectsOf(deps, path)) {
    let objects = new Map<string, number>();
    let nameBytes = 0;
    for (const { key, sizeBytes } of page) {
      const name = key.slice(prefix.length);
      const bytes = Buffer.byteLength(name);
      if (objects.size === deletionObjectsMax || nameBytes + bytes > nameBytesMax) {
        yield objects;
        objects = new Map();
        nameBytes = 0;
      }
      nameBytes += bytes;
      objects.set(name, sizeBytes);
    }
    if (objects.size > 0) yield objects;
  }
}

async function* objectsOf(
  deps: Pick<Deps, 'listing'>,
  path: { tenant: string; repo: string },
): AsyncIterable<readonly ListedObject[]> {
  if (path.repo === '')
    for await (const { keys } of listFolderPages(deps.listing, tenantPrefix(path.tenant))) yield keys;
  yield* listBelow(deps, repoPrefix(path));
}

async function* listBelow(
  deps: Pick<Deps, 'listing'>,
  prefix: string,
): AsyncIterable<readonly ListedObject[]> {
  for await (const page of listPages(deps.listing, { prefix, maxKeys: deletionObjectsMax }))
    yield Array.from({ length: page.keyCount }, (_, index) => ({
      key: page.keyAt(index),
      sizeBytes: page.sizeAt(index),
    }));
}
