import type { ExportMessage } from '../../../../../lambda/subjects/exports/messages.ts';
import { type ExportJob, newExportJob } from '../../../../../lambda/subjects/exports/rules/job.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { ManualClock, memoryDeps, recordingJobs } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { wholeTenant as request } from '../../../../support/subjects/exports/export-request.ts';

/** A tenant with the repo `game`, in memory, and what its exports ask of the queue. */
export async function exportWorld(given: Partial<Deps> = {}) {
  const [clock, objects] = [new ManualClock(), new MemoryObjectStore()];
  const { queue, messages } = recordingJobs<ExportMessage>();
  const deps = memoryDeps({ clock, objects, exportQueue: queue, ...given });
  const owner = { tenant: 'acme', createdAtMs: clock.nowMs() };
  await deps.ledger.createTenant({
    ...owner,
    plan: null,
    limitBytes: null,
    scanned: null,
    dueAtMs: owner.createdAtMs,
  });
  objects.put(`acme/game/${'a'.repeat(64)}`, 7);
  return { deps, clock, objects, messages, owner };
}

/** A new job, with changes. */
export function jobOf(deps: Pick<Deps, 'clock'>, changes: Partial<ExportJob> = {}): ExportJob {
  const base = { tenant: 'acme', exportId: exportIdOf(0), request, nowMs: deps.clock.nowMs(), limitMs: 1000 };
  return { ...newExportJob(base), ...changes };
}

/** What a job has that was planned, where a test is about its units and its archives alone. */
export function plannedOf(
  given: Pick<NonNullable<ExportJob['planned']>, 'units' | 'volumes'>,
): NonNullable<ExportJob['planned']> {
  const none = { objectCount: 0, objectBytes: 0, missing: 0, conflicts: 0 };
  const figures = { archiveBytes: 0, throughBytes: 0, copiedBytes: 0, volumes: 0, shards: 0 };
  const calls = { gets: 0, uploads: 0, copies: 0, hashedBytes: 0 };
  return {
    way: 'stream',
    ...none,
    figures: { ...figures, ...calls },
    requests: 0,
    dollars: 0,
    seconds: 0,
    ...given,
  };
}

export const exportIdOf = (index: number) => index.toString(16).padStart(24, '0');

const placesMax = 1000;

/** Puts a job as it is, without anything that is asked of the queue. */
export async function putJob(deps: Pick<Deps, 'clock' | 'exportJobs'>, changes: Partial<ExportJob> = {}) {
  const job = jobOf(deps, changes);
  await deps.exportJobs.create(job, { placesMax, nowMs: deps.clock.nowMs() });
  return job;
}
