import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { RepoPath, RepoRecord } from '../../core/ledger/rules/tenant.ts';
import { isInForce } from '../../frame/access/rules/repo-mark.ts';
import type { HostPorts } from './ports.ts';
import { isPinInForce, type LinkedRepo, type PinnedRepo, type TenantLink } from './rules/git-hosts.ts';
import type { HostAnswer } from './rules/host-client.ts';

/** What a repo is linked to, by itself or by its tenant. */
export type RepoLink = LinkedRepo & {
  /** undefined: the repo is linked itself. */
  readonly ofTenant?: TenantLink;
};

/**
 * What a repo is linked to. Two items are read, whether or not there is such a tenant or repo.
 *
 * @throws {LedgerUnavailableError}
 */
export async function findLink(
  { linkedRepos, tenantLinks }: Pick<HostPorts, 'linkedRepos' | 'tenantLinks'>,
  { tenant, repo }: RepoPath,
): Promise<RepoLink | undefined> {
  const [own, ofTenant] = await Promise.all([linkedRepos.find({ tenant, repo }), tenantLinks.find(tenant)]);
  if (own || !ofTenant) return own;
  const { host, organization, readThrough, sinceMs } = ofTenant;
  return { repo, host, name: `${organization}/${repo}`, linkedId: null, readThrough, sinceMs, ofTenant };
}

/** Whether it holds for the repo. A deleted one that is opened again is linked by its tenant, as any. */
export function isLinkInForce(link: RepoLink, record: RepoRecord | undefined): boolean {
  return link.ofTenant ? typeof record?.closedAtMs !== 'number' : isInForce(link, record);
}

/**
 * Links a tenant to an organization, or changes the options of its link. One to the same organization keeps what was noted.
 *
 * @returns what it was, and what holds now. @throws {LedgerUnavailableError}
 */
export async function linkTenant(
  { tenantLinks, clock }: Pick<CoreDeps, 'clock'> & Pick<HostPorts, 'tenantLinks'>,
  {
    tenant,
    to,
  }: { tenant: string; to: Pick<TenantLink, 'host' | 'organization' | 'publicRead' | 'readThrough'> },
): Promise<{ before: TenantLink | undefined; after: TenantLink | undefined }> {
  const before = await tenantLinks.find(tenant);
  const nowMs = clock.nowMs();
  const after = await tenantLinks.change(tenant, (found) => {
    if (found?.host === to.host && found.organization === to.organization) return { ...found, ...to };
    const sinceMs = Math.max(nowMs, (found?.sinceMs ?? 0) + 1);
    return { ...to, organizationId: null, sinceMs, pinnedCount: found?.pinnedCount ?? 0 };
  });
  return { before, after };
}

/** What is public there is asked for this often, for those who have no token. */
export const publicAskedMs = 60 * 60_000;

/**
 * Notes the number of a repository at its first use, and whether anybody may read it there.
 *
 * @returns the number that was noted first. undefined: the link has changed, too many repositories were used, or it's one
 * of another organization that has the name now.
 * @throws {LedgerUnavailableError}
 */
export async function pinRepository(
  { tenantLinks, clock }: Pick<CoreDeps, 'clock'> & Pick<HostPorts, 'tenantLinks'>,
  used: RepoPath & {
    link: TenantLink;
    record: RepoRecord | undefined;
    answer: Pick<Extract<HostAnswer, { kind: 'granted' }>, 'linkedId' | 'organizationId' | 'isPublic'>;
  },
): Promise<Pick<LinkedRepo, 'linkedId' | 'sinceMs'> | undefined> {
  const { tenant, repo, link, answer } = used;
  const { linkedId, organizationId, isPublic } = answer;
  const isKnown = (pin: PinnedRepo | undefined) => pin !== undefined && isPinInForce(pin, used);
  const found = await tenantLinks.findPin({ tenant, repo });
  const { sinceMs } = link;
  if (!isKnown(found) && !(await tenantLinks.countPin({ tenant, sinceMs, organizationId }))) return undefined;
  const nowMs = clock.nowMs();
  const isSaid = isKnown(found) && found?.isPublic === isPublic;
  const pin = isSaid
    ? found
    : await tenantLinks.changePin({ tenant, repo }, (before) => {
        if (isKnown(before) && before?.linkedId !== linkedId) return undefined;
        const sinceMs = before && isKnown(before) ? before.sinceMs : nowMs;
        const said = { isPublic, saidMs: nowMs, askAgainMs: nowMs + publicAskedMs };
        return { linkedId, linkSinceMs: link.sinceMs, sinceMs, ...said };
      });
  return pin && { linkedId: pin.linkedId, sinceMs: pin.linkSinceMs };
}
