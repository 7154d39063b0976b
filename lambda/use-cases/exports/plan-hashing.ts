import { encodeCrc32s, findCrc32s } from '../../domain/export/crc32-file.ts';
import { type ExportJob, noProgress } from '../../domain/export/export-job.ts';
import { exportPrefix, hashesKey, knownHashesKey, listKey } from '../../domain/export/export-keys.ts';
import type { StoredObject } from '../../domain/export/stored-object.ts';
import { SourceGoneError } from '../../ports/archive-store.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';
import { abortUploads } from './below.ts';
import { readGathered } from './gather-objects.ts';
import { decodeJson } from './json-file.ts';
import type { ExportLease } from './lease.ts';
import {
  bytesOf,
  crc32From,
  failAs,
  type PlanDeps,
  type PlanInput,
  planCopies,
  planVolumes,
} from './plan-copies.ts';
import { writeHashOrders } from './write-orders.ts';

/** Results of workers that are read at a time. */
const resultsAtOnce = 32;

/**
 * Writes down whose CRC-32 are to be found, for a zip.
 *
 * @param input.known by oid: they are not hashed again.
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
export async function planHashing(
  deps: PlanDeps,
  input: PlanInput & { known: ReadonlyMap<string, number> },
): Promise<ExportJob> {
  const { job, lease, gathered, known } = input;
  const planned = planVolumes(deps, input);
  if ('failure' in planned) return failAs(deps, lease, planned.failure);
  // Not what is kept for the tenant: another export may change that meanwhile.
  const isKnown = ({ oid }: StoredObject) => known.has(oid);
  const crc32Of = crc32From(known);
  const file = encodeCrc32s(gathered.objects.filter(isKnown), { crc32Of, others: undefined });
  const objects = gathered.objects.filter((object) => !isKnown(object));
  const [units] = await Promise.all([
    writeHashOrders(deps, { job, lease, objects }),
    deps.archives.put(knownHashesKey(job, job.round), file),
  ]);
  const { summary } = planned;
  return lease.end((now) => ({
    ...now,
    state: 'hashing',
    planned: { ...summary, units, volumes: [] },
    doneUnits: '',
    progress: { ...noProgress, hashedBytes: summary.objectBytes - bytesOf(objects) },
    movedAtMs: deps.clock.nowMs(),
  }));
}

/**
 * Plans the copies of a zip whose units of hashing are done.
 *
 * @returns undefined if a result is not there: then the units are to be done again.
 * @throws {SourceGoneError} if all is to be planned anew.
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
export async function planHashedArchives(
  deps: PlanDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<ExportJob | undefined> {
  const { archives } = deps;
  const [hashes, gathered, known] = await Promise.all([
    readHashes(deps, job),
    readGathered(deps, job, job.round),
    archives.get(knownHashesKey(job, job.round)),
    // What workers still have.
    abortUploads(deps, exportPrefix(job)),
  ]);
  if (!hashes) return undefined;
  if (!gathered) throw new SourceGoneError(listKey(job, job.round));
  const { objects } = gathered;
  if (known) findCrc32s(known, objects, hashes);
  // Some are in neither: what was known is gone.
  if (hashes.size !== objects.length) throw new SourceGoneError(knownHashesKey(job, job.round));
  return planCopies(deps, { job, lease, gathered, crc32s: hashes });
}

/** What all units of hashing have found, by oid. undefined if a result is not there. */
async function readHashes(
  { archives }: Pick<Deps, 'archives'>,
  job: ExportJob,
): Promise<Map<string, number> | undefined> {
  const hashes = new Map<string, number>();
  let isWhole = true;
  const units = Array.from({ length: job.planned?.units ?? 0 }, (_, unit) => unit);
  await mapLimited(units, resultsAtOnce, async (unit) => {
    const bytes = await archives.get(hashesKey(job, { ...job, unit }));
    if (!bytes) isWhole = false;
    else for (const [oid, crc32] of decodeJson<[string, number][]>(bytes)) hashes.set(oid, crc32);
  });
  return isWhole ? hashes : undefined;
}
