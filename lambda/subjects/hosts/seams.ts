import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { Belongings } from '../../core/ledger/seams.ts';
import { markBelongings } from '../../frame/access/repo-mark-store.ts';
import type { Caller } from '../../frame/access/rules/tokens.ts';
import type { LoginWay } from '../../frame/lfs/seams.ts';
import { authenticateHostUser, type HostUserDeps, isForHosts } from './authenticate-host-user.ts';
import type { HostPorts } from './ports.ts';
import type { HostGrant } from './rules/host-client.ts';
import { linkedRepos, tenantLinks } from './stores.ts';

/** A repo is linked no more when its name is used again. */
export function hostBelongings({
  linkedRepos,
  tenantLinks,
  clock,
}: Pick<CoreDeps, 'clock'> & Pick<HostPorts, 'linkedRepos' | 'tenantLinks'>): Belongings {
  const ofMarks = markBelongings(linkedRepos, clock);
  return {
    ...ofMarks,
    closeTenant: async (tenant) => {
      await ofMarks.closeTenant(tenant);
      await tenantLinks.end({ tenant, atMs: clock.nowMs() });
    },
    forgetTenant: async ({ tenant }) => {
      const { hasMore } = await tenantLinks.endSomePins({ tenant, atMs: clock.nowMs() });
      return hasMore ? 'unfinished' : 'done';
    },
  };
}

/** Users of the host that a repo is linked to log in with their tokens for it. */
export function hostLogin(deps: HostUserDeps): LoginWay {
  const { gitHosts } = deps;
  return {
    names: gitHosts.map(({ id }) => id),
    takes: (credential) => isForHosts(deps, credential),
    login: async ({ authorization, ...asked }) => {
      const outcome = await authenticateHostUser(deps, asked);
      if (outcome.kind !== 'granted') return outcome;
      const { grant, link, tenant, repo: repoRecord } = outcome;
      const isRead = link.readThrough && gitHosts.some(({ id }) => id === link.host);
      const upstream = isRead ? { host: link.host, name: link.name, authorization } : undefined;
      return { kind: 'granted', token: callerOf(grant), tenant, repoRecord, upstream };
    },
  };
}

/** A person as whoever has a token: for this one repo, and never to manage anything. */
function callerOf({ hostUser, access }: HostGrant): Caller {
  return { tokenId: hostUser.id, scope: access, user: null, label: null, hostUser };
}

export const hostReconciles = { belongings: hostBelongings, stores: { linkedRepos, tenantLinks } };
