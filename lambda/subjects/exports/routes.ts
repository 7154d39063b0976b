import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { TenantRecord } from '../../core/ledger/rules/tenant.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { actorOf } from '../../frame/access/audit.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import { auditText } from '../../frame/access/rules/audit.ts';
import { json, type Refusal } from '../../frame/api/http.ts';
import { problem, repoNotFound } from '../../frame/api/problems.ts';
import { encodeCursor, iso, pageSizeDefault } from '../../frame/contract/fields.ts';
import { type Reader, refuseBeyondRepos, seesRepo } from '../../frame/management/access.ts';
import { operationsFor, type RouteDeps, requestKeyReused } from '../../frame/management/operations.ts';
import { type ExportBody, exportContract } from './contract.ts';
import type { ExportPorts } from './ports.ts';
import { type ExportJob, exportIdPattern, isOpen, isUnitDone } from './rules/job.ts';
import { makesExports } from './seams.ts';
import {
  cancelExport,
  listExports,
  prepareExport,
  readExport,
  type StartExportOutcome,
  startsPerDayMax,
} from './start.ts';

type Needs = Pick<CoreDeps, 'listing' | 'signer' | 'ids'> &
  Pick<AccessPorts, 'requestKeys'> &
  ExportPorts & { readonly archives: Pick<FilePorts['archives'], 'put'> };

export const exportOperations = operationsFor<Needs>()(
  exportContract,
  {
    /** The newest first, a page at a time. */
    'GET /v1/tenants/{tenant}/exports': async (
      deps,
      { tenant: owner, token, query: { limit = pageSizeDefault, cursor } },
    ) => {
      const sees = (job: ExportJob) => seesExport({ token }, job);
      const page = { owner, sees, pageSize: limit, ...(cursor && { cursor }) };
      const { jobs, nextCursor } = await listExports(deps, page);
      return json(200, {
        exports: jobs.map((job) => exportBody(job)),
        nextCursor: nextCursor === null ? null : encodeCursor(nextCursor),
      });
    },

    'POST /v1/tenants/{tenant}/exports': async (deps, { tenant: { tenant }, token, body, requestKey }) => {
      const { format = 'tar', dryRun: isDryRun = false, objects } = body;
      const repo = body.repo ?? null;
      const refusal = refuseBeyondRepos({ token }, repo ?? undefined);
      if (refusal) return refusal;
      const { kind, name } = actorOf(token);
      const by = { kind, name: name === null ? null : auditText(name) };
      const wish = { by, tenant, repo, format, isDryRun, objects };
      const prepared = await prepareExport(deps, {
        wish,
        credentialId: token?.tokenId,
        requestKey,
      });
      if (prepared.kind === 'key-reused') return requestKeyReused();
      if (prepared.kind === 'removed')
        return problem('export-not-found', "This key's export is finished and removed. Use a new key.");
      if (prepared.kind !== 'ready') return startAnswer(prepared, { tenant, token });
      return async (trail) => {
        const outcome = await prepared.begin();
        if (outcome.kind === 'started') trail.became(exportSummary(outcome.job));
        return startAnswer(outcome, { tenant, token });
      };
    },

    'GET /v1/tenants/{tenant}/exports/{exportId}': async (deps, { tenant: owner, token, event }) => {
      const job = await findExport(deps, { owner, token, event });
      return job ? shown(deps, job) : exportNotFound(owner.tenant);
    },

    /** One that has ended stays as it is: what is left of it is removed, which may not have been begun. */
    'DELETE /v1/tenants/{tenant}/exports/{exportId}': async (deps, { tenant: owner, token, event }) => {
      const found = await findExport(deps, { owner, token, event });
      if (!found) return exportNotFound(owner.tenant);
      const cancel = async () => {
        const job = await cancelExport(deps, found);
        return { job, answer: job ? json(200, exportBody(job)) : exportNotFound(owner.tenant) };
      };
      if (!isOpen(found) && found.state !== 'done') return (await cancel()).answer;
      return async (trail) => {
        trail.was(exportSummary(found));
        const { job, answer } = await cancel();
        if (job) trail.became(exportSummary(job));
        return answer;
      };
    },
  },
  exportsOff,
);

/** Why a stage makes no exports. */
function exportsOff(deps: Pick<ExportPorts, 'exportSettings'>): Refusal | undefined {
  const detail = 'Exports are disabled (exports.workers is 0). Ask your operator.';
  return makesExports(deps) ? undefined : problem('exports-off', detail);
}

function startAnswer(
  outcome: StartExportOutcome,
  { tenant, token }: { tenant: string } & Pick<Reader, 'token'>,
) {
  switch (outcome.kind) {
    case 'started':
      return json(202, exportBody(outcome.job));
    case 'full':
      return allPlacesTaken(
        tenant,
        outcome.holders.filter((job) => seesExport({ token }, job)),
      );
    case 'too-many': {
      const detail = `${tenant} started ${startsPerDayMax} exports within 24 hours. Retry later.`;
      return problem('exports-too-many', detail, {
        'retry-after': String(Math.ceil(outcome.retryAfterMs / 1000)),
      });
    }
    case 'no-repo':
      return repoNotFound(tenant);
    case 'no-oids':
      return problem('wrong-kind', 'Files of this repo have no oids: leave out objects to export all of it.');
    case 'tenant-closed':
      return problem('tenant-closed', `The tenant ${tenant} is being deleted.`);
  }
}

/** What the audit has of an export. */
function exportSummary({ exportId, state, request }: ExportJob) {
  const { repo, format, isDryRun, listedObjects, isNamed } = request;
  return { exportId, state, repo, format, dryRun: isDryRun, listedObjects, named: isNamed };
}

async function shown(deps: Needs & RouteDeps, job: ExportJob) {
  return json(200, exportBody(job, await signedArchives(deps, job)));
}

/** The export of the path, if it is there for this reader. */
async function findExport(
  deps: Needs & RouteDeps,
  input: { owner: TenantRecord; event: APIGatewayProxyEventV2 } & Pick<Reader, 'token'>,
): Promise<ExportJob | undefined> {
  const { owner, token, event } = input;
  const exportId = event.pathParameters?.['exportId'];
  if (exportId === undefined || !exportIdPattern.test(exportId)) return undefined;
  const job = await readExport(deps, { owner, exportId });
  return job && seesExport({ token }, job) ? job : undefined;
}

/** A token for some repos sees the exports of those, and none of the whole tenant. */
function seesExport(reader: Pick<Reader, 'token'>, { request: { repo } }: ExportJob): boolean {
  return repo === null ? !reader.token?.repos : seesRepo(reader, repo);
}

function exportNotFound(tenant: string): Refusal {
  return problem(
    'export-not-found',
    `${tenant} has no export with that id. List them: lfs-quota export list.`,
  );
}

function allPlacesTaken(tenant: string, holders: readonly ExportJob[]): Refusal {
  const whose = holders.map(({ exportId, expiresAtMs }) => `${exportId} until ${iso(expiresAtMs)}`);
  const taken = whose.length > 0 ? `: ${whose.join(', ')}` : '';
  return problem(
    'exports-full',
    `All export slots of ${tenant} are in use${taken}. Delete an export, or wait.`,
  );
}

/** @param archives with URLs. Without it they are shown without. */
function exportBody(job: ExportJob, archives = archivesOf(job)): ExportBody {
  const { request, failure } = job;
  return {
    exportId: job.exportId,
    tenant: job.tenant,
    repo: request.repo,
    by: job.by,
    listedObjects: request.listedObjects,
    named: request.isNamed,
    format: request.format,
    prefer: 'time',
    dryRun: request.isDryRun,
    state: job.state,
    createdAt: iso(job.createdAtMs),
    endedAt: job.endedAtMs === null ? null : iso(job.endedAtMs),
    expiresAt: iso(job.expiresAtMs),
    progress: progressBody(job),
    plan: planBody(job),
    explained: null,
    failure: failure && { reason: failure.reason, message: failure.message },
    archives,
    countsAgainstQuota: false,
  };
}

/** The archives of an export that is done, each with a URL to download it. */
async function signedArchives(
  { signer, clock, settings }: Pick<CoreDeps, 'signer' | 'clock' | 'settings'>,
  job: ExportJob,
): Promise<ExportBody['archives']> {
  const signedAtMs = clock.nowMs();
  const lifetimeMs = settings.urlLifetimeMs;
  const urlExpiresAt = iso(signedAtMs + lifetimeMs);
  return Promise.all(
    volumesOf(job).map(async ({ key, sizeBytes }) => {
      const { href } = await signer.signDownload({ key, signedAtMs, lifetimeMs });
      return { name: nameOf(key), sizeBytes, url: href, urlExpiresAt };
    }),
  );
}

function archivesOf(job: ExportJob): ExportBody['archives'] {
  return volumesOf(job).map(({ key, sizeBytes }) => ({
    name: nameOf(key),
    sizeBytes,
    url: null,
    urlExpiresAt: null,
  }));
}

const volumesOf = ({ state, planned }: ExportJob) => (state === 'done' ? (planned?.volumes ?? []) : []);

const nameOf = (key: string) => key.slice(key.lastIndexOf('/') + 1);

function progressBody(job: ExportJob): ExportBody['progress'] {
  const units = job.planned?.units ?? 0;
  let unitsDone = 0;
  for (let unit = 0; unit < units; unit += 1) if (isUnitDone(job, unit)) unitsDone += 1;
  const { uploadedBytes, copiedBytes, hashedBytes, requests } = job.progress;
  return { share: shareOf(job), uploadedBytes, copiedBytes, hashedBytes, requests, unitsDone, units };
}

/** Of the bytes that are to be copied, uploaded and, beside that, hashed. Work that was done twice counts twice. */
function shareOf({ state, planned, progress }: ExportJob): number | null {
  if (state === 'done' || state === 'explained' || state === 'expired') return 1;
  if (!planned) return null;
  const { throughBytes, copiedBytes, hashedBytes } = planned.figures;
  const all = throughBytes + copiedBytes + hashedBytes;
  const done = progress.uploadedBytes + progress.copiedBytes + progress.hashedBytes;
  return all === 0 ? null : Math.min(1, done / all);
}

function planBody({ planned }: ExportJob): ExportBody['plan'] {
  if (!planned) return null;
  const { way, objectCount, objectBytes, missing, conflicts, figures, requests, dollars, seconds } = planned;
  const { archiveBytes, throughBytes, copiedBytes, volumes, shards } = figures;
  const known = { way, objectCount, objectBytes, missing, conflicts };
  const bytes = { archiveBytes, uploadedBytes: throughBytes, copiedBytes };
  return { ...known, ...bytes, archives: volumes, shards, requests, dollars, seconds };
}
