import { isOpen } from '../../domain/export/export-job.ts';
import { exportPrefix, workPrefix } from '../../domain/export/export-keys.ts';
import type { ExportPath } from '../../ports/export-jobs.ts';
import type { Deps } from '../deps.ts';

export type TidyDeps = Pick<Deps, 'archives' | 'exportJobs' | 'clock'>;

/** Aborts all uploads whose keys begin with a prefix. */
export async function abortUploads({ archives }: Pick<Deps, 'archives'>, prefix: string): Promise<void> {
  for await (const page of archives.uploads(prefix)) for (const upload of page) await archives.abort(upload);
}

/** Deletes all objects below a prefix. */
async function deleteBelow({ archives }: Pick<Deps, 'archives'>, prefix: string): Promise<void> {
  for await (const keys of archives.list(prefix)) await archives.delete(keys);
}

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
  if (job.state !== 'done') await deps.exportJobs.leavePlace(path);
  await deps.exportJobs.change(path, (now) =>
    now.state === job.state && !now.isTidy
      ? { ...now, isTidy: true, movedAtMs: deps.clock.nowMs() }
      : undefined,
  );
}
