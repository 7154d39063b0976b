import { keepFromDeletion } from '../../core/ledger/admit-upload.ts';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import {
  type DeletePlan,
  deleteRepo,
  deleteTenant,
  listDeletions,
  markObject,
} from '../../core/ledger/deletes.ts';
import { openDeletionsMax } from '../../core/ledger/rules/deletion.ts';
import { objectKey } from '../../core/rules/names.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { fileReposOf } from '../access/files.ts';
import { wrongKind } from '../access/rules/kinds.ts';
import { json, pathOid, pathRepo } from '../api/http.ts';
import { problem, repoNotFound } from '../api/problems.ts';
import {
  type DeletePlanBody,
  deleteContract,
  deletionCursor,
  deletionIdBytesMax,
} from '../contract/deletes.ts';
import { iso, pageSizeDefault } from '../contract/fields.ts';
import { refuseBeyondRepos } from './access.ts';
import { operationsFor } from './operations.ts';

type Needs = Pick<CoreDeps, 'store' | 'listing' | 'queue' | 'ids' | 'belongings'> &
  Pick<FilePorts, 'adoptedRepos'>;

export const deleteOperations = operationsFor<Needs>()(deleteContract, {
  /** Repo by repo, a page at a time. */
  'GET /v1/tenants/{tenant}/deletions': async (
    deps,
    { tenant: { tenant }, token, query: { limit = pageSizeDefault, cursor, repo } },
  ) => {
    const refusal = refuseBeyondRepos({ token }, repo);
    if (refusal) return refusal;
    // The table has no longer keys.
    if (cursor && Buffer.byteLength(cursor.deletionId) > deletionIdBytesMax)
      return problem('invalid-query', 'cursor: must be the nextCursor of the previous page.');
    const fileRepos = await fileReposOf(deps, { tenant, repo: repo ?? null });
    const { deletions, next } = await listDeletions(deps, {
      tenant,
      pageSize: limit,
      ...(repo !== undefined && { repo }),
      ...(cursor && { after: cursor }),
    });
    return json(200, {
      deletions: deletions
        .filter((each) => !fileRepos.has(each.repo))
        .map(({ dueAtMs, ...deletion }) => ({ ...deletion, dueAt: iso(dueAtMs) })),
      nextCursor: next && deletionCursor.encode(next),
    });
  },

  'DELETE /v1/tenants/{tenant}': async (deps, { tenant, query: { dryRun = false }, trail }) => {
    const [adopted] = deps.adoptedRepos.of(tenant.tenant);
    if (adopted)
      return problem(
        'tenant-has-adopted',
        `${tenant.tenant}/${adopted.repo} is an adopted repo: another server uses its objects. To keep them, remove it from the setting adoptedRepos first. To delete them too, delete that repo first.`,
      );
    const { plan: tariff, limitBytes, downloadLimitBytes } = tenant;
    trail.was({ plan: tariff, limitBytes, downloadLimitBytes });
    const plan = await deleteTenant(deps, { tenant, dryRun });
    trail.became(numbersOf(plan));
    return json(dryRun ? 200 : 202, deletePlanBody({ tenant: tenant.tenant }, plan));
  },

  'DELETE /v1/tenants/{tenant}/repos/{repo}': async (
    deps,
    { tenant: { tenant, repoLimits }, query: { dryRun = false }, event, trail },
  ) => {
    const repo = pathRepo(event);
    const path = repo === undefined ? undefined : { tenant, repo };
    const hasLimit = repo !== undefined && repoLimits.has(repo);
    const plan = path && (await deleteRepo(deps, { ...path, dryRun, hasLimit }));
    if (!plan) return repoNotFound(tenant);
    trail.became(numbersOf(plan));
    return json(dryRun ? 200 : 202, deletePlanBody(path, plan));
  },

  'DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}': async (
    deps,
    { tenant: { tenant }, query: { dryRun = false }, event, trail },
  ) => {
    const [repo, oid] = [pathRepo(event), pathOid(event)];
    const path = repo === undefined || oid === undefined ? undefined : { tenant, repo, oid };
    const wrong = path && wrongKind(await deps.ledger.readRepo(path), { ...path, needed: 'lfs' });
    if (wrong !== undefined) return problem('wrong-kind', wrong);
    const plan = path && (await markObject(deps, { ...path, dryRun }));
    if (plan === 'full')
      return problem(
        'deletions-full',
        `${openDeletionsMax.toLocaleString('en-US')} deletions of ${tenant} are pending. Retry in about an hour. To delete more at once, run lfs-quota gc, or delete the repo.`,
        { 'retry-after': '600' },
      );
    if (!plan) return problem('object-not-found', `${tenant} doesn't have that object in that repo.`);
    trail.became(numbersOf(plan));
    return json(dryRun ? 200 : 202, deletePlanBody(path, plan));
  },

  'POST /v1/tenants/{tenant}/repos/{repo}/objects/{oid}/keep': async (deps, { tenant, event }) => {
    const [repo, oid] = [pathRepo(event), pathOid(event)];
    const notFound = () =>
      problem('object-not-found', `${tenant.tenant} doesn't have that object in that repo.`);
    if (repo === undefined || oid === undefined) return notFound();
    const path = { tenant: tenant.tenant, repo, oid };
    const record = await deps.ledger.readRepo(path);
    const wrong = wrongKind(record, { ...path, needed: 'lfs' });
    if (wrong !== undefined) return problem('wrong-kind', wrong);
    // What is left of a repo that was deleted goes with it.
    const stored = record && record.closedAtMs !== null ? undefined : await deps.store.head(objectKey(path));
    if (!stored) return notFound();
    const sizes = new Map([[oid, stored.sizeBytes]]);
    const outcome = await keepFromDeletion(deps, { ...tenant, repo, names: sizes, stored: sizes });
    if (outcome === 'deleting')
      return problem('object-deleting', 'Its deletion has started. Push it again in about an hour.');
    return json(200, { ...path, sizeBytes: stored.sizeBytes });
  },
});

/** What the delete takes away, and when. */
function numbersOf({ objectCount, bytes, dueAtMs }: DeletePlan) {
  return { objectCount, bytes, dueAt: iso(dueAtMs) };
}

/** What the delete of a whole tenant, one of its repos, or one object frees. */
function deletePlanBody(
  path: { tenant: string; repo?: string; oid?: string },
  plan: DeletePlan,
): DeletePlanBody {
  const { objectCount, bytes, dueAtMs, waitsFor } = plan;
  return { ...path, objectCount, bytes, dueAt: iso(dueAtMs), ...(waitsFor && { waitsFor }) };
}
