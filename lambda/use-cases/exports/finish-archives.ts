import type { Deps } from '../../deps.ts';
import { type ExportJob, type ExportVolume, plannedAnew } from '../../domain/export/export-job.ts';
import { type UploadedPart, UploadGoneError } from '../../ports/archive-store.ts';
import { mapLimited } from '../../rules/async.ts';
import type { ExportLease } from './lease.ts';

/** Parts that a store tells in one answer. */
const partsOfPage = 1000;
/** As many as an upload can have. */
const pagesAtOnce = 10;

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
    return lease.end((now) =>
      outcome === 'upload gone'
        ? plannedAnew(now, { nowMs: clock.nowMs() })
        : { ...now, doneUnits: '', movedAtMs: clock.nowMs() },
    );
  }
  return lease.end((now) => {
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
  try {
    const parts = await partsOf(archives, volume);
    // A store may still answer for an upload that an earlier attempt has completed.
    if (!isComplete(volume, parts)) return (await isThere()) ? 'complete' : 'parts missing';
    await archives.complete(volume, parts);
  } catch (error) {
    if (!(error instanceof UploadGoneError)) throw error;
    // Somebody else completed it, or this did, and its answer was lost.
    return (await isThere()) ? 'complete' : 'upload gone';
  }
  const made = await archives.head(volume.key);
  if (made?.sizeBytes !== volume.sizeBytes)
    throw new Error(`An archive has ${made?.sizeBytes ?? 'no'} bytes instead of ${volume.sizeBytes}.`);
  return 'complete';
}

/** All parts of an upload. Its pages are asked for at the same time, as its parts have the numbers from 1 on. */
async function partsOf(archives: Deps['archives'], volume: ExportVolume): Promise<UploadedPart[]> {
  const stretches = Math.max(1, Math.ceil(volume.parts / partsOfPage));
  const starts = Array.from({ length: stretches }, (_, stretch) => stretch * partsOfPage);
  const found = await mapLimited(starts, pagesAtOnce, async (after) => {
    const isLast = after === starts.at(-1);
    const end = isLast ? Number.POSITIVE_INFINITY : after + partsOfPage;
    const parts: UploadedPart[] = [];
    for await (const page of archives.parts(volume, { after })) {
      parts.push(...page.filter(({ number }) => number <= end));
      if ((page.at(-1)?.number ?? 0) >= end) break;
    }
    return parts;
  });
  return found.flat();
}

function isComplete(volume: ExportVolume, parts: readonly UploadedPart[]): boolean {
  const sizeBytes = parts.reduce((sum, part) => sum + part.sizeBytes, 0);
  const areInOrder = parts.every(({ number }, index) => number === index + 1);
  return areInOrder && parts.length === volume.parts && sizeBytes === volume.sizeBytes;
}
