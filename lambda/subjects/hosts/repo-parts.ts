import type { RepoPath } from '../../core/ledger/rules/tenant.ts';
import { prepareMark } from '../../frame/access/repos.ts';
import { isInForce } from '../../frame/access/rules/repo-mark.ts';
import type { Refusal } from '../../frame/api/http.ts';
import { problem } from '../../frame/api/problems.ts';
import { iso } from '../../frame/contract/fields.ts';
import type { RepoPart } from '../../frame/management/seams.ts';
import { type MarkDeps, markChange } from './mark-change.ts';
import type { HostPorts } from './ports.ts';
import type { GitHostChange, GitHostOfRepo } from './repo-contract.ts';
import { isLinkedName, type LinkedRepo, linkedReposMax } from './rules/git-hosts.ts';
import { findLink } from './tenant-links.ts';

/** To which repository of a git host a repo is linked, by itself or by its tenant. A subscription says nothing of it. */
export function linkedRepoPart(
  deps: MarkDeps & Pick<HostPorts, 'gitHosts' | 'linkedRepos' | 'tenantLinks'>,
): RepoPart {
  const { gitHosts, linkedRepos } = deps;
  return {
    ofMany: async ({ tenant, in: place }) => {
      const marks = place === 'page' ? await linkedRepos.list(tenant) : [];
      const byName = new Map(marks.map((mark) => [mark.repo, mark]));
      return (record) => {
        const mark = byName.get(record.repo);
        return mark && isInForce(mark, record) ? { gitHost: linkedBody(mark) } : undefined;
      };
    },
    ofOne: async (path) => {
      const mark = await linkedRepos.find(path);
      return mark && ((record) => (isInForce(mark, record) ? { gitHost: linkedBody(mark) } : undefined));
    },
    ofShown: async ({ tenant, repos: [repo = ''], asked }) => {
      const gitHost = asked ? undefined : await linkOfTenant(deps, { tenant, repo });
      return new Map(gitHost ? [[repo, { gitHost }]] : []);
    },
    prepare: async (change) => {
      const { tenant, repo } = change;
      const { gitHost } = change.body as { gitHost?: GitHostChange };
      if (gitHost === undefined) return undefined;
      const host = gitHosts.find(({ id }) => id === gitHost?.host);
      if (gitHost && !host) return { refusal: unknownGitHost(deps, 'gitHost.host') };
      if (gitHost && host && !isLinkedName(gitHost.repo, host.kind)) {
        const detail =
          'gitHost.repo: must be the full name of a repository, such as acme/game, without .git or a URL.';
        return { refusal: problem('invalid-body', detail) };
      }
      const to = gitHost && {
        host: gitHost.host,
        name: gitHost.repo,
        linkedId: gitHost.repoId ?? null,
        readThrough: gitHost.readThrough === true,
      };
      const kind = { marks: linkedRepos, marksMax: linkedReposMax };
      return markChange(await prepareMark(deps, kind, { tenant, repo, to }), change, {
        field: 'gitHost',
        shown: linkedBody,
        full: () =>
          problem(
            'linked-repos-full',
            `${tenant.tenant} has ${linkedReposMax} linked repos, the maximum. Unlink one first.`,
          ),
      });
    },
  };
}

/** What a repo is linked to by its tenant. undefined: nothing, or it's linked itself. */
async function linkOfTenant(
  deps: Pick<HostPorts, 'linkedRepos' | 'tenantLinks'>,
  path: RepoPath,
): Promise<GitHostOfRepo | undefined> {
  const [link, pin] = await Promise.all([findLink(deps, path), deps.tenantLinks.findPin(path)]);
  if (!link?.ofTenant) return undefined;
  const linkedId = pin?.linkSinceMs === link.sinceMs ? pin.linkedId : null;
  return { ...linkedBody({ ...link, linkedId }), ofTenant: true };
}

/** @param field of the body that names the host. */
export function unknownGitHost({ gitHosts }: Pick<HostPorts, 'gitHosts'>, field: string): Refusal {
  const known = gitHosts.map(({ id }) => id).join(', ');
  const detail = known
    ? `must be one of: ${known}.`
    : 'this server has no git hosts. The operator configures them (gitHosts).';
  return problem('invalid-body', `${field}: ${detail}`);
}

function linkedBody(linked: LinkedRepo): GitHostOfRepo {
  const { host, name, linkedId, readThrough, sinceMs } = linked;
  return { host, repo: name, repoId: linkedId, ...(readThrough && { readThrough }), since: iso(sinceMs) };
}
