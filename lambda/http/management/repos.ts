import { problem } from '../problems.ts';
import { pathRepo } from '../request.ts';
import { json } from '../respond.ts';
import { adminTenantAccess, readerAccess } from './access.ts';
import { noBody, operation } from './operation.ts';
import { readRepoPage } from './repo-page.ts';
import { noQuery, pageQuery } from './requests.ts';
import { reposBody } from './responses.ts';

/**
 * By name, a page at a time. An empty repo is not shown: a page may be shorter than asked for without being the
 * last.
 */
export const listRepos = operation(
  { access: readerAccess, query: pageQuery, body: noBody },
  async (deps, { tenant, query }) => {
    const { repos, nextCursor } = await readRepoPage(deps, { tenant: tenant.tenant, ...query });
    return json(200, { repos: reposBody(repos, tenant), nextCursor });
  },
);

export const showRepo = operation(
  { access: readerAccess, query: noQuery, body: noBody },
  async (deps, { tenant, event }) => {
    const repo = pathRepo(event);
    const path = repo === undefined ? undefined : { tenant: tenant.tenant, repo };
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
export const requestRecount = operation(
  { access: adminTenantAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant } }) => {
    await deps.queue.request({ tenant, reason: 'manual', full: true });
    return json(202, { tenant, queued: true }, { location: `/v1/tenants/${tenant}/subscription` });
  },
);
