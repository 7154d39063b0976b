import type * as z from 'zod';
import { iso, noQuery, pageQuery } from '../../../api/contract/fields.ts';
import { json, pathRepo, type Response, receivedAtMs } from '../../../api/http.ts';
import { managerAccess, readerAccess, seesRepo } from '../../../api/management/access.ts';
import { problem, repoNotFound, tenantNotFound } from '../../../api/problems.ts';
import { formatBytes } from '../../../domain/bytes.ts';
import { dayOf, monthOf, nextMonthMs } from '../../../domain/calendar.ts';
import { isHostedName, type MappedRepo, mappedReposMax } from '../../../domain/git-host.ts';
import { compareKeys } from '../../../domain/key-order.ts';
import { type PublicRead, publicReposMax } from '../../../domain/public-read.ts';
import {
  type RepoPath,
  type RepoRecord,
  repoLimitsMax,
  reposMax,
  type TenantRecord,
  unknownRepo,
} from '../../../domain/tenant.ts';
import type { AuditTrail } from '../../../use-cases/audited.ts';
import { type PreparedMark, prepareMark } from '../../../use-cases/repos/change-mark.ts';
import { createRepo as createRepoUseCase } from '../../../use-cases/repos/create-repo.ts';
import { findRepo } from '../../../use-cases/repos/find-repo.ts';
import { limitRepo } from '../../../use-cases/repos/limit-repo.ts';
import { uploadingRepos } from '../../../use-cases/uploading-repos.ts';
import {
  change,
  jsonBody,
  type ManagementDeps,
  noBody,
  type Operations,
  openManagerAccess,
  operation,
} from '../operation.ts';
import { mappedBody, publicReadBody, repoBody, reposBody, uploadingBody } from './bodies.ts';
import { readRepoPage } from './page.ts';
import { createRepoBody, updateRepoBody } from './requests.ts';
import type { RepoBody } from './schemas.ts';

/**
 * By name, a page at a time. An empty repo is not shown: a page may be shorter than asked for without being the
 * last.
 */
const listRepos = operation(
  { access: readerAccess, query: pageQuery, body: noBody },
  async (deps, { tenant, token, query }) => {
    const [{ repos, uploading, nextCursor }, publicReads, mappedRepos] = await Promise.all([
      readRepoPage(deps, { tenant: tenant.tenant, token, ...query }),
      deps.publicReads.list(tenant.tenant),
      deps.mappedRepos.list(tenant.tenant),
    ]);
    const today = dayOf(deps.clock.nowMs());
    const shown = reposBody(repos, { ...tenant, today, publicReads, mappedRepos });
    const known = new Set(shown.map(({ repo }) => repo));
    const more = uploading.filter((repo) => !known.has(repo)).map((repo) => uploadingBody(repo, tenant));
    return json(200, {
      repos: [...shown, ...more].sort((a, b) => compareKeys(a.repo, b.repo)),
      nextCursor,
    });
  },
);

const showRepo = operation(
  { access: readerAccess, query: noQuery, body: noBody },
  async (deps, { tenant, token, event }) => {
    const repo = pathRepo(event);
    const path =
      repo !== undefined && seesRepo({ token }, repo) ? { tenant: tenant.tenant, repo } : undefined;
    if (!path) return repoNotFound(tenant.tenant);
    const body = await shownRepo(deps, { tenant, ...(await readDecided(deps, path)) });
    if (body) return json(200, body);
    const [uploading] = await uploadingRepos(deps, { tenant: tenant.tenant, repos: [path.repo] });
    return uploading === undefined
      ? repoNotFound(tenant.tenant)
      : json(200, uploadingBody(uploading, tenant));
  },
);

/** A repo that a push made is there, too. */
const createRepo = change(
  { action: 'repo.create', access: openManagerAccess, query: noQuery, body: jsonBody(createRepoBody) },
  async (deps, { tenant, body, event, trail }) => {
    const name = `${tenant.tenant}/${body.repo}`;
    const outcome = await createRepoUseCase(deps, { tenant, beganMs: receivedAtMs(event), ...body });
    switch (outcome.kind) {
      case 'created': {
        trail.became(body);
        const location = `/v1/tenants/${tenant.tenant}/repos/${body.repo}`;
        return json(201, repoBody(outcome.record, outcome), { location });
      }
      case 'exists':
        return problem('repo-exists', `The repo ${name} exists already.`);
      case 'closed':
        return repoClosed(name);
      case 'full':
        return problem(
          'repos-full',
          `The tenant ${tenant.tenant} has ${reposMax.toLocaleString('en-US')} repos, the maximum. Delete some: two days later their places are free.`,
        );
      case 'too-many':
        return limitsFull(tenant);
      case 'absent':
        return tenantNotFound();
    }
  },
);

/** Sets or lifts the limit of a repo; makes it public, or private again; maps it to a git host, or no longer. */
const updateRepo = change(
  { action: 'repo.update', access: openManagerAccess, query: noQuery, body: jsonBody(updateRepoBody) },
  async (deps, { tenant, isAdmin, body: { limitBytes, publicRead, gitHost }, event, trail }) => {
    const repo = pathRepo(event);
    if (repo === undefined) return repoNotFound(tenant.tenant);
    const aboveCeiling = isAdmin || !publicRead ? undefined : wrongCeiling(deps, { tenant, publicRead });
    if (aboveCeiling !== undefined) return problem('scope-too-small', aboveCeiling);
    // All that may be refused comes before the first write: what is answered by a refusal has changed nothing.
    const marks: (() => Promise<void>)[] = [];
    for (const prepared of [
      publicRead !== undefined && (await preparePublicRead(deps, { tenant, repo, publicRead, trail })),
      gitHost !== undefined && (await prepareGitHost(deps, { tenant, repo, gitHost, trail })),
    ]) {
      if (!prepared) continue;
      if ('refusal' in prepared) return prepared.refusal;
      marks.push(prepared.write);
    }
    const limited =
      limitBytes === undefined
        ? { tenant }
        : await updateLimit(deps, { tenant, beganMs: receivedAtMs(event), repo, limitBytes, trail });
    if ('refusal' in limited) return limited.refusal;
    for (const write of marks) await write();
    const path = { tenant: tenant.tenant, repo };
    const decided = await readDecided(deps, path);
    const { record = unknownRepo(repo) } = decided;
    const shown = await shownRepo(deps, { ...decided, tenant: limited.tenant, record });
    return json(200, shown ?? repoBody(record, limited));
  },
);

/** Why somebody who manages a tenant can't set this ceiling. A tenant without a download limit is no way around it. */
function wrongCeiling(
  { settings }: Pick<ManagementDeps, 'settings'>,
  { tenant, publicRead }: { tenant: TenantRecord; publicRead: Pick<PublicRead, 'monthlyLimitBytes'> },
): string | undefined {
  if (publicRead.monthlyLimitBytes === null)
    return 'Public downloads without a limit take the admin token. Give monthlyLimitBytes as a number.';
  const { publicMonthBytesMax } = settings;
  const downloadLimitBytes = tenant.downloadLimitBytes ?? Number.POSITIVE_INFINITY;
  const most = Math.min(downloadLimitBytes, publicMonthBytesMax);
  if (publicRead.monthlyLimitBytes <= most) return undefined;
  const whose = most === downloadLimitBytes ? `the download limit of ${tenant.tenant}` : 'the maximum here';
  return `Public downloads above ${whose}, ${formatBytes(most)} a month, take the admin token.`;
}

/** What is noted of a change of a mark, and said if there is no room for it. */
interface MarkWords<M> {
  readonly field: 'publicRead' | 'gitHost';
  readonly shown: (mark: M) => object;
  readonly full: () => Response;
}

/** A mark that may be written, or why not. */
type MarkChange = { readonly write: () => Promise<void> } | { readonly refusal: Response };

function markChange<M>(
  prepared: PreparedMark<M>,
  input: { tenant: TenantRecord; repo: string; trail: AuditTrail },
  { field, shown, full }: MarkWords<M>,
): MarkChange {
  const { tenant, repo, trail } = input;
  const noted = (mark: M | undefined) => ({ [field]: mark ? shown(mark) : null });
  switch (prepared.kind) {
    case 'ready': {
      const write = async () => {
        await prepared.write();
        trail.was(noted(prepared.before));
        trail.became(noted(prepared.after));
      };
      return { write };
    }
    case 'no-repo':
      return { refusal: repoNotFound(tenant.tenant) };
    case 'repo-closed':
      return { refusal: repoClosed(`${tenant.tenant}/${repo}`) };
    case 'full':
      return { refusal: full() };
  }
}

async function preparePublicRead(
  deps: ManagementDeps,
  input: {
    tenant: TenantRecord;
    repo: string;
    publicRead: Pick<PublicRead, 'monthlyLimitBytes'> | null;
    trail: AuditTrail;
  },
): Promise<MarkChange> {
  const { tenant, repo, publicRead: to } = input;
  const kind = { marks: deps.publicReads, marksMax: publicReposMax };
  return markChange(await prepareMark(deps, kind, { tenant, repo, to }), input, {
    field: 'publicRead',
    shown: publicReadBody,
    full: () =>
      problem(
        'public-repos-full',
        `The tenant ${tenant.tenant} has ${publicReposMax} public repos. Make one of them private first.`,
      ),
  });
}

async function prepareGitHost(
  deps: ManagementDeps,
  input: {
    tenant: TenantRecord;
    repo: string;
    gitHost: Exclude<z.output<typeof updateRepoBody>['gitHost'], undefined>;
    trail: AuditTrail;
  },
): Promise<MarkChange> {
  const { tenant, repo, gitHost } = input;
  const host = deps.gitHosts.find(({ id }) => id === gitHost?.host);
  if (gitHost && !host) {
    const known = deps.gitHosts.map(({ id }) => id).join(', ');
    const detail = known
      ? `must be one of this stage: ${known}.`
      : 'this stage has no git host. Whoever runs it sets them (gitHosts).';
    return { refusal: problem('invalid-body', `gitHost.host: ${detail}`) };
  }
  if (gitHost && host && !isHostedName(gitHost.repo, host.kind)) {
    const detail =
      'gitHost.repo: must be the full name of a repository, such as acme/game, without .git or an address.';
    return { refusal: problem('invalid-body', detail) };
  }
  const to = gitHost && { host: gitHost.host, name: gitHost.repo, hostedId: gitHost.repoId ?? null };
  const kind = { marks: deps.mappedRepos, marksMax: mappedReposMax };
  return markChange(await prepareMark(deps, kind, { tenant, repo, to }), input, {
    field: 'gitHost',
    shown: mappedBody,
    full: () =>
      problem(
        'mapped-repos-full',
        `The tenant ${tenant.tenant} has ${mappedReposMax} mapped repos. End the mapping of one first.`,
      ),
  });
}

async function updateLimit(
  deps: ManagementDeps,
  input: {
    tenant: TenantRecord;
    beganMs: number;
    repo: string;
    limitBytes: number | null;
    trail: AuditTrail;
  },
): Promise<{ tenant: TenantRecord } | { refusal: Response }> {
  const { tenant, beganMs, repo, limitBytes, trail } = input;
  if (!(await findRepo(deps, { tenant, repo }))) return { refusal: repoNotFound(tenant.tenant) };
  const outcome = await limitRepo(deps, { tenant, beganMs, repo, limitBytes });
  switch (outcome.kind) {
    case 'limited':
      trail.was({ limitBytes: outcome.before.repoLimits.get(repo)?.limitBytes ?? null });
      trail.became({ limitBytes });
      return outcome;
    case 'too-many':
      return { refusal: limitsFull(tenant) };
    case 'absent':
      return { refusal: tenantNotFound() };
  }
}

/** What is known of a repo, and what was decided of it. */
interface Decided {
  readonly record: RepoRecord | undefined;
  readonly publicRead: PublicRead | undefined;
  readonly mapped: MappedRepo | undefined;
}

async function readDecided(
  deps: Pick<ManagementDeps, 'ledger' | 'publicReads' | 'mappedRepos'>,
  path: RepoPath,
): Promise<Decided> {
  const [record, publicRead, mapped] = await Promise.all([
    deps.ledger.readRepo(path),
    deps.publicReads.find(path),
    deps.mappedRepos.find(path),
  ]);
  return { record, publicRead, mapped };
}

/** A repo with what anybody was offered of it, if it is public. undefined: it is not shown. */
async function shownRepo(
  deps: Pick<ManagementDeps, 'downloads' | 'clock'>,
  input: { tenant: TenantRecord } & Decided,
): Promise<RepoBody | undefined> {
  const { tenant, record, publicRead, mapped } = input;
  const name = publicRead?.repo ?? mapped?.repo;
  const records = record ? [record] : name === undefined ? [] : [unknownRepo(name)];
  const nowMs = deps.clock.nowMs();
  const [body] = reposBody(records, {
    ...tenant,
    today: dayOf(nowMs),
    publicReads: publicRead ? [publicRead] : [],
    mappedRepos: mapped ? [mapped] : [],
  });
  if (!body?.publicRead) return body;
  const month = monthOf(nowMs);
  const sum = await deps.downloads.publicMonth({ tenant: tenant.tenant, repo: body.repo, month });
  const offered = { month, ...sum, resetsAt: iso(nextMonthMs(nowMs)) };
  return { ...body, publicRead: { ...body.publicRead, month: offered } };
}

function repoClosed(name: string): Response {
  return problem('repo-closed', `The repo ${name} is being deleted. Its name is free once it is empty.`);
}

function limitsFull({ tenant }: TenantRecord): Response {
  const detail = `${repoLimitsMax} repos of ${tenant} have a limit of their own, and no more may.`;
  return problem('limits-full', detail);
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
  'POST /v1/tenants/{tenant}/repos': createRepo,
  'GET /v1/tenants/{tenant}/repos/{repo}': showRepo,
  'PATCH /v1/tenants/{tenant}/repos/{repo}': updateRepo,
  'POST /v1/tenants/{tenant}/reconcile': requestRecount,
} satisfies Operations;
