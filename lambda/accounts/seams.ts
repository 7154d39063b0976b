import type { CoreDeps } from '../ledger/core-deps.ts';
import type { Belongings } from '../ledger/seams.ts';
import { mapLimited } from '../rules/async.ts';
import type { AccountPorts } from './ports.ts';

type EndDeps = Pick<CoreDeps, 'clock'> & Pick<AccountPorts, 'publicReads' | 'linkedRepos' | 'tenantLinks'>;

/** A repo is neither public nor linked any more when its name is used again. */
export function accountBelongings(deps: EndDeps): Belongings {
  return {
    forgetRepo: async (path) => {
      await endRepo(deps, path);
      return 'done';
    },
    forgetTenant: async ({ tenant }) => {
      const { hasMore } = await deps.tenantLinks.endSomePins({ tenant, atMs: deps.clock.nowMs() });
      return hasMore ? 'unfinished' : 'done';
    },
  };
}

async function endRepo(
  { publicReads, linkedRepos, clock }: EndDeps,
  { tenant, repo }: { tenant: string; repo: string },
): Promise<void> {
  const end = { tenant, repo, atMs: clock.nowMs() };
  await Promise.all([publicReads.end(end), linkedRepos.end(end)]);
}

/** Of what is ended at a time. */
const endsAtOnce = 16;

/** What lets people in ends when a repo or a tenant is closed. */
export function accountTies(
  deps: EndDeps & Pick<AccountPorts, 'exchangeRules' | 'users' | 'tokens'>,
): Belongings {
  const { publicReads, linkedRepos, tenantLinks, exchangeRules, users, tokens, clock } = deps;
  return {
    knows: async (path) =>
      (await Promise.all([publicReads.find(path), linkedRepos.find(path)])).some(Boolean),
    closeRepo: (path) => endRepo(deps, path),
    closeTenant: async (tenant) => {
      await mapLimited(await publicReads.list(tenant), endsAtOnce, ({ repo }) =>
        publicReads.end({ tenant, repo, atMs: clock.nowMs() }),
      );
      await mapLimited(await linkedRepos.list(tenant), endsAtOnce, ({ repo }) =>
        linkedRepos.end({ tenant, repo, atMs: clock.nowMs() }),
      );
      await tenantLinks.end({ tenant, atMs: clock.nowMs() });
      await mapLimited(await exchangeRules.list(tenant), endsAtOnce, (rule) => exchangeRules.delete(rule));
      await mapLimited(await users.list(tenant), endsAtOnce, (organization) => users.disallow(organization));
      const all = [...(await tokens.listUsers(tenant)), ...(await tokens.list(tenant))];
      await mapLimited(all, endsAtOnce, ({ tokenId }) => tokens.delete({ tenant, tokenId }));
    },
  };
}
