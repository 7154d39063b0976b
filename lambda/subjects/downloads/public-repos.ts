import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { RepoPath, RepoRecord, TenantRecord } from '../../core/ledger/rules/tenant.ts';
import type { PublicRead } from '../../frame/access/rules/public-read.ts';
import { isInForce } from '../../frame/access/rules/repo-mark.ts';
import type { DownloadPorts } from './ports.ts';

/**
 * A repo, if anybody may download from it. For any other name an item is read for its own setting and what each other way to be
 * public reads first, whether or not there is such a tenant or repo: neither the answer nor its time tells more, and strangers
 * can make the table do no more than that.
 *
 * @throws {LedgerUnavailableError}
 */
export async function findPublicRepo(
  deps: Pick<CoreDeps, 'ledger'> & Pick<DownloadPorts, 'publicReads' | 'publicWays'>,
  path: RepoPath,
): Promise<
  | { readonly tenant: TenantRecord; readonly repo: RepoRecord | undefined; readonly publicRead: PublicRead }
  | undefined
> {
  const { publicReads, publicWays, ledger } = deps;
  const [own, ...ways] = await Promise.all([publicReads.find(path), ...publicWays.map((way) => way(path))]);
  if (!own && !ways.some(Boolean)) return undefined;
  const [tenant, repo] = await Promise.all([ledger.readTenant(path.tenant), ledger.readRepo(path)]);
  if (!tenant || tenant.closedAtMs !== null) return undefined;
  if (own && isInForce(own, repo)) return { tenant, repo, publicRead: own };
  for (const way of ways) {
    const publicRead = await way?.(repo);
    if (publicRead) return { tenant, repo, publicRead };
  }
  return undefined;
}
