import { deletionObjectsMax } from '../../domain/deletion.ts';
import { deletionPrefix, repoPrefix, tenantPrefix } from '../../domain/names.ts';
import type { Deps } from '../deps.ts';

/** Bytes of names in one deletion: with the sizes they fit an item of 400 KB. */
const nameBytesMax = 200_000;

interface Listed {
  readonly key: string;
  readonly sizeBytes: number;
}

/**
 * Lists a repo as many objects at a time as one deletion can name: names as {@link deletionPrefix} has them
 * → bytes. What was handed out may be deleted before the next is asked for.
 */
export async function* listInDeletions(
  deps: Pick<Deps, 'listing'>,
  path: { tenant: string; repo: string },
): AsyncIterable<ReadonlyMap<string, number>> {
  const prefix = deletionPrefix(path);
  for await (const page of pagesOf(deps, path)) {
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

async function* pagesOf(
  deps: Pick<Deps, 'listing'>,
  path: { tenant: string; repo: string },
): AsyncIterable<readonly Listed[]> {
  if (path.repo === '') yield* besideFolders(deps, path.tenant);
  yield* below(deps, repoPrefix(path));
}

async function* below(deps: Pick<Deps, 'listing'>, prefix: string): AsyncIterable<readonly Listed[]> {
  let startAfter: string | undefined;
  do {
    const page = await deps.listing.listPage({
      prefix,
      maxKeys: deletionObjectsMax,
      ...(startAfter !== undefined && { startAfter }),
    });
    const listed = Array.from({ length: page.keyCount }, (_, index) => ({
      key: page.keyAt(index),
      sizeBytes: page.sizeAt(index),
    }));
    yield listed;
    startAfter = page.isTruncated ? listed.at(-1)?.key : undefined;
  } while (startAfter !== undefined);
}

async function* besideFolders(deps: Pick<Deps, 'listing'>, tenant: string): AsyncIterable<readonly Listed[]> {
  let continuationToken: string | undefined;
  do {
    const page = await deps.listing.listFolders({
      prefix: tenantPrefix(tenant),
      ...(continuationToken !== undefined && { continuationToken }),
    });
    yield page.keys;
    continuationToken = page.nextContinuationToken;
  } while (continuationToken !== undefined);
}
