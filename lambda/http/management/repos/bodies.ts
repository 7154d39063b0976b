import { isThere, type RepoRecord, type TenantRecord } from '../../../domain/tenant.ts';
import { deletingMark, iso } from '../fields.ts';
import type { RepoBody } from './schemas.ts';

type TenantOfRepos = Pick<TenantRecord, 'counted' | 'fullCountedAtMs' | 'repoLimits'>;

/**
 * The repos that are shown: those that are there or have a limit, and those that are being deleted until they are open
 * again.
 */
export function reposBody(repos: readonly RepoRecord[], tenant: TenantOfRepos): RepoBody[] {
  return repos
    .filter((repo) => repo.closedAtMs !== null || isThere(repo) || tenant.repoLimits.has(repo.repo))
    .map((repo) => repoBody(repo, tenant));
}

/** One of them. */
export function repoBody(record: RepoRecord, tenant: TenantOfRepos): RepoBody {
  const { repo, storedBytes, objectCount, closedAtMs } = record;
  const countedAtMs = countedAtOf(record, tenant);
  const isCounted = countedAtMs !== null;
  return {
    repo,
    limitBytes: tenant.repoLimits.get(repo)?.limitBytes ?? null,
    storedBytes: isCounted ? storedBytes : null,
    objectCount: isCounted ? objectCount : null,
    countedAt: isCounted ? iso(countedAtMs) : null,
    ...deletingMark(closedAtMs),
  };
}

/** null: unknown, which is not zero. */
function countedAtOf(record: RepoRecord, { counted, fullCountedAtMs }: TenantOfRepos): number | null {
  if (record.epoch > 0) return Math.max(record.countedAtMs, fullCountedAtMs);
  // It was created, and no count of the tenant found anything in it.
  return record.createdAtMs === undefined || record.dirtyToken !== null
    ? null
    : (counted?.countedAtMs ?? null);
}
