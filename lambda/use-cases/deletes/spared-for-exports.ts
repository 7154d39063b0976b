import { isOpen } from '../../domain/export/export-job.ts';
import { exportLimitMs } from '../../domain/export/export-settings.ts';
import type { Deps } from '../deps.ts';
import { allExports } from '../exports/list-exports.ts';

/**
 * Which repos of a tenant must not lose objects now, because an export that is under way is to have them. Such an export
 * ends within a day, and nobody can keep objects for longer with the same one.
 *
 * @throws {LedgerUnavailableError}
 */
export async function sparedForExports(
  deps: Pick<Deps, 'exportJobs' | 'clock'>,
  tenant: string,
): Promise<(repo: string) => boolean> {
  const nowMs = deps.clock.nowMs();
  const repos = new Set<string | null>();
  for await (const job of allExports(deps, tenant)) {
    // The newest come first, and no older one can still be open.
    if (job.createdAtMs + exportLimitMs < nowMs) break;
    if (isOpen(job) && job.endsByMs > nowMs && !job.request.isDryRun) repos.add(job.request.repo);
  }
  return (repo) => repos.has(null) || repos.has(repo);
}
