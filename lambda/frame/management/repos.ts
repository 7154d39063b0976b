import type * as z from 'zod';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { uploadingRepos } from '../../core/ledger/reservations.ts';
import {
  isThere,
  pointBefore,
  type RepoPath,
  type RepoRecord,
  repoLimitsMax,
  reposMax,
  type TenantRecord,
  unknownRepo,
} from '../../core/ledger/rules/tenant.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { dayOf, monthOf, nextMonthMs } from '../../core/rules/dates.ts';
import { compareKeys } from '../../core/rules/names.ts';
import { formatBytes } from '../../core/rules/sizes.ts';
import type { DownloadPorts } from '../../subjects/downloads/ports.ts';
import { copiesShownMax, isCopying, keptForMs } from '../../subjects/downloads/rules/copies.ts';
import { type PublicRead, publicReposMax } from '../../subjects/downloads/rules/public-reads.ts';
import { readWeeks } from '../../subjects/history/history.ts';
import type { HistoryPorts } from '../../subjects/history/ports.ts';
import { historyWeeksMax, listedWeeks } from '../../subjects/history/rules/history.ts';
import type { HostPorts } from '../../subjects/hosts/ports.ts';
import { isLinkedName, type LinkedRepo, linkedReposMax } from '../../subjects/hosts/rules/git-hosts.ts';
import { findLink } from '../../subjects/hosts/tenant-links.ts';
import type { AuditTrail } from '../access/audit.ts';
import { createRepo, findRepo, limitRepo, type PreparedMark, prepareMark } from '../access/repos.ts';
import { isInForce } from '../access/rules/repo-mark.ts';
import { json, pathRepo, type Refusal, receivedAtMs } from '../api/http.ts';
import { problem, repoNotFound, tenantNotFound } from '../api/problems.ts';
import { deletingMark, encodeCursor, iso, pageSizeDefault } from '../contract/fields.ts';
import { type RepoBody, repoContract, type updateRepoBody } from '../contract/repos.ts';
import { type Reader, seesRepo } from './access.ts';
import { operationsFor, type RouteDeps } from './operations.ts';

type Needs = Pick<CoreDeps, 'listing' | 'storageClasses' | 'queue'> &
  Pick<DownloadPorts, 'publicReads'> &
  Pick<HostPorts, 'gitHosts' | 'linkedRepos' | 'tenantLinks'> &
  Pick<DownloadPorts, 'downloads' | 'copies'> &
  HistoryPorts;

export const repoOperations = operationsFor<Needs>()(repoContract, {
  /**
   * By name, a page at a time. An empty repo is not shown: a page may be shorter than asked for without being the
   * last.
   */
  'GET /v1/tenants/{tenant}/repos': async (deps, { tenant, token, query: { weeks, ...page } }) => {
    const [{ repos, uploading, nextCursor }, publicReads, linkedRepos] = await Promise.all([
      readRepoPage(deps, { tenant: tenant.tenant, token, ...page }),
      deps.publicReads.list(tenant.tenant),
      deps.linkedRepos.list(tenant.tenant),
    ]);
    const today = dayOf(deps.clock.nowMs());
    const found = reposBody(repos, { ...tenant, today, publicReads, linkedRepos });
    const weekly = { tenant: tenant.tenant, records: repos, repos: found, count: listedWeeks };
    const shown = weeks ? await withWeeks(deps, weekly) : found;
    const known = new Set(shown.map(({ repo }) => repo));
    const more = uploading.filter((repo) => !known.has(repo)).map((repo) => uploadingBody(repo, tenant));
    return json(200, {
      repos: [...shown, ...more].sort((a, b) => compareKeys(a.repo, b.repo)),
      nextCursor,
    });
  },

  /** A repo that a push made is there, too. */
  'POST /v1/tenants/{tenant}/repos': async (deps, { tenant, body, event, trail }) => {
    const name = `${tenant.tenant}/${body.repo}`;
    const outcome = await createRepo(deps, { tenant, beganMs: receivedAtMs(event), ...body });
    switch (outcome.kind) {
      case 'created': {
        trail.became(body);
        const location = `/v1/tenants/${tenant.tenant}/repos/${body.repo}`;
        return json(201, repoBody(outcome.record, outcome), { location });
      }
      case 'exists':
        return problem('repo-exists', `The repo ${name} already exists.`);
      case 'closed':
        return repoClosed(name);
      case 'full':
        return problem(
          'repos-full',
          `${tenant.tenant} has ${reposMax.toLocaleString('en-US')} repos, the maximum. Delete some: each frees its slot after two days.`,
        );
      case 'too-many':
        return limitsFull(tenant);
      case 'absent':
        return tenantNotFound();
    }
  },

  'GET /v1/tenants/{tenant}/repos/{repo}': async (deps, { tenant, token, event }) => {
    const repo = pathRepo(event);
    const path =
      repo !== undefined && seesRepo({ token }, repo) ? { tenant: tenant.tenant, repo } : undefined;
    if (!path) return repoNotFound(tenant.tenant);
    const decided = await readDecided(deps, path);
    const shown = await shownRepo(deps, { tenant, ...decided });
    const [uploading] = shown
      ? []
      : await uploadingRepos(deps, { tenant: tenant.tenant, repos: [path.repo] });
    const body = uploading === undefined ? shown : uploadingBody(uploading, tenant);
    if (!body) return repoNotFound(tenant.tenant);
    const records = decided.record ? [decided.record] : [];
    const weekly = { ...path, records, repos: [body], count: historyWeeksMax };
    const [[weeks], gitHost, copies] = await Promise.all([
      withWeeks(deps, weekly),
      linkOfTenant(deps, path),
      copiesOf(deps, path),
    ]);
    return json(200, { ...body, ...(gitHost && { gitHost }), ...weeks, ...(copies && { copies }) });
  },

  /** Sets or lifts the limit of a repo; makes it public, or private again; maps it to a git host, or no longer. */
  'PATCH /v1/tenants/{tenant}/repos/{repo}': async (
    deps,
    { tenant, isAdmin, body: { limitBytes, publicRead, gitHost, storageClass }, event, trail },
  ) => {
    const repo = pathRepo(event);
    if (repo === undefined) return repoNotFound(tenant.tenant);
    const aboveCeiling = isAdmin || !publicRead ? undefined : wrongCeiling(deps, { tenant, publicRead });
    if (aboveCeiling !== undefined) return problem('scope-too-small', aboveCeiling);
    // All that may be refused comes before the first write: what is answered by a refusal has changed nothing.
    const marks: (() => Promise<void>)[] = [];
    for (const prepared of [
      publicRead !== undefined && (await preparePublicRead(deps, { tenant, repo, publicRead, trail })),
      gitHost !== undefined && (await prepareGitHost(deps, { tenant, repo, gitHost, trail })),
      storageClass !== undefined &&
        (await prepareStorageClass(deps, { tenant, repo, storageClass, isAdmin, trail })),
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

  /** Queues a full reconcile. */
  'POST /v1/tenants/{tenant}/reconcile': async (deps, { tenant: { tenant } }) => {
    await deps.queue.request({ tenant, reason: 'manual', full: true });
    return json(202, { tenant, queued: true }, { location: `/v1/tenants/${tenant}/subscription` });
  },
});

/** What a repo is linked to by its tenant. undefined: nothing, or it's linked itself. */
async function linkOfTenant(
  deps: Pick<Needs & RouteDeps, 'linkedRepos' | 'tenantLinks'>,
  path: RepoPath,
): Promise<RepoBody['gitHost']> {
  const [link, pin] = await Promise.all([findLink(deps, path), deps.tenantLinks.findPin(path)]);
  if (!link?.ofTenant) return undefined;
  const linkedId = pin?.linkSinceMs === link.sinceMs ? pin.linkedId : null;
  return { ...linkedBody({ ...link, linkedId }), ofTenant: true };
}

/** How many copies were asked for that aren't made. undefined: none. */
async function copiesOf(
  { copies, clock }: Pick<Needs & RouteDeps, 'copies' | 'clock'>,
  path: RepoPath,
): Promise<RepoBody['copies']> {
  const notes = await copies.list({ ...path, countMax: copiesShownMax });
  const nowMs = clock.nowMs();
  // The table removes what has expired within days.
  const kept = notes.filter(({ untilMs }) => nowMs <= untilMs + keptForMs);
  const queued = kept.filter((note) => isCopying(note, nowMs)).length;
  return kept.length === 0 ? undefined : { queued, failed: kept.length - queued };
}

/** Repos with what they stored in each week, as far as the ledger has records of them. */
async function withWeeks(
  deps: Pick<Needs & RouteDeps, 'history' | 'clock'>,
  input: { tenant: string; records: readonly RepoRecord[]; repos: readonly RepoBody[]; count: number },
): Promise<RepoBody[]> {
  const { tenant, records, count } = input;
  const names = new Set(input.repos.map(({ repo }) => repo));
  const repos = records.filter(({ repo }) => names.has(repo));
  const weeks = await readWeeks(deps, { tenant, repos, count });
  return input.repos.map((body) => ({ ...body, weeks: weeks.get(body.repo) }));
}

/** Why somebody who manages a tenant can't set this ceiling. A tenant without a download limit is no way around it. */
export function wrongCeiling(
  { settings }: Pick<Needs & RouteDeps, 'settings'>,
  { tenant, publicRead }: { tenant: TenantRecord; publicRead: Pick<PublicRead, 'monthlyLimitBytes'> },
): string | undefined {
  if (publicRead.monthlyLimitBytes === null)
    return 'Unlimited public downloads require the admin token. Set monthlyLimitBytes to a number.';
  const { publicMonthBytesMax } = settings;
  const downloadLimitBytes = tenant.downloadLimitBytes ?? Number.POSITIVE_INFINITY;
  const most = Math.min(downloadLimitBytes, publicMonthBytesMax);
  if (publicRead.monthlyLimitBytes <= most) return undefined;
  const whose = most === downloadLimitBytes ? `the download limit of ${tenant.tenant}` : 'the maximum here';
  return `More than ${whose} (${formatBytes(most)} a month) requires the admin token.`;
}

/** What is noted of a change of a mark, and said if there is no room for it. */
interface MarkWords<M> {
  readonly field: 'publicRead' | 'gitHost';
  readonly shown: (mark: M) => object;
  readonly full: () => Refusal;
}

/** A mark that may be written, or why not. */
type MarkChange = { readonly write: () => Promise<void> } | { readonly refusal: Refusal };

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
  deps: Needs & RouteDeps,
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
        `${tenant.tenant} has ${publicReposMax} public repos, the maximum. Make one private first.`,
      ),
  });
}

async function prepareGitHost(
  deps: Needs & RouteDeps,
  input: {
    tenant: TenantRecord;
    repo: string;
    gitHost: Exclude<z.output<typeof updateRepoBody>['gitHost'], undefined>;
    trail: AuditTrail;
  },
): Promise<MarkChange> {
  const { tenant, repo, gitHost } = input;
  const host = deps.gitHosts.find(({ id }) => id === gitHost?.host);
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
  const kind = { marks: deps.linkedRepos, marksMax: linkedReposMax };
  return markChange(await prepareMark(deps, kind, { tenant, repo, to }), input, {
    field: 'gitHost',
    shown: linkedBody,
    full: () =>
      problem(
        'linked-repos-full',
        `${tenant.tenant} has ${linkedReposMax} linked repos, the maximum. Unlink one first.`,
      ),
  });
}

/** The answer to a storage class that the store doesn't have. undefined: it has it. */
export function lacksStorageClass(
  { storageClasses }: Pick<Needs & RouteDeps, 'storageClasses'>,
  wanted: string | null | undefined,
): Refusal | undefined {
  if (!wanted || storageClasses.some((each) => each === wanted)) return undefined;
  const detail =
    storageClasses.length > 0
      ? `must be one of: ${storageClasses.join(', ')}.`
      : 'this store has none. With an S3-compatible one, set objectStore.storageClasses, or serve --storage-classes.';
  return problem('invalid-body', `storageClass: ${detail}`);
}

/** As a body shows it. */
export const storageClassMark = ({ storageClass }: { storageClass?: string | null | undefined }) =>
  storageClass ? { storageClass } : {};

async function prepareStorageClass(
  deps: Needs & RouteDeps,
  input: {
    tenant: TenantRecord;
    repo: string;
    storageClass: string | null;
    isAdmin: boolean;
    trail: AuditTrail;
  },
): Promise<MarkChange> {
  const { tenant, repo, storageClass, isAdmin, trail } = input;
  if (!isAdmin) return { refusal: problem('scope-too-small', 'A storage class requires the admin token.') };
  const lacking = lacksStorageClass(deps, storageClass);
  if (lacking) return { refusal: lacking };
  const record = await findRepo(deps, { tenant, repo });
  if (!record) return { refusal: repoNotFound(tenant.tenant) };
  if (record.closedAtMs !== null) return { refusal: repoClosed(`${tenant.tenant}/${repo}`) };
  const write = async () => {
    const outcome = await deps.ledger.setStorageClass({ tenant: tenant.tenant, repo, storageClass });
    if (outcome === 'closed') return;
    trail.was({ storageClass: record.storageClass ?? null });
    trail.became({ storageClass });
  };
  return { write };
}

/** @param field of the body that names the host. */
export function unknownGitHost({ gitHosts }: Pick<Needs & RouteDeps, 'gitHosts'>, field: string): Refusal {
  const known = gitHosts.map(({ id }) => id).join(', ');
  const detail = known
    ? `must be one of: ${known}.`
    : 'this server has no git hosts. The operator configures them (gitHosts).';
  return problem('invalid-body', `${field}: ${detail}`);
}

async function updateLimit(
  deps: Needs & RouteDeps,
  input: {
    tenant: TenantRecord;
    beganMs: number;
    repo: string;
    limitBytes: number | null;
    trail: AuditTrail;
  },
): Promise<{ tenant: TenantRecord } | { refusal: Refusal }> {
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
  readonly linked: LinkedRepo | undefined;
}

async function readDecided(
  deps: Pick<Needs & RouteDeps, 'ledger' | 'publicReads' | 'linkedRepos'>,
  path: RepoPath,
): Promise<Decided> {
  const [record, publicRead, linked] = await Promise.all([
    deps.ledger.readRepo(path),
    deps.publicReads.find(path),
    deps.linkedRepos.find(path),
  ]);
  return { record, publicRead, linked };
}

/** A repo with what anybody was offered of it, if it is public. undefined: it is not shown. */
async function shownRepo(
  deps: Pick<Needs & RouteDeps, 'downloads' | 'clock'>,
  input: { tenant: TenantRecord } & Decided,
): Promise<RepoBody | undefined> {
  const { tenant, record, publicRead, linked } = input;
  const name = publicRead?.repo ?? linked?.repo;
  const records = record ? [record] : name === undefined ? [] : [unknownRepo(name)];
  const nowMs = deps.clock.nowMs();
  const [body] = reposBody(records, {
    ...tenant,
    today: dayOf(nowMs),
    publicReads: publicRead ? [publicRead] : [],
    linkedRepos: linked ? [linked] : [],
  });
  if (!body?.publicRead) return body;
  const month = monthOf(nowMs);
  const sum = await deps.downloads.publicMonth({ tenant: tenant.tenant, repo: body.repo, month });
  const offered = { month, ...sum, resetsAt: iso(nextMonthMs(nowMs)) };
  return { ...body, publicRead: { ...body.publicRead, month: offered } };
}

function repoClosed(name: string): Refusal {
  return problem('repo-closed', `The repo ${name} is being deleted. You can reuse its name once it's empty.`);
}

function limitsFull({ tenant }: TenantRecord): Refusal {
  const detail = `${repoLimitsMax} repos of ${tenant} have their own limit, the maximum.`;
  return problem('limits-full', detail);
}

const readsAtOnce = 8;

/**
 * A page of a tenant's repos by name, as the ledger has them, and where the next begins. null: it was the last. For a
 * token with repos those are read one by one: a cursor names the last item that was read, and must name no other repo.
 * `uploading` has repos that the ledger has no item of yet.
 */
export async function readRepoPage(
  deps: Pick<CoreDeps, 'ledger' | 'clock'>,
  input: Pick<Reader, 'token'> & {
    tenant: string;
    limit?: number | undefined;
    cursor?: string | undefined;
  },
): Promise<{ repos: readonly RepoRecord[]; uploading: readonly string[]; nextCursor: string | null }> {
  const { ledger } = deps;
  const { tenant, token, limit = pageSizeDefault, cursor } = input;
  if (token?.repos) {
    const left = token.repos.filter((repo) => cursor === undefined || repo > cursor).sort(compareKeys);
    const names = left.slice(0, limit);
    const read = await mapLimited(names, readsAtOnce, (repo) => ledger.readRepo({ tenant, repo }));
    const last = left.length > limit ? names.at(-1) : undefined;
    const unknown = names.filter((_, index) => read[index] === undefined);
    return {
      repos: read.filter((record) => record !== undefined),
      uploading: await uploadingRepos(deps, { tenant, repos: unknown }),
      nextCursor: last === undefined ? null : encodeCursor(last),
    };
  }
  const after = cursor !== undefined && { after: cursor };
  const repos = await ledger.listRepos({ tenant, pageSize: limit, ...after });
  const last = repos.length === limit ? repos.at(-1) : undefined;
  const uploading = await uploadingRepos(deps, { tenant, after: cursor, until: last?.repo });
  return { repos, uploading, nextCursor: last ? encodeCursor(last.repo) : null };
}

type TenantOfRepos = Pick<TenantRecord, 'scanned' | 'fullScannedAtMs' | 'repoLimits'>;
type RepoContext = TenantOfRepos & {
  /** Such as `2026-11-21`. */
  readonly today: string;
  readonly publicReads: readonly PublicRead[];
  /** Omitted: what is linked is not shown. */
  readonly linkedRepos?: readonly LinkedRepo[];
};

/**
 * The repos that are shown: those that are there, have a limit, are public or linked, and those that are being deleted until
 * they are open again.
 */
export function reposBody(
  repos: readonly RepoRecord[],
  { today, publicReads, linkedRepos = [], ...tenant }: RepoContext,
): RepoBody[] {
  const linkedByName = new Map(linkedRepos.map((linked) => [linked.repo, linked]));
  const publicByName = new Map(publicReads.map((publicRead) => [publicRead.repo, publicRead]));
  return repos.flatMap((record) => {
    const found = publicByName.get(record.repo);
    const publicRead = found && isInForce(found, record) ? found : undefined;
    const mark = linkedByName.get(record.repo);
    const linked = mark && isInForce(mark, record) ? mark : undefined;
    const isShown =
      record.closedAtMs !== null ||
      publicRead ||
      linked ||
      isThere(record) ||
      record.storageClass !== undefined ||
      tenant.repoLimits.has(record.repo);
    return isShown ? repoBody(record, { today, tenant, publicRead, linked }) : [];
  });
}

/** One of them. @param context.publicRead undefined: it is not public. @param context.linked undefined: it is not linked. */
function repoBody(
  record: RepoRecord,
  context: {
    tenant: TenantOfRepos;
    /** Omitted: it was created just now, or there is no such repo any more. */
    today?: string;
    publicRead?: PublicRead | undefined;
    linked?: LinkedRepo | undefined;
  },
): RepoBody {
  const { tenant, today, publicRead, linked } = context;
  const { repo, storedBytes, objectCount, closedAtMs } = record;
  const scannedAtMs = scannedAtOf(record, tenant);
  const isScanned = scannedAtMs !== null;
  const before = today !== undefined && record.epoch > 0 ? pointBefore(record, today) : undefined;
  return {
    repo,
    limitBytes: tenant.repoLimits.get(repo)?.limitBytes ?? null,
    storedBytes: isScanned ? storedBytes : null,
    objectCount: isScanned ? objectCount : null,
    scannedAt: isScanned ? iso(scannedAtMs) : null,
    ...(before && { before }),
    ...storageClassMark(record),
    ...deletingMark(closedAtMs),
    ...(publicRead && { publicRead: publicReadBody(publicRead) }),
    ...(linked && { gitHost: linkedBody(linked) }),
  };
}

/** A repo that was just pushed to: no reconcile has seen anything in it yet. */
function uploadingBody(repo: string, tenant: TenantOfRepos): RepoBody {
  return { ...repoBody(unknownRepo(repo), { tenant }), uploading: true };
}

/** null: unknown, which is not zero. */
function scannedAtOf(record: RepoRecord, { scanned, fullScannedAtMs }: TenantOfRepos): number | null {
  if (record.epoch > 0) return Math.max(record.scannedAtMs, fullScannedAtMs);
  // It was created, and no count of the tenant found anything in it.
  return record.createdAtMs === undefined || record.dirtyToken !== null
    ? null
    : (scanned?.scannedAtMs ?? null);
}

function linkedBody(linked: LinkedRepo): NonNullable<RepoBody['gitHost']> {
  const { host, name, linkedId, readThrough, sinceMs } = linked;
  return { host, repo: name, repoId: linkedId, ...(readThrough && { readThrough }), since: iso(sinceMs) };
}

function publicReadBody({ monthlyLimitBytes, sinceMs }: PublicRead): NonNullable<RepoBody['publicRead']> {
  return { monthlyLimitBytes, since: iso(sinceMs) };
}
