import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { encodeCursor, iso, noQuery, pageSizeDefault } from '../../../api/contract/fields.ts';
import { json, type Response } from '../../../api/http.ts';
import { type Reader, refuseBeyondRepos, seesRepo } from '../../../api/management/access.ts';
import { problem, repoNotFound } from '../../../api/problems.ts';
import { auditText } from '../../../domain/audit.ts';
import { exportIdPattern } from '../../../domain/export/export-id.ts';
import { type ExportJob, isOpen } from '../../../domain/export/export-job.ts';
import type { TenantRecord } from '../../../domain/tenant.ts';
import { actorOf } from '../../../use-cases/audited.ts';
import { cancelExport } from '../../../use-cases/exports/cancel-export.ts';
import { listExports as listExportsUseCase, readExport } from '../../../use-cases/exports/list-exports.ts';
import {
  prepareExport,
  type StartExportOutcome,
  startsPerDayMax,
} from '../../../use-cases/exports/start-export.ts';
import { requestKey } from '../idempotency.ts';
import {
  changeByAnyone,
  jsonBody,
  type ManagementDeps,
  noBody,
  type Operations,
  operation,
} from '../operation.ts';
import { exportsAccess, openExportsAccess } from './access.ts';
import { exportBody, signedArchives } from './bodies.ts';
import { exportQuery, startExportBody, startExportBodyBytesMax } from './requests.ts';

/** The newest first, a page at a time. */
const listExports = operation(
  { access: exportsAccess, query: exportQuery, body: noBody },
  async (deps, { tenant: owner, token, query: { limit = pageSizeDefault, cursor } }) => {
    const sees = (job: ExportJob) => seesExport({ token }, job);
    const page = { owner, sees, pageSize: limit, ...(cursor && { cursor }) };
    const { jobs, nextCursor } = await listExportsUseCase(deps, page);
    return json(200, {
      exports: jobs.map((job) => exportBody(job)),
      nextCursor: nextCursor === null ? null : encodeCursor(nextCursor),
    });
  },
);

const startExport = changeByAnyone(
  {
    action: 'export.start',
    access: openExportsAccess,
    query: noQuery,
    body: jsonBody(startExportBody, startExportBodyBytesMax),
  },
  async (deps, { tenant: { tenant }, token, body, event }) => {
    const key = requestKey(event);
    if (!key.ok) return key.response;
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
      requestKey: key.requestKey,
    });
    if (prepared.kind === 'key-reused') return key.reused();
    if (prepared.kind === 'removed')
      return problem(
        'export-not-found',
        'The export that this key began is over and removed. Use a new key.',
      );
    if (prepared.kind !== 'ready') return startAnswer(prepared, { tenant, token });
    return async (trail) => {
      const outcome = await prepared.begin();
      if (outcome.kind === 'started') trail.became(exportSummary(outcome.job));
      return startAnswer(outcome, { tenant, token });
    };
  },
);

function startAnswer(
  outcome: StartExportOutcome,
  { tenant, token }: { tenant: string } & Pick<Reader, 'token'>,
): Response {
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
    case 'tenant-closed':
      return problem('tenant-closed', `The tenant ${tenant} is being deleted.`);
  }
}

const showExport = operation(
  { access: exportsAccess, query: noQuery, body: noBody },
  async (deps, { tenant: owner, token, event }) => {
    const job = await findExport(deps, { owner, token, event });
    return job ? shown(deps, job) : exportNotFound(owner.tenant);
  },
);

/** One that has ended stays as it is: what is left of it is removed, which may not have been begun. */
const deleteExport = changeByAnyone(
  { action: 'export.delete', access: exportsAccess, query: noQuery, body: noBody },
  async (deps, { tenant: owner, token, event }) => {
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
);

/** What the audit has of an export. */
function exportSummary({ exportId, state, request }: ExportJob) {
  const { repo, format, isDryRun, listedObjects, isNamed } = request;
  return { exportId, state, repo, format, dryRun: isDryRun, listedObjects, named: isNamed };
}

async function shown(deps: ManagementDeps, job: ExportJob): Promise<Response> {
  return json(200, exportBody(job, await signedArchives(deps, job)));
}

/** The export of the path, if it is there for this reader. */
async function findExport(
  deps: ManagementDeps,
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

function exportNotFound(tenant: string): Response {
  return problem('export-not-found', `The tenant ${tenant} has no export of that id.`);
}

function allPlacesTaken(tenant: string, holders: readonly ExportJob[]): Response {
  const whose = holders.map(({ exportId, expiresAtMs }) => `${exportId} until ${iso(expiresAtMs)}`);
  const taken = whose.length > 0 ? `: ${whose.join(', ')}` : '';
  return problem(
    'exports-full',
    `The tenant ${tenant} has no place for another export. They are taken${taken}. Delete one, or wait until then.`,
  );
}

export const exportOperations = {
  'GET /v1/tenants/{tenant}/exports': listExports,
  'POST /v1/tenants/{tenant}/exports': startExport,
  'GET /v1/tenants/{tenant}/exports/{exportId}': showExport,
  'DELETE /v1/tenants/{tenant}/exports/{exportId}': deleteExport,
} satisfies Operations;
