import { iso } from '../../../api/contract/fields.ts';
import { type ExportJob, isUnitDone } from '../../../domain/export/export-job.ts';
import type { Deps } from '../../../use-cases/deps.ts';
import type { ExportBody } from './schemas.ts';

/** @param archives with URLs. Without it they are shown without. */
export function exportBody(job: ExportJob, archives = archivesOf(job)): ExportBody {
  const { request, failure } = job;
  return {
    exportId: job.exportId,
    tenant: job.tenant,
    repo: request.repo,
    by: job.by,
    listedObjects: request.listedObjects,
    named: request.isNamed,
    format: request.format,
    dryRun: request.isDryRun,
    state: job.state,
    createdAt: iso(job.createdAtMs),
    endedAt: job.endedAtMs === null ? null : iso(job.endedAtMs),
    expiresAt: iso(job.expiresAtMs),
    progress: progressBody(job),
    plan: planBody(job),
    failure: failure && { reason: failure.reason, message: failure.message },
    archives,
    countsAgainstQuota: false,
  };
}

/** The archives of an export that is done, each with a URL to download it. */
export async function signedArchives(
  { signer, clock, settings }: Pick<Deps, 'signer' | 'clock' | 'settings'>,
  job: ExportJob,
): Promise<ExportBody['archives']> {
  const signedAtMs = clock.nowMs();
  const lifetimeMs = settings.urlLifetimeMs;
  const urlExpiresAt = iso(signedAtMs + lifetimeMs);
  return Promise.all(
    volumesOf(job).map(async ({ key, sizeBytes }) => {
      const { href } = await signer.signDownload({ key, signedAtMs, lifetimeMs });
      return { name: nameOf(key), sizeBytes, url: href, urlExpiresAt };
    }),
  );
}

function archivesOf(job: ExportJob): ExportBody['archives'] {
  return volumesOf(job).map(({ key, sizeBytes }) => ({
    name: nameOf(key),
    sizeBytes,
    url: null,
    urlExpiresAt: null,
  }));
}

const volumesOf = ({ state, planned }: ExportJob) => (state === 'done' ? (planned?.volumes ?? []) : []);

const nameOf = (key: string) => key.slice(key.lastIndexOf('/') + 1);

function progressBody(job: ExportJob): ExportBody['progress'] {
  const units = job.planned?.units ?? 0;
  let unitsDone = 0;
  for (let unit = 0; unit < units; unit += 1) if (isUnitDone(job, unit)) unitsDone += 1;
  const { uploadedBytes, copiedBytes, hashedBytes, requests } = job.progress;
  return { share: shareOf(job), uploadedBytes, copiedBytes, hashedBytes, requests, unitsDone, units };
}

/** Of the bytes that are to be hashed, copied and uploaded. Work that was done twice counts twice. */
function shareOf({ state, planned, progress, request }: ExportJob): number | null {
  if (state === 'done' || state === 'explained' || state === 'expired') return 1;
  if (!planned) return null;
  const bytes = planned.figures.throughBytes + planned.figures.copiedBytes;
  const all = bytes + (request.format === 'zip' ? planned.objectBytes : 0);
  const done = progress.uploadedBytes + progress.copiedBytes + progress.hashedBytes;
  return all === 0 ? null : Math.min(1, done / all);
}

function planBody({ planned }: ExportJob): ExportBody['plan'] {
  if (!planned) return null;
  const { way, objectCount, objectBytes, missing, conflicts, figures, requests, dollars, seconds } = planned;
  const { archiveBytes, throughBytes, copiedBytes, volumes, shards } = figures;
  const known = { way, objectCount, objectBytes, missing, conflicts };
  const bytes = { archiveBytes, uploadedBytes: throughBytes, copiedBytes };
  return { ...known, ...bytes, archives: volumes, shards, requests, dollars, seconds };
}
