import type { Deps } from '../../deps.ts';
import { isOpen } from '../../domain/export/export-job.ts';
import { exportLimitMs } from '../../domain/export/export-settings.ts';
import { keyLifetimeMs } from '../../people/tenants.ts';
import { allExports } from '../exports/list-exports.ts';

/** Whether objects of a repo that may go since `dueAtMs` stay for now, because an export that is under way is to have them. */
export type Spared = (repo: string, dueAtMs: number) => boolean;

/**
 * What open exports of a tenant are to have. An export spares only what it found: one that was opened after a deletion
 * was due changes nothing. It ends within a day, so nothing is spared for longer, however many follow.
 *
 * @throws {LedgerUnavailableError}
 */
export async function sparedForExports(
  deps: Pick<Deps, 'exportJobs' | 'clock'>,
  tenant: string,
): Promise<Spared> {
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
}
