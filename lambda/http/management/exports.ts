import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { exportIdPattern } from '../../domain/export/export-id.ts';
import type { ExportJob } from '../../domain/export/export-job.ts';
import { cancelExport } from '../../use-cases/exports/cancel-export.ts';
import { listExports as listExportsUseCase, readExport } from '../../use-cases/exports/list-exports.ts';
import { startExportOnce, startExport as startExportUseCase } from '../../use-cases/exports/start-export.ts';
import { problem } from '../problems.ts';
import { json, type Response } from '../respond.ts';
import { encodeCursor } from './cursor.ts';
import { exportsAccess, openExportsAccess } from './export-access.ts';
import { exportBody, signedArchives } from './export-body.ts';
import { requestKey } from './idempotency.ts';
import { jsonBody, type ManagementDeps, noBody, operation } from './operation.ts';
import { exportQuery, noQuery, pageSizeDefault, startExportBody } from './requests.ts';
import { iso } from './responses.ts';

/** The newest first, a page at a time. */
export const listExports = operation(
  { access: exportsAccess, query: exportQuery, body: noBody },
  async (deps, { tenant: owner, query: { limit = pageSizeDefault, cursor } }) => {
    const page = { owner, pageSize: limit, ...(cursor && { cursor }) };
    const { jobs, nextCursor } = await listExportsUseCase(deps, page);
    return json(200, {
      exports: jobs.map((job) => exportBody(job)),
      nextCursor: nextCursor === null ? null : encodeCursor(nextCursor),
    });
  },
);

export const startExport = operation(
  { access: openExportsAccess, query: noQuery, body: jsonBody(startExportBody) },
  async (deps, { tenant: { tenant }, body, event }) => {
    const key = requestKey(event);
    if (!key.ok) return key.response;
    const { format = 'tar', prefer = 'time', dryRun: isDryRun = false, objects } = body;
    const repo = body.repo?.replace(/\.git$/, '') ?? null;
    const wish = { tenant, repo, format, prefer, isDryRun, objects };
    const outcome =
      key.requestKey === undefined
        ? await startExportUseCase(deps, wish)
        : await startExportOnce(deps, { wish, requestKey: key.requestKey });
    switch (outcome.kind) {
      case 'started':
        return json(202, exportBody(outcome.job));
      case 'full':
        return allPlacesTaken(tenant, outcome.holders);
      case 'no-repo':
        return problem(
          'repo-not-found',
          `The tenant ${tenant} has no repo of that name with anything in it.`,
        );
      case 'tenant-closed':
        return problem('tenant-closed', `The tenant ${tenant} is being deleted.`);
      case 'removed':
        return problem(
          'export-not-found',
          'The export that this key began is over and removed. Use a new key.',
        );
      case 'key-reused':
        return key.reused();
    }
  },
);

export const showExport = operation(
  { access: exportsAccess, query: noQuery, body: noBody },
  async (deps, { tenant: owner, event }) => {
    const exportId = pathExport(event);
    const job = exportId === undefined ? undefined : await readExport(deps, { owner, exportId });
    return job ? shown(deps, job) : exportNotFound(owner.tenant);
  },
);

export const deleteExport = operation(
  { access: exportsAccess, query: noQuery, body: noBody },
  async (deps, { tenant: owner, event }) => {
    const exportId = pathExport(event);
    const found = exportId === undefined ? undefined : await readExport(deps, { owner, exportId });
    const job = found && (await cancelExport(deps, found));
    return job ? json(200, exportBody(job)) : exportNotFound(owner.tenant);
  },
);

async function shown(deps: ManagementDeps, job: ExportJob): Promise<Response> {
  return json(200, exportBody(job, await signedArchives(deps, job)));
}

/** The id of the path, if it is one. */
function pathExport(event: APIGatewayProxyEventV2): string | undefined {
  const exportId = event.pathParameters?.['exportId'];
  return exportId !== undefined && exportIdPattern.test(exportId) ? exportId : undefined;
}

function exportNotFound(tenant: string): Response {
  return problem('export-not-found', `The tenant ${tenant} has no export of that id.`);
}

function allPlacesTaken(tenant: string, holders: readonly ExportJob[]): Response {
  const whose = holders.map(({ exportId, expiresAtMs }) => `${exportId} until ${iso(expiresAtMs)}`);
  const taken = whose.length > 0 ? `: ${whose.join(', ')}` : ' just now';
  return problem(
    'exports-full',
    `The tenant ${tenant} has no place for another export. They are taken${taken}. Delete one, or wait until then.`,
  );
}
