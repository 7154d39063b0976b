import { problem } from '../../problems.ts';
import { pathRepo } from '../../request.ts';
import { json } from '../../respond.ts';
import { managerAccess, readerAccess, seesRepo } from '../access.ts';
import { noBody, type Operations, operation } from '../operation.ts';
import { noQuery, pageQuery } from '../queries.ts';
import { reposBody } from './bodies.ts';
import { readRepoPage } from './page.ts';

/**
 * By name, a page at a time. An empty repo is not shown: a page may be shorter than asked for without being the
 * last.
 */
const listRepos = operation(
  { access: readerAccess, query: pageQuery, body: noBody },
  async (deps, { tenant, token, query }) => {
    const { repos, nextCursor } = await readRepoPage(deps, { tenant: tenant.tenant, ...query });
    const seen = repos.filter(({ repo }) => seesRepo({ token }, repo));
    return json(200, { repos: reposBody(seen, tenant), nextCursor });
  },
);

const showRepo = operation(
  { access: readerAccess, query: noQuery, body: noBody },
  async (deps, { tenant, token, event }) => {
    const repo = pathRepo(event);
    const path =
      repo !== undefined && seesRepo({ token }, repo) ? { tenant: tenant.tenant, repo } : undefined;
    const record = path && (await deps.ledger.readRepo(path));
    const [body] = reposBody(record ? [record] : [], tenant);
    return body
      ? json(200, body)
      : problem(
          'repo-not-found',
          `The tenant ${tenant.tenant} has no repo of that name with anything in it.`,
        );
  },
);

/** Queues a full recount. */
const requestRecount = operation(
  { access: managerAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant } }) => {
    await deps.queue.request({ tenant, reason: 'manual', full: true });
    return json(202, { tenant, queued: true }, { location: `/v1/tenants/${tenant}/subscription` });
  },
);

export const repoOperations = {
  'GET /v1/tenants/{tenant}/repos': listRepos,
  'GET /v1/tenants/{tenant}/repos/{repo}': showRepo,
  'POST /v1/tenants/{tenant}/reconcile': requestRecount,
} satisfies Operations;
