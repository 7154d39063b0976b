import { monthOf, nextMonthMs } from '../../../domain/calendar.ts';
import { type PublicRead, publicReposMax } from '../../../domain/public-read.ts';
import { type RepoRecord, type TenantRecord, unknownRepo } from '../../../domain/tenant.ts';
import { changePublicRead } from '../../../use-cases/access/change-public-read.ts';
import { problem } from '../../problems.ts';
import { pathRepo } from '../../request.ts';
import { json, type Response } from '../../respond.ts';
import { managerAccess, openManagerAccess, readerAccess, seesRepo } from '../access.ts';
import { iso } from '../fields.ts';
import { change, jsonBody, type ManagementDeps, noBody, type Operations, operation } from '../operation.ts';
import { noQuery, pageQuery } from '../queries.ts';
import { publicReadBody, reposBody } from './bodies.ts';
import { readRepoPage } from './page.ts';
import { updateRepoBody } from './requests.ts';
import type { RepoBody } from './schemas.ts';

/**
 * By name, a page at a time. An empty repo is not shown: a page may be shorter than asked for without being the
 * last.
 */
const listRepos = operation(
  { access: readerAccess, query: pageQuery, body: noBody },
  async (deps, { tenant, token, query }) => {
    const [{ repos, nextCursor }, publicReads] = await Promise.all([
      readRepoPage(deps, { tenant: tenant.tenant, ...query }),
      deps.publicReads.list(tenant.tenant),
    ]);
    const seen = repos.filter(({ repo }) => seesRepo({ token }, repo));
    return json(200, { repos: reposBody(seen, { ...tenant, publicReads }), nextCursor });
  },
);

const showRepo = operation(
  { access: readerAccess, query: noQuery, body: noBody },
  async (deps, { tenant, token, event }) => {
    const repo = pathRepo(event);
    const path =
      repo !== undefined && seesRepo({ token }, repo) ? { tenant: tenant.tenant, repo } : undefined;
    if (!path) return repoNotFound(tenant);
    const [record, publicRead] = await Promise.all([deps.ledger.readRepo(path), deps.publicReads.find(path)]);
    const body = await repoBody(deps, { tenant, record, publicRead });
    return body ? json(200, body) : repoNotFound(tenant);
  },
);

/** Makes a repo public, or private again. */
const updateRepo = change(
  { action: 'repo.update', access: openManagerAccess, query: noQuery, body: jsonBody(updateRepoBody) },
  async (deps, { tenant, isAdmin, body: { publicRead }, event, trail }) => {
    const repo = pathRepo(event);
    if (repo === undefined) return repoNotFound(tenant);
    if (publicRead?.monthlyLimitBytes === null && !isAdmin)
      return problem(
        'scope-too-small',
        'Public downloads without a limit take the admin token. Give monthlyLimitBytes as a number.',
      );
    const outcome = await changePublicRead(deps, { tenant: tenant.tenant, repo, publicRead });
    switch (outcome.kind) {
      case 'changed': {
        const { repo: record = unknownRepo(repo), before, after } = outcome;
        trail.was({ publicRead: before ? publicReadBody(before) : null });
        trail.became({ publicRead: after ? publicReadBody(after) : null });
        const shown = await repoBody(deps, { tenant, record, publicRead: after });
        const empty = { repo, storedBytes: null, objectCount: null, countedAt: null };
        return json(200, shown ?? empty);
      }
      case 'no-repo':
        return repoNotFound(tenant);
      case 'repo-closed':
        return problem('repo-closed', `The repo ${repo} is being deleted.`);
      case 'full':
        return problem(
          'public-repos-full',
          `The tenant ${tenant.tenant} has ${publicReposMax} public repos. Make one of them private first.`,
        );
    }
  },
);

/** A repo with what anybody was offered of it, if it is public. undefined: it is not shown. */
async function repoBody(
  deps: Pick<ManagementDeps, 'downloads' | 'clock'>,
  input: { tenant: TenantRecord; record: RepoRecord | undefined; publicRead: PublicRead | undefined },
): Promise<RepoBody | undefined> {
  const { tenant, record, publicRead } = input;
  const records = record ? [record] : publicRead ? [unknownRepo(publicRead.repo)] : [];
  const [body] = reposBody(records, { ...tenant, publicReads: publicRead ? [publicRead] : [] });
  if (!body?.publicRead) return body;
  const nowMs = deps.clock.nowMs();
  const month = monthOf(nowMs);
  const sum = await deps.downloads.publicMonth({ tenant: tenant.tenant, repo: body.repo, month });
  const offered = { month, ...sum, resetsAt: iso(nextMonthMs(nowMs)) };
  return { ...body, publicRead: { ...body.publicRead, month: offered } };
}

function repoNotFound({ tenant }: TenantRecord): Response {
  return problem('repo-not-found', `The tenant ${tenant} has no repo of that name with anything in it.`);
}

/** Queues a full recount. */
const requestRecount = change(
  { action: 'recount.request', access: managerAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant } }) => {
    await deps.queue.request({ tenant, reason: 'manual', full: true });
    return json(202, { tenant, queued: true }, { location: `/v1/tenants/${tenant}/subscription` });
  },
);

export const repoOperations = {
  'GET /v1/tenants/{tenant}/repos': listRepos,
  'GET /v1/tenants/{tenant}/repos/{repo}': showRepo,
  'PATCH /v1/tenants/{tenant}/repos/{repo}': updateRepo,
  'POST /v1/tenants/{tenant}/reconcile': requestRecount,
} satisfies Operations;
