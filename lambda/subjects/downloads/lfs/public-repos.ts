import type { CoreDeps } from '../../../core/ledger/core-deps.ts';
import type { RepoPath, RepoRecord, TenantRecord } from '../../../core/ledger/rules/tenant.ts';
import { isInForce } from '../../../frame/access/rules/repo-mark.ts';
import type { PublicRead } from '../../hosts/rules/public-read.ts';
import type { DownloadPorts } from '../ports.ts';
import { type PublicByLinkDeps, publicByLink } from './public-by-link.ts';

/**
 * A repo, if anybody may download from it, by its own setting or by its tenant's link. For any other name two items are read, whether
 * or not there is such a tenant or repo: neither the answer nor its time tells more, and strangers can make the table do no more than
 * that.
 *
 * @throws {LedgerUnavailableError}
 */
export async function findPublicRepo(
  deps: Pick<CoreDeps, 'ledger'> & Pick<DownloadPorts, 'publicReads'> & PublicByLinkDeps,
  path: RepoPath,
): Promise<
  | { readonly tenant: TenantRecord; readonly repo: RepoRecord | undefined; readonly publicRead: PublicRead }
  | undefined
> {
  const { publicReads, tenantLinks, ledger } = deps;
  const [own, link] = await Promise.all([publicReads.find(path), tenantLinks.find(path.tenant)]);
  if (!own && !link?.publicRead) return undefined;
  const [tenant, repo] = await Promise.all([ledger.readTenant(path.tenant), ledger.readRepo(path)]);
  if (!tenant || tenant.closedAtMs !== null) return undefined;
  if (own && isInForce(own, repo)) return { tenant, repo, publicRead: own };
  const publicRead = link && (await publicByLink(deps, { ...path, link, record: repo }));
  return publicRead && { tenant, repo, publicRead };
}
