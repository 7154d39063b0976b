import { isPublic, type PublicRead } from '../../../domain/public-read.ts';
import type { RepoRecord, TenantRecord } from '../../../domain/tenant.ts';
import { deletingMark, iso } from '../fields.ts';
import type { RepoBody } from './schemas.ts';

/**
 * The repos that are shown: those with an object, those that are public, and those that are being deleted until they are
 * open again.
 */
export function reposBody(
  repos: readonly RepoRecord[],
  {
    fullCountedAtMs,
    publicReads,
  }: Pick<TenantRecord, 'fullCountedAtMs'> & { readonly publicReads: readonly PublicRead[] },
): RepoBody[] {
  const publicByName = new Map(publicReads.map((publicRead) => [publicRead.repo, publicRead]));
  return repos.flatMap((record) => {
    const { repo, epoch, storedBytes, objectCount, countedAtMs, closedAtMs } = record;
    const found = publicByName.get(repo);
    const publicRead = found && isPublic(found, record) ? found : undefined;
    // A repo is a path: with nothing below it there is none.
    if (closedAtMs === null && !publicRead && (epoch === 0 || objectCount === 0)) return [];
    return {
      repo,
      // Not counted yet: unknown, which is not zero.
      storedBytes: epoch > 0 ? storedBytes : null,
      objectCount: epoch > 0 ? objectCount : null,
      countedAt: epoch > 0 ? iso(Math.max(countedAtMs, fullCountedAtMs)) : null,
      ...deletingMark(closedAtMs),
      ...(publicRead && { publicRead: publicReadBody(publicRead) }),
    };
  });
}

export function publicReadBody({
  monthlyLimitBytes,
  sinceMs,
}: PublicRead): NonNullable<RepoBody['publicRead']> {
  return { monthlyLimitBytes, since: iso(sinceMs) };
}
