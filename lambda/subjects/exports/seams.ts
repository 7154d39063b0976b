import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { Belongings, Hold } from '../../core/ledger/seams.ts';
import { keyLifetimeMs } from '../../frame/access/request-keys.ts';
import type { AuditEntry } from '../../frame/access/rules/audit.ts';
import type { FailureKind } from '../../frame/failures/rules/failures.ts';
import type { AuditPart } from '../../frame/management/seams.ts';
import type { ExportPorts } from './ports.ts';
import { type ExportJob, isOpen } from './rules/job.ts';
import { exportLimitMs } from './rules/settings.ts';
import { allExports, cancelExportsOf } from './start.ts';
import * as stores from './stores.ts';

/**
 * What open exports of a tenant are to have stays. An export spares only what it found: one that was opened after a deletion
 * was due changes nothing. It ends within a day, so nothing is spared for longer, however many follow.
 */
function exportHold(deps: Pick<CoreDeps, 'clock'> & Pick<ExportPorts, 'exportJobs'>): Hold {
  return {
    spared: async (tenant) => {
      const nowMs = deps.clock.nowMs();
      /** Repo, or null for all of them → when the oldest of its open exports was opened. */
      const openedMs = new Map<string | null, number>();
      for await (const job of allExports(deps, tenant)) {
        // The newest ids come first. One was opened up to a day after its id was made, and isn't open a day later.
        if (job.createdAtMs + keyLifetimeMs + exportLimitMs < nowMs) break;
        if (isOpen(job) && job.endsByMs > nowMs && !job.request.isDryRun)
          openedMs.set(
            job.request.repo,
            Math.min(job.createdAtMs, openedMs.get(job.request.repo) ?? job.createdAtMs),
          );
      }
      return (repo, dueAtMs) =>
        [null, repo].some((of) => (openedMs.get(of) ?? Number.POSITIVE_INFINITY) <= dueAtMs);
    },
  };
}

/** An export that failed was to be started again by then, or nobody needs it. */
const failedForMs = 24 * 60 * 60_000;

/** A later export of the repo, or of all, may have made the archive of one that failed, even if that expired since. */
export function exportFailures({ exportJobs }: Pick<ExportPorts, 'exportJobs'>): FailureKind {
  return {
    kind: 'export',
    isOver: async ({ tenant, exportId = '', atMs }, nowMs) => {
      // No tenant can start more until it is over by itself.
      const { jobs } = await exportJobs.list({ tenant, pageSize: 100 });
      const repos = [null, jobs.find((job) => job.exportId === exportId)?.request.repo];
      const made = jobs.filter(({ state }) => state === 'done' || state === 'expired');
      const isMade = made.some((job) => job.exportId > exportId && repos.includes(job.request.repo));
      return isMade || nowMs - atMs > failedForMs;
    },
  };
}

/** What is being exported of a repo or a tenant ends with it. */
export function exportBelongings(
  deps: Parameters<typeof cancelExportsOf>[0] & Pick<ExportPorts, 'exportSettings'>,
): Belongings {
  if (!makesExports(deps)) return {};
  return {
    closeRepo: (path) => cancelExportsOf(deps, path),
    closeTenant: (tenant) => cancelExportsOf(deps, { tenant }),
  };
}

/** Whether the stage has workers for exports. */
export function makesExports({ exportSettings }: Pick<ExportPorts, 'exportSettings'>): boolean {
  return exportSettings.pace.workers > 0;
}

/** How exports that were started are now, or ended. Of those that aren't kept any more, nothing tells that. */
export const exportAudit =
  ({ exportJobs }: Pick<ExportPorts, 'exportJobs'>): AuditPart =>
  async ({ tenant, entries }) => {
    const exportIds = [...new Set(entries.flatMap(startedBy))];
    const jobs = await exportJobs.readSome({ tenant, exportIds });
    return entries.map((entry) => withEnd(entry, jobs));
  };

const startedBy = ({ action, after }: AuditEntry) =>
  action === 'export.start' && after ? [String(after['exportId'])] : [];

function withEnd(entry: AuditEntry, jobs: readonly ExportJob[]): AuditEntry {
  if (entry.action !== 'export.start' || entry.after === null) return entry;
  const { state: _, ...after } = entry.after;
  const job = jobs.find(({ exportId }) => exportId === after['exportId']);
  return { ...entry, after: { ...after, ...(job && { state: job.state }) } };
}

export const exportReconciles = { holds: exportHold, stores };
