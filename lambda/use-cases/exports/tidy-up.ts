import { isOpen } from '../../domain/export/export-job.ts';
import { exportPrefix, workPrefix } from '../../domain/export/export-keys.ts';
import type { ExportPath } from '../../ports/export-jobs.ts';
import type { Deps } from '../deps.ts';
import { abortUploads, deleteBelow } from './below.ts';
import { forgetCrc32s } from './kept-crc32s.ts';

export type TidyDeps = Pick<Deps, 'archives' | 'exportJobs' | 'clock'>;

/**
 * Removes what an export that has ended does not need any more: of one that is done, everything but its archives. May be
 * repeated.
 */
export async function tidyUp(deps: TidyDeps, path: ExportPath): Promise<void> {
  const job = await deps.exportJobs.read(path);
  if (!job || isOpen(job)) return;
  // First: a part that comes afterwards has no upload to go to.
  await abortUploads(deps, exportPrefix(path));
  await deleteBelow(deps, job.state === 'done' ? workPrefix(path) : exportPrefix(path));
  // Its tenant may have been deleted, and it may have kept something since.
  if (job.state === 'cancelled' && job.request.format === 'zip') await forgetCrc32s(deps, path.tenant);
  if (job.state !== 'done') await deps.exportJobs.leavePlace(path);
  await deps.exportJobs.change(path, (now) =>
    now.state === job.state && !now.isTidy
      ? { ...now, isTidy: true, movedAtMs: deps.clock.nowMs() }
      : undefined,
  );
}
