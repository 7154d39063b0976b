import type { FileHandle } from 'node:fs/promises';
import type { Layout } from '../../lambda/domain/export/layout.ts';
import type { StoredObject } from '../../lambda/domain/export/stored-object.ts';
import type { ApiClient } from '../api-client.ts';
import { type FetchDeps, type Fetched, fetchObject } from './fetch-object.ts';
import {
  askForDownloads,
  type BatchDeps,
  type BatchPlace,
  batchObjectsMax,
  type Offer,
} from './lfs-batch.ts';
import { startByteOf } from './local-plan.ts';
import type { Retries } from './retries.ts';

/** Objects that are downloaded at a time. */
const objectsAtOnce = 8;

/** An object of the list, by its index there. */
interface Listed {
  readonly index: number;
  readonly object: StoredObject;
}

/**
 * Downloads objects to their places in the archive, several at a time. One that is gone or broken does not hold up the
 * others.
 *
 * @param input.pending indices of the objects that are wanted. @param input.onFetched called once for each of them.
 * @throws what a download failed with, once those beside it have ended.
 */
export async function fetchAll(
  deps: {
    client: ApiClient;
    archive: FileHandle;
    retries: Retries;
    stop: AbortSignal;
    nowMs: () => number;
    onBytes: (bytes: number) => void;
  },
  input: {
    tenant: string;
    layout: Layout;
    pending: readonly number[];
    onFetched: (index: number, fetched: Fetched) => void;
  },
): Promise<void> {
  const { layout, tenant, onFetched } = input;
  const failed = new AbortController();
  const stop = AbortSignal.any([deps.stop, failed.signal]);
  const askAgain = async (object: StoredObject): Promise<Offer> => {
    const place = { tenant, repo: repoOf(object) };
    return (await askForDownloads(deps, place, [object])).get(object.oid) ?? { kind: 'gone' };
  };
  const fetchDeps: FetchDeps = { ...deps, stop, askAgain };
  const offers = offersFor(deps, { tenant, batches: batchesOf(input) });
  const work = async () => {
    for (;;) {
      stop.throwIfAborted();
      const next = await offers.next();
      if (next.done) return;
      const { index, object, offer } = next.value;
      const startByte = startByteOf(layout, index);
      onFetched(index, await fetchObject(fetchDeps, { object, offer, startByte }));
    }
  };
  const workers = Array.from({ length: objectsAtOnce }, () =>
    work().catch((error: unknown) => {
      failed.abort(error);
      throw error;
    }),
  );
  await Promise.allSettled(workers);
  // The first one that failed is the cause; the others were stopped.
  deps.stop.throwIfAborted();
  if (failed.signal.aborted) throw failed.signal.reason;
}

/** Asks for one batch after the other, when an object of it is wanted. */
async function* offersFor(
  deps: BatchDeps,
  { tenant, batches }: { tenant: string; batches: Iterable<{ repo: string; objects: readonly Listed[] }> },
): AsyncGenerator<Listed & { readonly offer: Offer }> {
  for (const { repo, objects } of batches) {
    const place: BatchPlace = { tenant, repo };
    const offers = await askForDownloads(
      deps,
      place,
      objects.map(({ object }) => object),
    );
    for (const listed of objects)
      yield { ...listed, offer: offers.get(listed.object.oid) ?? { kind: 'gone' } };
  }
}

/** The objects repo by repo, in the order of the archive. */
function* batchesOf({ layout, pending }: { layout: Layout; pending: readonly number[] }) {
  const byRepo = new Map<string, Listed[]>();
  for (const index of pending) {
    const object = layout.objects[index];
    if (!object) throw new RangeError(`The list has no object ${index}.`);
    const repo = repoOf(object);
    const others = byRepo.get(repo);
    if (others) others.push({ index, object });
    else byRepo.set(repo, [{ index, object }]);
  }
  for (const [repo, objects] of byRepo)
    for (let at = 0; at < objects.length; at += batchObjectsMax)
      yield { repo, objects: objects.slice(at, at + batchObjectsMax) };
}

/** The repo in an object's key, which is `tenant/repo/oid`. */
function repoOf({ key }: StoredObject): string {
  return key.split('/')[1] ?? '';
}
