import { json, noContent, type Refusal } from '../../frame/api/http.ts';
import { problem } from '../../frame/api/problems.ts';
import { iso } from '../../frame/contract/fields.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import { type TenantLinkBody, tenantLinkContract } from './contract.ts';
import type { HostPorts } from './ports.ts';
import { unknownGitHost } from './repo-parts.ts';
import { isLinkedName, type TenantLink } from './rules/git-hosts.ts';
import { wrongCeiling } from './rules/public-read.ts';
import { linkTenant } from './tenant-links.ts';

type Needs = Pick<HostPorts, 'gitHosts' | 'tenantLinks'>;

export const tenantLinkOperations = operationsFor<Needs>()(tenantLinkContract, {
  'GET /v1/tenants/{tenant}/git-host': async (deps, { tenant: { tenant } }) => {
    const link = await deps.tenantLinks.find(tenant);
    return link ? json(200, linkBody(tenant, link)) : linkNotFound(tenant);
  },

  'PUT /v1/tenants/{tenant}/git-host': async (deps, { tenant: account, isAdmin, body, trail }) => {
    const { tenant } = account;
    const { publicRead = null, readThrough = false, ...place } = body;
    const host = deps.gitHosts.find(({ id }) => id === body.host);
    if (!host) return unknownGitHost(deps, 'host');
    if (!isLinkedName(`${body.organization}/repo`, host.kind))
      return problem('invalid-body', 'organization: must be the name of one, such as acme, without a URL.');
    const aboveCeiling =
      isAdmin || !publicRead ? undefined : wrongCeiling(deps.settings, { tenant: account, publicRead });
    if (aboveCeiling !== undefined) return problem('scope-too-small', aboveCeiling);
    const { before, after } = await linkTenant(deps, { tenant, to: { ...place, publicRead, readThrough } });
    if (!after) throw new Error('A link that was written vanished.');
    if (before) trail.was(linkBody(tenant, before));
    trail.became(linkBody(tenant, after));
    return json(200, linkBody(tenant, after));
  },

  'DELETE /v1/tenants/{tenant}/git-host': async (deps, { tenant: { tenant }, trail }) => {
    const before = await deps.tenantLinks.end({ tenant, atMs: deps.clock.nowMs() });
    if (!before) return linkNotFound(tenant);
    trail.was(linkBody(tenant, before));
    return noContent();
  },
});

function linkBody(tenant: string, link: TenantLink): TenantLinkBody {
  const { host, organization, publicRead, readThrough, sinceMs } = link;
  return {
    tenant,
    host,
    organization,
    publicRead,
    ...(readThrough && { readThrough }),
    since: iso(sinceMs),
  };
}

function linkNotFound(tenant: string): Refusal {
  return problem('tenant-not-linked', `${tenant} isn't linked to an organization.`);
}
