import type { Deps } from '../../deps.ts';
import { type ExportJob, inNextRound, noProgress } from '../../domain/export/export-job.ts';
import { exportPrefix, hashesKey, listKey } from '../../domain/export/export-keys.ts';
import { SourceGoneError } from '../../ports/archive-store.ts';
import { mapLimited } from '../../rules/async.ts';
import { abortUploads } from './below.ts';
import { readGathered } from './gather-objects.ts';
import { decodeJson } from './json-file.ts';
import type { ExportLease } from './lease.ts';
import { failAs, type PlanDeps, type PlanInput, planCopies, planVolumes } from './plan-copies.ts';
import { writeHashOrders } from './write-orders.ts';

/** Results of workers that are read at a time. */
const resultsAtOnce = 32;

/**
 * Writes down that the CRC-32 of each object is to be found, for a zip.
 *
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
export async function planHashing(deps: PlanDeps, input: PlanInput): Promise<ExportJob> {
  const { job, lease, gathered } = input;
  const planned = planVolumes(deps, input);
  if ('failure' in planned) return failAs(deps, lease, planned.failure);
  const units = await writeHashOrders(deps, { job, lease, objects: gathered.objects });
  return lease.end((now) => ({
    ...now,
    state: 'hashing',
    planned: { ...planned.summary, units, volumes: [] },
    doneUnits: '',
    progress: noProgress,
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
  const [hashes, gathered] = await Promise.all([
    readHashes(deps, job),
    readGathered(deps, job, job.round),
    // What workers still have.
    abortUploads(deps, exportPrefix(job)),
  ]);
  if (!hashes) return undefined;
  if (!gathered) throw new SourceGoneError(listKey(job, job.round));
  // An older version did not hash what it knew from an earlier zip.
  if (hashes.size !== gathered.objects.length)
    return lease.end((now) => inNextRound(now, { nowMs: deps.clock.nowMs() }));
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
