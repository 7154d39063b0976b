import type { Deps } from '../../deps.ts';
import type { ExportFailure, ExportJob } from '../../domain/export/export-job.ts';
import { listKey, requestKey } from '../../domain/export/export-keys.ts';
import { decodeObjectList, encodeObjectList } from '../../domain/export/object-list.ts';
import { decodeRequested } from '../../domain/export/requested-objects.ts';
import { distinctObjects, type StoredObject } from '../../domain/export/stored-object.ts';
import { decodeJson, encodeJson } from './json-file.ts';
import type { ExportLease } from './lease.ts';
import { listObjects } from './list-objects.ts';

type GatherDeps = Pick<Deps, 'archives' | 'listing' | 'exportSettings'>;

/** What an export is to have. */
export interface Gathered {
  readonly objects: readonly StoredObject[];
  readonly conflicts: number;
  /** Objects that were asked for, or were there in an earlier round, and are not stored. */
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
    const message = `There are more than ${objectsMax.toLocaleString('en-US')} objects. Export its repos one by one.`;
    return { failure: { reason: 'too-many-objects', message } };
  }
  const { objects, conflicts } = distinctObjects(listed.objects);
  const found = new Set(objects.map(({ oid }) => oid));
  const before = job.round > 1 ? await readGathered(deps, job, job.round - 1) : undefined;
  const known = new Map<string, number | null>();
  for (const oid of wanted?.keys() ?? []) known.set(oid, null);
  for (const { oid, sizeBytes } of [...(before?.missing ?? []), ...(before?.objects ?? [])])
    known.set(oid, sizeBytes);
  const missing = [...known]
    .filter(([oid]) => !found.has(oid))
    .map(([oid, sizeBytes]) => ({ oid, sizeBytes }));
  return { objects, conflicts: conflicts.length, missing };
}

/** Puts down what was listed in a round. A plan is a function of it, so it is there before the job says that it is planned. */
export async function putGathered(
  { archives }: Pick<Deps, 'archives'>,
  job: ExportJob,
  { objects, ...rest }: Gathered,
): Promise<void> {
  await Promise.all([
    archives.put(listKey(job, job.round), encodeObjectList(objects)),
    archives.put(`${listKey(job, job.round)}.json`, encodeJson(rest)),
  ]);
}

async function wantedObjects(
  { archives }: Pick<Deps, 'archives'>,
  job: ExportJob,
): Promise<ReadonlyMap<string, string | undefined> | undefined> {
  if (job.request.listedObjects === null) return undefined;
  const bytes = await archives.get(requestKey(job));
  if (!bytes) throw new Error('The list of the objects that were asked for is gone.');
  return new Map(decodeRequested(bytes).map(({ oid, name }) => [oid, name]));
}

/** What was put down in a round. undefined: nothing. */
export async function readGathered(
  { archives }: Pick<Deps, 'archives'>,
  job: ExportJob,
  round: number,
): Promise<Gathered | undefined> {
  const [list, rest] = await Promise.all([
    archives.get(listKey(job, round)),
    archives.get(`${listKey(job, round)}.json`),
  ]);
  if (!list || !rest) return undefined;
  return { objects: decodeObjectList(list), ...decodeJson<Omit<Gathered, 'objects'>>(rest) };
}
