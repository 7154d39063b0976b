import type { Deps } from '../../deps.ts';
import type { PublicRead } from '../../domain/public-read.ts';
import { isInForce } from '../../domain/repo-mark.ts';
import type { RepoPath, RepoRecord, TenantRecord } from '../../domain/tenant.ts';

/**
 * A repo, if anybody may download from it. For any other name one item is read, whether or not there is such a tenant or
 * repo: neither the answer nor its time tells, and strangers can make the table do no more than that.
 *
 * @throws {LedgerUnavailableError}
 */
export async function findPublicRepo(
  { publicReads, ledger }: Pick<Deps, 'publicReads' | 'ledger'>,
  path: RepoPath,
): Promise<
  | { readonly tenant: TenantRecord; readonly repo: RepoRecord | undefined; readonly publicRead: PublicRead }
  | undefined
> {
  const publicRead = await publicReads.find(path);
  if (!publicRead) return undefined;
  const [tenant, repo] = await Promise.all([ledger.readTenant(path.tenant), ledger.readRepo(path)]);
  if (!tenant || tenant.closedAtMs !== null || !isInForce(publicRead, repo)) return undefined;
  return { tenant, repo, publicRead };
}
