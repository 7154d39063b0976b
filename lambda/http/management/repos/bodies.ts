import { deletingMark, iso } from '../../../api/contract/fields.ts';
import type { MappedRepo } from '../../../domain/git-host.ts';
import type { PublicRead } from '../../../domain/public-read.ts';
import { isInForce } from '../../../domain/repo-mark.ts';
import { pointBefore } from '../../../domain/stored-points.ts';
import { isThere, type RepoRecord, type TenantRecord, unknownRepo } from '../../../domain/tenant.ts';
import type { RepoBody } from './schemas.ts';

type TenantOfRepos = Pick<TenantRecord, 'counted' | 'fullCountedAtMs' | 'repoLimits'>;
type RepoContext = TenantOfRepos & {
  /** Such as `2026-11-21`. */
  readonly today: string;
  readonly publicReads: readonly PublicRead[];
  /** Omitted: what is mapped is not shown. */
  readonly mappedRepos?: readonly MappedRepo[];
};

/**
 * The repos that are shown: those that are there, have a limit, are public or mapped, and those that are being deleted until
 * they are open again.
 */
export function reposBody(
  repos: readonly RepoRecord[],
  { today, publicReads, mappedRepos = [], ...tenant }: RepoContext,
): RepoBody[] {
  const mappedByName = new Map(mappedRepos.map((mapped) => [mapped.repo, mapped]));
  const publicByName = new Map(publicReads.map((publicRead) => [publicRead.repo, publicRead]));
  return repos.flatMap((record) => {
    const found = publicByName.get(record.repo);
    const publicRead = found && isInForce(found, record) ? found : undefined;
    const hosted = mappedByName.get(record.repo);
    const mapped = hosted && isInForce(hosted, record) ? hosted : undefined;
    const isShown =
      record.closedAtMs !== null ||
      publicRead ||
      mapped ||
      isThere(record) ||
      tenant.repoLimits.has(record.repo);
    return isShown ? repoBody(record, { today, tenant, publicRead, mapped }) : [];
  });
}

/** One of them. @param context.publicRead undefined: it is not public. @param context.mapped undefined: it is not mapped. */
export function repoBody(
  record: RepoRecord,
  context: {
    tenant: TenantOfRepos;
    /** Omitted: it was created just now, or there is no such repo any more. */
    today?: string;
    publicRead?: PublicRead | undefined;
    mapped?: MappedRepo | undefined;
  },
): RepoBody {
  const { tenant, today, publicRead, mapped } = context;
  const { repo, storedBytes, objectCount, closedAtMs } = record;
  const countedAtMs = countedAtOf(record, tenant);
  const isCounted = countedAtMs !== null;
  const before = today !== undefined && record.epoch > 0 ? pointBefore(record, today) : undefined;
  return {
    repo,
    limitBytes: tenant.repoLimits.get(repo)?.limitBytes ?? null,
    storedBytes: isCounted ? storedBytes : null,
    objectCount: isCounted ? objectCount : null,
    countedAt: isCounted ? iso(countedAtMs) : null,
    ...(before && { before }),
    ...deletingMark(closedAtMs),
    ...(publicRead && { publicRead: publicReadBody(publicRead) }),
    ...(mapped && { gitHost: mappedBody(mapped) }),
  };
}

/** A repo that was just pushed to: no recount has seen anything in it yet. */
export function uploadingBody(repo: string, tenant: TenantOfRepos): RepoBody {
  return { ...repoBody(unknownRepo(repo), { tenant }), uploading: true };
}

/** null: unknown, which is not zero. */
function countedAtOf(record: RepoRecord, { counted, fullCountedAtMs }: TenantOfRepos): number | null {
  if (record.epoch > 0) return Math.max(record.countedAtMs, fullCountedAtMs);
  // It was created, and no count of the tenant found anything in it.
  return record.createdAtMs === undefined || record.dirtyToken !== null
    ? null
    : (counted?.countedAtMs ?? null);
}

export function mappedBody({ host, name, hostedId, sinceMs }: MappedRepo): NonNullable<RepoBody['gitHost']> {
  return { host, repo: name, repoId: hostedId, since: iso(sinceMs) };
}

export function publicReadBody({
  monthlyLimitBytes,
  sinceMs,
}: PublicRead): NonNullable<RepoBody['publicRead']> {
  return { monthlyLimitBytes, since: iso(sinceMs) };
}
