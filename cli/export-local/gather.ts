import { distinctObjects, type StoredObject } from '../../lambda/domain/export/stored-object.ts';
import { objectKey } from '../../lambda/domain/names.ts';
import { objectPageSchema } from '../../lambda/http/management/objects/schemas.ts';
import type { ApiClient } from '../api-client.ts';
import { CliError } from '../errors.ts';
import type { NamedObject } from '../export/objects-file.ts';
import { eachPage, pageSizeMax } from '../list-pages.ts';
import { formatCount } from '../render.ts';
import type { ExportState, ExportWish } from './state.ts';

/** As many as the memory of one process takes with ease, and as an export on the server may have. */
const objectsMax = 2_000_000;

/**
 * Lists what an export is to have.
 *
 * @param input.wanted the objects that are wanted. undefined: all. @param input.onPage called with how many were found.
 * @returns the state to begin with, and how many objects were left out because another has their oid and another size.
 * @throws {CliError}
 */
export async function gather(
  client: ApiClient,
  input: {
    wish: ExportWish;
    wanted: readonly NamedObject[] | undefined;
    nowMs: number;
    stop: AbortSignal;
    onPage: (objectCount: number) => void;
  },
): Promise<{ state: ExportState; conflicts: number }> {
  const { wish, wanted, nowMs, stop, onPage } = input;
  const { tenant, repo } = wish;
  const names = wanted && new Map(wanted.map(({ oid, name }) => [oid, name]));
  const listed: StoredObject[] = [];
  const pages = eachPage(client, {
    path: `/v1/tenants/${tenant}/objects`,
    ...(repo !== null && { filter: { repo } }),
    shape: objectPageSchema,
    items: 'objects',
    options: { pageSize: pageSizeMax },
  });
  for await (const { body } of pages) {
    stop.throwIfAborted();
    for (const object of body.objects) {
      const { oid, sizeBytes } = object;
      if (names && !names.has(oid)) continue;
      const name = names?.get(oid);
      const key = objectKey({ tenant, repo: object.repo, oid });
      listed.push({ oid, sizeBytes, etag: '', key, ...(name !== undefined && { name }) });
    }
    if (listed.length > objectsMax)
      throw new CliError(`There are more than ${formatCount(objectsMax)} objects.`, {
        hint: 'Export the repos one by one, with --repo.',
      });
    onPage(listed.length);
  }
  const { objects, conflicts } = distinctObjects(listed);
  const found = new Set(objects.map(({ oid }) => oid));
  const missing = (wanted ?? [])
    .filter(({ oid }) => !found.has(oid))
    .map(({ oid }) => ({ oid, sizeBytes: null }));
  return { state: { wish, createdAtMs: nowMs, missing, objects }, conflicts: conflicts.length };
}
