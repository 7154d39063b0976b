import type { Deps } from '../../deps.ts';
import { type ExportJob, type ExportPath, isOpen } from '../../domain/export/export-job.ts';
import { exportPrefix, olderCrc32sPath, workPrefix } from '../../domain/export/export-keys.ts';
import { abortUploads, deleteBelow } from './below.ts';

export type TidyDeps = Pick<Deps, 'archives' | 'exportJobs' | 'clock'>;

/**
 * Removes what an export that has ended does not need any more: of one that is done, everything but its archives. May be
 * repeated.
 *
 * @returns the state in which it is. undefined: there is no such export.
 */
export async function tidyUp(
  deps: TidyDeps,
  { tenant, exportId }: ExportPath,
): Promise<ExportJob['state'] | undefined> {
  const path = { tenant, exportId };
  const job = await deps.exportJobs.read(path);
  if (!job || isOpen(job)) return job?.state;
  // First: a part that comes afterwards has no upload to go to.
  await abortUploads(deps, exportPrefix(path));
  await deleteBelow(deps, job.state === 'done' ? workPrefix(path) : exportPrefix(path));
  if (job.request.format === 'zip') await deleteBelow(deps, exportPrefix(olderCrc32sPath(tenant)));
  if (job.state !== 'done') await deps.exportJobs.leavePlace(path);
  const tidy = await deps.exportJobs.change(path, (now) =>
    now.state === job.state && !now.isTidy
      ? { ...now, isTidy: true, movedAtMs: deps.clock.nowMs() }
      : undefined,
  );
  return tidy?.state;
}
