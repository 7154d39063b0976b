import type { Deps } from '../../deps.ts';
import { type ExportJob, type ExportPath, endedJob, isOpen } from '../../domain/export/export-job.ts';
import { olderCrc32sPath } from '../../domain/export/export-keys.ts';
import { advanceOrLog } from './advance-or-log.ts';
import { allExports } from './list-exports.ts';

type CancelDeps = Pick<Deps, 'exportJobs' | 'exportQueue' | 'clock' | 'log'>;

/**
 * Ends an export that is open, or removes the archive of one that is done. What lies in the store is removed by a step
 * of its own; the place is free at once. One that has ended otherwise is left as it is.
 *
 * @returns the job as it is now. undefined: there is none.
 * @throws {LedgerUnavailableError}
 */
export async function cancelExport(deps: CancelDeps, path: ExportPath): Promise<ExportJob | undefined> {
  const nowMs = deps.clock.nowMs();
  const job = await deps.exportJobs.change(path, (before) => ended(before, nowMs));
  if (!job || job.isTidy) return job;
  // A request that is repeated does this again: it may have been lost.
  await deps.exportJobs.leavePlace(path);
  await advanceOrLog(deps, path);
  return job;
}

function ended(job: ExportJob, nowMs: number): ExportJob | undefined {
  if (isOpen(job)) return endedJob(job, { state: 'cancelled', nowMs });
  return job.state === 'done' ? endedJob(job, { state: 'expired', nowMs }) : undefined;
}

/**
 * Cancels what contains a repo, or anything of a tenant, that was deleted. Of a tenant also the archives that are done
 * go, and what older versions kept of it.
 *
 * @throws {LedgerUnavailableError} @throws when the queue did not accept a step.
 */
export async function cancelExportsOf(
  deps: CancelDeps,
  { tenant, repo }: { tenant: string; repo?: string },
): Promise<void> {
  for await (const { exportId, request, ...job } of allExports(deps, tenant)) {
    const isOfRepo = repo === undefined || request.repo === null || request.repo === repo;
    const isToGo = isOpen(job) || (repo === undefined && job.state === 'done');
    if (isOfRepo && isToGo) await cancelExport(deps, { tenant, exportId });
  }
  if (repo === undefined)
    await deps.exportQueue.send([{ ...olderCrc32sPath(tenant), step: { kind: 'forget' } }]);
}
