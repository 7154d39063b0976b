import { isPublic, type PublicRead } from '../../../domain/public-read.ts';
import { isThere, type RepoRecord, type TenantRecord } from '../../../domain/tenant.ts';
import { deletingMark, iso } from '../fields.ts';
import type { RepoBody } from './schemas.ts';

type TenantOfRepos = Pick<TenantRecord, 'counted' | 'fullCountedAtMs' | 'repoLimits'>;
type RepoContext = TenantOfRepos & { readonly publicReads: readonly PublicRead[] };

/**
 * The repos that are shown: those that are there, have a limit or are public, and those that are being deleted until
 * they are open again.
 */
export function reposBody(repos: readonly RepoRecord[], { publicReads, ...tenant }: RepoContext): RepoBody[] {
  const publicByName = new Map(publicReads.map((publicRead) => [publicRead.repo, publicRead]));
  return repos.flatMap((record) => {
    const found = publicByName.get(record.repo);
    const publicRead = found && isPublic(found, record) ? found : undefined;
    const isShown =
      record.closedAtMs !== null || publicRead || isThere(record) || tenant.repoLimits.has(record.repo);
    return isShown ? repoBody(record, { tenant, publicRead }) : [];
  });
}

/** One of them. @param context.publicRead undefined: it is not public. */
export function repoBody(
  record: RepoRecord,
  { tenant, publicRead }: { tenant: TenantOfRepos; publicRead?: PublicRead | undefined },
): RepoBody {
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
    ...(publicRead && { publicRead: publicReadBody(publicRead) }),
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

export function publicReadBody({
  monthlyLimitBytes,
  sinceMs,
}: PublicRead): NonNullable<RepoBody['publicRead']> {
  return { monthlyLimitBytes, since: iso(sinceMs) };
}
