import type { RepoRecord, TenantRecord } from '../../../domain/tenant.ts';
import { deletingMark, iso } from '../fields.ts';
import type { RepoBody } from './schemas.ts';

/** The repos that are shown: those with an object, and those that are being deleted until they are open again. */
export function reposBody(
  repos: readonly RepoRecord[],
  { fullCountedAtMs }: Pick<TenantRecord, 'fullCountedAtMs'>,
): RepoBody[] {
  return (
    repos
      // A repo is a path: with nothing below it there is none.
      .filter((repo) => repo.closedAtMs !== null || (repo.epoch > 0 && repo.objectCount > 0))
      .map(({ repo, epoch, storedBytes, objectCount, countedAtMs, closedAtMs }) => ({
        repo,
        // Deleted before it was ever counted: unknown, which is not zero.
        storedBytes: epoch > 0 ? storedBytes : null,
        objectCount: epoch > 0 ? objectCount : null,
        countedAt: epoch > 0 ? iso(Math.max(countedAtMs, fullCountedAtMs)) : null,
        ...deletingMark(closedAtMs),
      }))
  );
}
