import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { requestOrLog } from '../../core/ledger/reconcile-requests.ts';
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
import { dayOf } from '../../core/rules/dates.ts';
import { compareKeys, repoPrefix } from '../../core/rules/names.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { hasKeys } from '../../core/store/rules/store.ts';
import type { AuditTrail } from '../access/audit.ts';
import { createRepo, findRepo, limitRepo } from '../access/repos.ts';
import { json, pathRepo, type Refusal, receivedAtMs } from '../api/http.ts';
import { problem, repoNotFound, tenantNotFound } from '../api/problems.ts';
import { deletingMark, encodeCursor, iso, pageSizeDefault } from '../contract/fields.ts';
import { type RepoBody, type RepoContract, reconcileContract } from '../contract/repos.ts';
import { type Reader, seenRepo } from './access.ts';
import { operationsFor, type RouteDeps, type RunsOf } from './operations.ts';
import type { Fields, ManagementPorts, PreparedChange, RepoPart } from './seams.ts';

type Needs = Pick<CoreDeps, 'listing' | 'storageClasses' | 'queue'> &
  Pick<FilePorts, 'proveOnlyNew' | 'adoptedRepos'> &
  Pick<ManagementPorts, 'repoParts'>;

const runs: RunsOf<Needs, RepoContract> = {
  /**
   * By name, a page at a time. An empty repo is not shown: a page may be shorter than asked for without being the
   * last.
   */
  'GET /v1/tenants/{tenant}/repos': async (deps, { tenant, token, query }) => {
    const { limit, cursor } = query;
    const [{ repos: records, uploading, nextCursor }, of] = await Promise.all([
      readRepoPage(deps, { tenant: tenant.tenant, token, limit, cursor }),
      partsOfMany(deps.repoParts, { tenant: tenant.tenant, in: 'page' }),
    ]);
    const found = reposBody(records, { ...tenant, today: dayOf(deps.clock.nowMs()), of });
    const shown = await withMore(deps, { tenant: tenant.tenant, records, repos: found, asked: query });
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
    const kind = body.kind === 'files' ? body.kind : undefined;
    const refusal = kind && (await cantHaveFiles(deps, { tenant: tenant.tenant, repo: body.repo }));
    if (refusal) return refusal;
    const outcome = await createRepo(deps, { tenant, beganMs: receivedAtMs(event), ...body, kind });
    switch (outcome.kind) {
      case 'created': {
        trail.became(body);
        const location = `/v1/tenants/${tenant.tenant}/repos/${body.repo}`;
        return json(201, repoBody(outcome.record, outcome), { location });
      }
      case 'exists':
        return problem('repo-exists', `The repo ${name} already exists.`);
      case 'other-kind':
        return problem(
          'wrong-kind',
          `${name} was of another kind until it was deleted, and its uploads might still be in progress. Retry after a day, or use another name.`,
        );
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
    const repo = seenRepo({ token }, event);
    if (repo === undefined) return repoNotFound(tenant.tenant);
    const path = { tenant: tenant.tenant, repo };
    const { record, body: shown } = await readShown(deps, { tenant, path });
    const [uploading] = shown ? [] : await uploadingRepos(deps, { tenant: tenant.tenant, repos: [repo] });
    const body = uploading === undefined ? shown : uploadingBody(uploading, tenant);
    if (!body) return repoNotFound(tenant.tenant);
    const records = record ? [record] : [];
    const [all = body] = await withMore(deps, { tenant: tenant.tenant, records, repos: [body] });
    return json(200, all);
  },

  /** Sets or lifts the limit of a repo, its storage class, and what subjects let be set of it. */
  'PATCH /v1/tenants/{tenant}/repos/{repo}': async (deps, { tenant, isAdmin, body, event, trail }) => {
    const repo = pathRepo(event);
    if (repo === undefined) return repoNotFound(tenant.tenant);
    const { limitBytes, storageClass } = body;
    // All that may be refused comes before the first write: what is answered by a refusal has changed nothing.
    const marks: (() => Promise<void>)[] = [];
    const ofClass = () =>
      storageClass === undefined
        ? undefined
        : prepareStorageClass(deps, { tenant, repo, storageClass, isAdmin, trail });
    for (const prepare of [...deps.repoParts.map((part) => part.prepare), ofClass]) {
      const prepared = await prepare?.({ tenant, repo, body, isAdmin, trail });
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
    const { record, body: shown } = await readShown(deps, { tenant: limited.tenant, path, isThere: true });
    return json(200, shown ?? repoBody(record ?? unknownRepo(repo), limited));
  },
};

/** @param said with what subjects add. */
export const repoOperations = (said: RepoContract) => operationsFor<Needs>()(said, runs);

export const reconcileOperations = operationsFor<Pick<CoreDeps, 'queue'>>()(reconcileContract, {
  /** Queues a full reconcile. */
  'POST /v1/tenants/{tenant}/reconcile': async (deps, { tenant: { tenant } }) => {
    await deps.queue.request({ tenant, reason: 'manual', full: true });
    return json(202, { tenant, queued: true }, { location: `/v1/tenants/${tenant}/subscription` });
  },
});

/** Why the store has a flaw, to follow its name. */
const flaws = {
  rejects: 'rejects uploads with If-None-Match',
  unmarked: 'keeps no metadata',
  waits: "ends no upload that's in progress",
  replaces: 'ignores If-None-Match',
  'replaces-late': 'checks If-None-Match only when an upload starts',
} as const;

/** Why a repo can't be of files, whatever else is so. */
async function cantHaveFiles(
  deps: Pick<CoreDeps, 'ledger' | 'listing' | 'queue' | 'log'> & Pick<Needs, 'proveOnlyNew' | 'adoptedRepos'>,
  path: RepoPath,
): Promise<Refusal | undefined> {
  const { proveOnlyNew, adoptedRepos } = deps;
  if (adoptedRepos.at(repoPrefix(path)))
    return problem('wrong-kind', `${path.tenant}/${path.repo} is an adopted repo: those are for Git LFS.`);
  const { kind } = await proveOnlyNew();
  if (kind === 'holds') return isUncounted(deps, path);
  return problem(
    'store-cannot',
    `The object store ${flaws[kind]}, so it can't have repos of files. Git LFS works. Test the store: lfs-quota doctor.`,
  );
}

/** What others have put there counts before the first upload, or uploads exceed the limit. It's counted then. */
async function isUncounted(
  deps: Pick<CoreDeps, 'ledger' | 'listing' | 'queue' | 'log'>,
  path: RepoPath,
): Promise<Refusal | undefined> {
  const record = await deps.ledger.readRepo(path);
  const isKnown = record && (record.closedAtMs !== null || isThere(record));
  if (isKnown || !(await hasKeys(deps.listing, repoPrefix(path)))) return undefined;
  await requestOrLog(deps, { tenant: path.tenant, reason: 'import', full: true });
  const detail = `${path.tenant}/${path.repo} has objects that are being counted.`;
  return problem('usage-checking', detail, { 'retry-after': '10' });
}

/** What all say of each of many repos. undefined: nothing. */
export async function partsOfMany(
  parts: readonly RepoPart[],
  input: Parameters<Required<RepoPart>['ofMany']>[0],
): Promise<(record: RepoRecord) => Fields | undefined> {
  const all = await Promise.all(parts.map((part) => part.ofMany?.(input)));
  return (record) => joined(all.map((of) => of?.(record)));
}

const joined = (all: readonly (Fields | undefined)[]): Fields | undefined =>
  all.some(Boolean) ? Object.assign({}, ...all) : undefined;

/** Repos with what else is said of those that are shown. */
async function withMore(
  { repoParts }: Pick<Needs, 'repoParts'>,
  input: { tenant: string; records: readonly RepoRecord[]; repos: readonly RepoBody[]; asked?: Fields },
): Promise<RepoBody[]> {
  const { tenant, asked } = input;
  const repos = input.repos.map(({ repo }) => repo);
  const names = new Set(repos);
  const records = input.records.filter(({ repo }) => names.has(repo));
  const all = await Promise.all(repoParts.map((part) => part.ofShown?.({ tenant, repos, records, asked })));
  return input.repos.map((body) => ({ ...body, ...joined(all.map((of) => of?.get(body.repo))) }));
}

/** A repo as it is shown. @param input.isThere it is shown though it has no record. */
async function readShown(
  deps: Pick<Needs & RouteDeps, 'ledger' | 'clock' | 'repoParts'>,
  input: { tenant: TenantRecord; path: RepoPath; isThere?: boolean },
): Promise<{ record: RepoRecord | undefined; body: RepoBody | undefined }> {
  const { tenant, path } = input;
  const [record, ...parts] = await Promise.all([
    deps.ledger.readRepo(path),
    ...deps.repoParts.map((part) => part.ofOne?.(path)),
  ]);
  if (!record && !input.isThere && !parts.some(Boolean)) return { record, body: undefined };
  const shown = record ?? unknownRepo(path.repo);
  const said = joined(await Promise.all(parts.map((of) => of?.(shown))));
  const [body] = reposBody([shown], { ...tenant, today: dayOf(deps.clock.nowMs()), of: () => said });
  return { record, body };
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
): Promise<PreparedChange> {
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
export type RepoContext = TenantOfRepos & {
  /** Such as `2026-11-21`. */
  readonly today: string;
  /** What subjects say of it. */
  readonly of: (record: RepoRecord) => Fields | undefined;
};

/**
 * The repos that are shown: those that are there, have a limit, those of which a subject says something, and those that are
 * being deleted until they are open again.
 */
export function reposBody(repos: readonly RepoRecord[], { today, of, ...tenant }: RepoContext): RepoBody[] {
  return repos.flatMap((record) => {
    const said = of(record);
    const isShown =
      record.closedAtMs !== null ||
      said ||
      isThere(record) ||
      record.storageClass !== undefined ||
      tenant.repoLimits.has(record.repo);
    return isShown ? { ...repoBody(record, { today, tenant }), ...said } : [];
  });
}

function repoBody(
  record: RepoRecord,
  context: {
    tenant: TenantOfRepos;
    /** Omitted: it was created just now, or there is no such repo any more. */
    today?: string;
  },
): RepoBody {
  const { tenant, today } = context;
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
    ...(record.kind && { kind: record.kind }),
    ...storageClassMark(record),
    ...deletingMark(closedAtMs),
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

export function repoClosed(name: string): Refusal {
  return problem('repo-closed', `The repo ${name} is being deleted. You can reuse its name once it's empty.`);
}
