import { type ExportJob, type ExportVolume, plannedAnew } from '../../domain/export/export-job.ts';
import { hashesKey } from '../../domain/export/export-keys.ts';
import { type UploadedPart, UploadGoneError } from '../../ports/archive-store.ts';
import type { Deps } from '../deps.ts';
import { decodeJson } from './json-file.ts';
import type { ExportLease } from './lease.ts';

export type FinishDeps = Pick<Deps, 'archives' | 'exportJobs' | 'exportSettings' | 'clock' | 'log'>;

/**
 * Completes the archives of an export whose units are done. An earlier attempt may have completed some.
 *
 * @returns the job as it is then: `done`; `copying`, with all units open, if parts are missing; `planning` if an upload is
 * gone.
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
export async function finishArchives(
  deps: FinishDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<ExportJob> {
  const { clock, exportSettings } = deps;
  for (const volume of job.planned?.volumes ?? []) {
    const outcome = await completeVolume(deps, volume);
    await lease.renew();
    if (outcome === 'complete') continue;
    deps.log.warn('export not complete', { ...pathOf(job), round: job.round, reason: outcome });
    return lease.change((now) =>
      outcome === 'upload gone'
        ? plannedAnew(now, { nowMs: clock.nowMs() })
        : { ...now, doneUnits: '', movedAtMs: clock.nowMs() },
    );
  }
  return lease.change((now) => {
    const nowMs = clock.nowMs();
    return {
      ...now,
      state: 'done',
      endedAtMs: nowMs,
      expiresAtMs: nowMs + exportSettings.keepMs,
      movedAtMs: nowMs,
      failingSinceMs: null,
    };
  });
}

const pathOf = ({ tenant, exportId }: ExportJob) => ({ tenant, exportId });

async function completeVolume(
  { archives }: FinishDeps,
  volume: ExportVolume,
): Promise<'complete' | 'parts missing' | 'upload gone'> {
  const isThere = async () => (await archives.head(volume.key))?.sizeBytes === volume.sizeBytes;
  // An earlier attempt may have completed it.
  if (await isThere()) return 'complete';
  try {
    const parts: UploadedPart[] = [];
    for await (const page of archives.parts(volume)) parts.push(...page);
    if (!isComplete(volume, parts)) return 'parts missing';
    await archives.complete(volume, parts);
  } catch (error) {
    if (!(error instanceof UploadGoneError)) throw error;
    // Somebody else completed it meanwhile, or this did, and its answer was lost.
    return (await isThere()) ? 'complete' : 'upload gone';
  }
  const made = await archives.head(volume.key);
  if (made?.sizeBytes !== volume.sizeBytes)
    throw new Error(`An archive has ${made?.sizeBytes ?? 'no'} bytes instead of ${volume.sizeBytes}.`);
  return 'complete';
}

function isComplete(volume: ExportVolume, parts: readonly UploadedPart[]): boolean {
  const sizeBytes = parts.reduce((sum, part) => sum + part.sizeBytes, 0);
  const areInOrder = parts.every(({ number }, index) => number === index + 1);
  return areInOrder && parts.length === volume.parts && sizeBytes === volume.sizeBytes;
}

/**
 * What all units of hashing have found, by oid.
 *
 * @returns undefined if a result is not there: then the units are to be done again.
 */
export async function readHashes(
  { archives }: Pick<Deps, 'archives'>,
  job: ExportJob,
): Promise<Map<string, number> | undefined> {
  const hashes = new Map<string, number>();
  for (let unit = 0; unit < (job.planned?.units ?? 0); unit += 1) {
    const bytes = await archives.get(hashesKey(job, { ...job, unit }));
    if (!bytes) return undefined;
    for (const [oid, crc32] of decodeJson<[string, number][]>(bytes)) hashes.set(oid, crc32);
  }
  return hashes;
}
