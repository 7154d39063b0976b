import { repoLimitsMax, type TenantRecord } from '../../../domain/tenant.ts';
import { createRepo as createRepoUseCase } from '../../../use-cases/repos/create-repo.ts';
import { findRepo } from '../../../use-cases/repos/find-repo.ts';
import { limitRepo } from '../../../use-cases/repos/limit-repo.ts';
import { problem, tenantNotFound } from '../../problems.ts';
import { pathRepo } from '../../request.ts';
import { json, type Response } from '../../respond.ts';
import { managerAccess, openManagerAccess, readerAccess, seesRepo } from '../access.ts';
import { jsonBody, noBody, type Operations, operation } from '../operation.ts';
import { noQuery, pageQuery } from '../queries.ts';
import { repoBody, reposBody } from './bodies.ts';
import { readRepoPage } from './page.ts';
import { createRepoBody, updateRepoBody } from './requests.ts';

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
    return body ? json(200, body) : repoNotFound(tenant);
  },
);

/** A repo that a push made is there, too. */
const createRepo = operation(
  { access: openManagerAccess, query: noQuery, body: jsonBody(createRepoBody) },
  async (deps, { tenant, body }) => {
    const name = `${tenant.tenant}/${body.repo}`;
    const outcome = await createRepoUseCase(deps, { tenant, ...body });
    switch (outcome.kind) {
      case 'created': {
        const location = `/v1/tenants/${tenant.tenant}/repos/${body.repo}`;
        return json(201, repoBody(outcome.record, outcome.tenant), { location });
      }
      case 'exists':
        return problem('repo-exists', `The repo ${name} exists already.`);
      case 'closed':
        return problem(
          'repo-closed',
          `The repo ${name} is being deleted. Its name is free once it is empty.`,
        );
      case 'too-many':
        return limitsFull(tenant);
      case 'absent':
        return tenantNotFound();
    }
  },
);

/** Sets or lifts the limit of a repo. */
const updateRepo = operation(
  { access: openManagerAccess, query: noQuery, body: jsonBody(updateRepoBody) },
  async (deps, { tenant, body: { limitBytes }, event }) => {
    const repo = pathRepo(event);
    const record = repo === undefined ? undefined : await findRepo(deps, { tenant, repo });
    if (!record) return repoNotFound(tenant);
    const outcome = await limitRepo(deps, { tenant, repo: record.repo, limitBytes });
    switch (outcome.kind) {
      case 'limited':
        return json(200, repoBody(record, outcome.tenant));
      case 'too-many':
        return limitsFull(tenant);
      case 'absent':
        return tenantNotFound();
    }
  },
);

function limitsFull({ tenant }: TenantRecord): Response {
  const detail = `${repoLimitsMax} repos of ${tenant} have a limit of their own, and no more may.`;
  return problem('limits-full', detail);
}

function repoNotFound({ tenant }: TenantRecord): Response {
  return problem('repo-not-found', `The tenant ${tenant} has no repo of that name with anything in it.`);
}

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
  'POST /v1/tenants/{tenant}/repos': createRepo,
  'GET /v1/tenants/{tenant}/repos/{repo}': showRepo,
  'PATCH /v1/tenants/{tenant}/repos/{repo}': updateRepo,
  'POST /v1/tenants/{tenant}/reconcile': requestRecount,
} satisfies Operations;
