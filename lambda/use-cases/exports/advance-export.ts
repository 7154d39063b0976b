import type { Deps } from '../../deps.ts';
import {
  type ExportJob,
  type ExportPath,
  endedJob,
  failedJob,
  isFaultOfService,
  isOpen,
  openUnits,
  plannedAnew,
} from '../../domain/export/export-job.ts';
import { noteFailure } from '../../extras/status.ts';
import { SourceGoneError, UploadGoneError } from '../../ports/archive-store.ts';
import type { ExportMessage } from '../../ports/export-queue.ts';
import { finishArchives } from './finish-archives.ts';
import { ExportLease, LeaseLostError } from './lease.ts';
import { planArchives } from './plan-archives.ts';
import type { PlanDeps } from './plan-copies.ts';
import { planHashedArchives } from './plan-hashing.ts';
import { tidyUp } from './tidy-up.ts';

export type AdvanceDeps = PlanDeps & Pick<Deps, 'failures' | 'log'>;

/**
 * Does what comes next for an export: plans it, hands out what is still to be done, completes the archives, or removes
 * what is left of it. It may be asked at any time and any number of times.
 *
 * @returns the state in which the export is then. undefined: there is no such export.
 * @throws {ExportBusyError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError} It is to be asked again.
 */
export async function advanceExport(
  deps: AdvanceDeps,
  path: ExportPath,
): Promise<ExportJob['state'] | undefined> {
  const { job, lease } = await ExportLease.take(deps, path);
  if (!job) return undefined;
  if (lease) return goOn(deps, { job, lease });
  if (job.state === 'done') {
    if (job.isTidy && deps.clock.nowMs() < job.expiresAtMs) return job.state;
    await expire(deps, path);
  }
  return tidyUp(deps, path);
}

/**
 * Does what comes next for an open export whose lease the caller has.
 *
 * @returns the state in which it is then. undefined: there is no such export any more.
 * @throws {StoreUnavailableError} @throws {LedgerUnavailableError} It is to be asked again.
 */
export async function goOn(
  deps: AdvanceDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<ExportJob['state'] | undefined> {
  try {
    const next = await nextOf(deps, { job, lease });
    await lease.release();
    if (isOpen(next)) {
      await deps.exportQueue.send(messagesFor(next));
      return next.state;
    }
    if (isFaultOfService(next)) {
      const { tenant, exportId } = next;
      await noteFailure(deps, { kind: 'export', tenant, exportId, tries: 1, why: 'export' });
    }
  } catch (error) {
    if (!(error instanceof LeaseLostError)) {
      await lease.release();
      throw error;
    }
  }
  // Also after an end that somebody else brought about meanwhile: this function may have made something since.
  return tidyUp(deps, job);
}

async function nextOf(
  deps: AdvanceDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<ExportJob> {
  const nowMs = deps.clock.nowMs();
  if (nowMs >= job.endsByMs) {
    const message = 'The export took longer than it may. Export its repos one by one.';
    return lease.end((now) => failedJob(now, { nowMs, failure: { reason: 'timeout', message } }));
  }
  if (job.state === 'planning') return planArchives(deps, { job, lease });
  if (openUnits(job).length > 0) return job;
  if (job.state === 'copying') return finishArchives(deps, { job, lease });
  try {
    const planned = await planHashedArchives(deps, { job, lease });
    return planned ?? (await lease.end((now) => ({ ...now, doneUnits: '' })));
  } catch (error) {
    if (!(error instanceof SourceGoneError || error instanceof UploadGoneError)) throw error;
    return lease.end((now) => plannedAnew(now, { nowMs }));
  }
}

/** The messages by which an open export goes on. */
function messagesFor(job: ExportJob): ExportMessage[] {
  const { tenant, exportId, round, state } = job;
  if (state !== 'hashing' && state !== 'copying') return [{ tenant, exportId, step: { kind: 'advance' } }];
  return openUnits(job).map((unit) => ({ tenant, exportId, step: { kind: 'unit', round, state, unit } }));
}

/** Ends an export whose archive has been kept for long enough. */
async function expire({ exportJobs, clock }: AdvanceDeps, path: ExportPath): Promise<void> {
  const nowMs = clock.nowMs();
  await exportJobs.change(path, (job) =>
    job.state === 'done' && nowMs >= job.expiresAtMs ? endedJob(job, { state: 'expired', nowMs }) : undefined,
  );
}
