import { crc32FileOf, crc32Files, encodeCrc32s, findCrc32s } from '../../domain/export/crc32-file.ts';
import type { ExportJob } from '../../domain/export/export-job.ts';
import { exportPrefix, keptCrc32Key, keptCrc32Path } from '../../domain/export/export-keys.ts';
import type { StoredObject } from '../../domain/export/stored-object.ts';
import type { Deps } from '../deps.ts';
import { deleteBelow } from './below.ts';

/**
 * The CRC-32 of a tenant's objects, kept for its next zip. They are a cache: what is not there, or broken, is hashed
 * again, and of two exports that write at the same time the later one wins. The store's lifecycle removes a file that no
 * zip has written for days.
 */

type KeepDeps = Pick<Deps, 'archives'>;

/**
 * What is known of objects, by oid.
 *
 * @param input.objects in the order of their oids.
 * @throws {StoreUnavailableError}
 */
export async function readKeptCrc32s(
  { archives }: KeepDeps,
  { tenant, objects }: { tenant: string; objects: readonly StoredObject[] },
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  await Promise.all(
    byFile(objects).map(async (own, file) => {
      const bytes = own.length > 0 && (await archives.get(keptCrc32Key({ tenant }, file)));
      if (bytes) findCrc32s(bytes, own, found);
    }),
  );
  return found;
}

/**
 * Keeps what was found for an export. One of a whole tenant replaces what was kept, so that nothing stays of objects that
 * are gone; any other adds to it.
 *
 * @param input.objects in the order of their oids.
 * @throws {StoreUnavailableError}
 */
export async function keepCrc32s(
  { archives }: KeepDeps,
  input: {
    job: Pick<ExportJob, 'tenant' | 'request'>;
    objects: readonly StoredObject[];
    crc32Of: (object: StoredObject) => number;
  },
): Promise<void> {
  const { job, objects, crc32Of } = input;
  const { repo, listedObjects } = job.request;
  const isOfAll = repo === null && listedObjects === null;
  await Promise.all(
    byFile(objects).map(async (own, file) => {
      if (own.length === 0 && !isOfAll) return;
      const key = keptCrc32Key(job, file);
      const others = isOfAll ? undefined : await archives.get(key);
      await archives.put(key, encodeCrc32s(own, { crc32Of, others }));
    }),
  );
}

/** Removes what is kept for a tenant. May be repeated. @throws {StoreUnavailableError} */
export async function forgetCrc32s(deps: KeepDeps, tenant: string): Promise<void> {
  await deleteBelow(deps, exportPrefix(keptCrc32Path({ tenant })));
}

/** Objects by the file that they are in. */
function byFile(objects: readonly StoredObject[]): StoredObject[][] {
  const files = Array.from({ length: crc32Files }, (): StoredObject[] => []);
  for (const object of objects) files[crc32FileOf(object)]?.push(object);
  return files;
}
