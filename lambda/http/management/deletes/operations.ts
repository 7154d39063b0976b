import type * as z from 'zod';
import { encodeDeletionCursor, iso, pageSizeDefault } from '../../../api/contract/fields.ts';
import { json, pathOid, pathRepo } from '../../../api/http.ts';
import {
  adminTenantAccess,
  managerAccess,
  readerAccess,
  refuseBeyondRepos,
} from '../../../api/management/access.ts';
import { problem, repoNotFound } from '../../../api/problems.ts';
import { openDeletionsMax } from '../../../domain/deletion.ts';
import {
  type DeletePlan,
  deleteRepo as deleteRepoUseCase,
  deleteTenant as deleteTenantUseCase,
  markObject,
} from '../../../use-cases/deletes/delete-objects.ts';
import { listDeletions as listDeletionsUseCase } from '../../../use-cases/deletes/list-deletions.ts';
import { cancelExportsOf } from '../../../use-cases/exports/cancel-export.ts';
import { makesExports } from '../exports/access.ts';
import { change, type ManagementDeps, noBody, type Operations, operation } from '../operation.ts';
import { deletePlanBody, deletionBody } from './bodies.ts';
import { deleteQuery, deletionQuery } from './requests.ts';

const needs = {
  access: managerAccess,
  query: deleteQuery,
  body: noBody,
  isTrial: ({ query: { dryRun = false } }: { query: z.output<typeof deleteQuery> }) => dryRun,
} as const;

const deleteObject = change(
  { ...needs, action: 'object.delete' },
  async (deps, { tenant: { tenant }, query: { dryRun = false }, event, trail }) => {
    const [repo, oid] = [pathRepo(event), pathOid(event)];
    const path = repo === undefined || oid === undefined ? undefined : { tenant, repo, oid };
    const plan = path && (await markObject(deps, { ...path, dryRun }));
    if (plan === 'full')
      return problem(
        'deletions-full',
        `${openDeletionsMax.toLocaleString('en-US')} deletions of the tenant ${tenant} wait already. Retry when the first ` +
          'objects are deleted, an hour after they were marked. To delete more at once, run a clean-up or delete the repo.',
        { 'retry-after': '600' },
      );
    if (!plan)
      return problem('object-not-found', `The tenant ${tenant} stores no such object in such a repo.`);
    trail.became(numbersOf(plan));
    return json(dryRun ? 200 : 202, deletePlanBody(path, plan));
  },
);

const deleteRepo = change(
  { ...needs, action: 'repo.delete' },
  async (deps, { tenant: { tenant, repoLimits }, query: { dryRun = false }, event, trail }) => {
    const repo = pathRepo(event);
    const path = repo === undefined ? undefined : { tenant, repo };
    const hasLimit = repo !== undefined && repoLimits.has(repo);
    const plan = path && (await deleteRepoUseCase(deps, { ...path, dryRun, hasLimit }));
    if (!plan) return repoNotFound(tenant);
    trail.became(numbersOf(plan));
    if (!dryRun) await cancelExports(deps, path);
    return json(dryRun ? 200 : 202, deletePlanBody(path, plan));
  },
);

const deleteTenant = change(
  { ...needs, action: 'tenant.delete', access: adminTenantAccess },
  async (deps, { tenant, query: { dryRun = false }, trail }) => {
    const [adopted] = deps.adoptedRepos.of(tenant.tenant);
    if (adopted)
      return problem(
        'tenant-has-adopted',
        `The objects of ${tenant.tenant}/${adopted.repo} lie where another server put them. Take it out of the ` +
          'setting adoptedRepos first: then they stay. If they are to go too, delete that repo by its name before.',
      );
    const { plan: tariff, limitBytes, downloadLimitBytes } = tenant;
    trail.was({ plan: tariff, limitBytes, downloadLimitBytes });
    const plan = await deleteTenantUseCase(deps, { tenant, dryRun });
    trail.became(numbersOf(plan));
    if (!dryRun) await cancelExports(deps, tenant);
    return json(dryRun ? 200 : 202, deletePlanBody({ tenant: tenant.tenant }, plan));
  },
);

/** What the delete takes away, and when. */
function numbersOf({ objectCount, bytes, dueAtMs }: DeletePlan) {
  return { objectCount, bytes, dueAt: iso(dueAtMs) };
}

/** After the delete was accepted. If this fails, the delete is asked for again, and this with it. */
async function cancelExports(deps: ManagementDeps, path: { tenant: string; repo?: string }): Promise<void> {
  const { tenant, repo } = path;
  if (makesExports(deps)) await cancelExportsOf(deps, { tenant, ...(repo !== undefined && { repo }) });
}

/** Repo by repo, a page at a time. */
const listDeletions = operation(
  { access: readerAccess, query: deletionQuery, body: noBody },
  async (deps, { tenant: { tenant }, token, query: { limit = pageSizeDefault, cursor, repo } }) => {
    const refusal = refuseBeyondRepos({ token }, repo);
    if (refusal) return refusal;
    const { deletions, next } = await listDeletionsUseCase(deps, {
      tenant,
      pageSize: limit,
      ...(repo !== undefined && { repo }),
      ...(cursor && { after: cursor }),
    });
    return json(200, {
      deletions: deletions.map(deletionBody),
      nextCursor: next && encodeDeletionCursor(next),
    });
  },
);

export const deleteOperations = {
  'GET /v1/tenants/{tenant}/deletions': listDeletions,
  'DELETE /v1/tenants/{tenant}': deleteTenant,
  'DELETE /v1/tenants/{tenant}/repos/{repo}': deleteRepo,
  'DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}': deleteObject,
} satisfies Operations;
