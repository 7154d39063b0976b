import { iso, noQuery } from '../../../api/contract/fields.ts';
import { json, pathRepo, type Response } from '../../../api/http.ts';
import { managerAccess } from '../../../api/management/access.ts';
import { problem, repoNotFound } from '../../../api/problems.ts';
import { cancelCleanup } from '../../../use-cases/cleanup/cancel-cleanup.ts';
import { openCleanup } from '../../../use-cases/cleanup/open-cleanup.ts';
import { readCleanup } from '../../../use-cases/cleanup/read-cleanup.ts';
import {
  type NotReady,
  signKeepSet,
  startRun as startRunUseCase,
} from '../../../use-cases/cleanup/start-run.ts';
import { change, jsonBody, noBody, type Operations, openManagerAccess, operation } from '../operation.ts';
import { cleanupBody } from './bodies.ts';
import { cleanupRunBody, day, keepSetBody, minAgeDaysDefault, openCleanupBody } from './requests.ts';

/** From now on each push notes what it names. */
const open = change(
  { action: 'cleanup.open', access: openManagerAccess, query: noQuery, body: jsonBody(openCleanupBody) },
  async (deps, { tenant: { tenant }, event }) => {
    const repo = pathRepo(event);
    if (repo === undefined) return repoNotFound(tenant);
    const outcome = await openCleanup(deps, { tenant, repo });
    switch (outcome.kind) {
      case 'open':
        return json(201, await cleanupBody(deps, { tenant, cleanup: outcome.cleanup }));
      case 'no-repo':
        return repoNotFound(tenant);
      case 'busy':
        return problem('cleanup-ending', `A clean-up of ${repo} is being ended. Try again in a minute.`);
    }
  },
);

const show = operation(
  { access: managerAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant }, event }) => {
    const repo = pathRepo(event);
    const cleanup = repo === undefined ? undefined : await readCleanup(deps, { tenant, repo });
    return cleanup ? json(200, await cleanupBody(deps, { tenant, cleanup })) : noCleanup(tenant);
  },
);

/** A URL to which the file of the keep-set is sent. */
const sign = change(
  { action: 'cleanup.keep-set', access: openManagerAccess, query: noQuery, body: jsonBody(keepSetBody) },
  async (deps, { tenant: { tenant }, body, event }) => {
    const repo = pathRepo(event);
    if (repo === undefined) return noCleanup(tenant);
    const outcome = await signKeepSet(deps, {
      tenant,
      repo,
      keepCount: body.objects,
      keepSha256: body.sha256,
    });
    if (outcome.kind !== 'signed') return notReady(tenant, outcome);
    return json(200, { url: outcome.put.href, headers: outcome.put.header });
  },
);

const startRun = change(
  { action: 'cleanup.run', access: openManagerAccess, query: noQuery, body: jsonBody(cleanupRunBody) },
  async (deps, { tenant: { tenant }, body, event }) => {
    const repo = pathRepo(event);
    if (repo === undefined) return noCleanup(tenant);
    const { keepSet, dryRun = true, force = false, minAgeDays = minAgeDaysDefault } = body;
    const outcome = await startRunUseCase(deps, {
      tenant,
      repo,
      keepCount: keepSet.objects,
      keepSha256: keepSet.sha256,
      isDryRun: dryRun,
      isForced: force,
      minAgeMs: minAgeDays * day,
    });
    if (outcome.kind !== 'started') return notReady(tenant, outcome);
    return json(202, await cleanupBody(deps, { tenant, cleanup: outcome.cleanup }));
  },
);

/** What is not deleted yet stays. */
const cancel = change(
  { action: 'cleanup.cancel', access: managerAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant }, event }) => {
    const repo = pathRepo(event);
    const cleanup = repo === undefined ? undefined : await cancelCleanup(deps, { tenant, repo });
    if (cleanup === 'busy')
      return problem('cleanup-running', `The clean-up of ${repo} changes all the time. Try again.`);
    return cleanup ? json(200, await cleanupBody(deps, { tenant, cleanup })) : noCleanup(tenant);
  },
);

function notReady(tenant: string, outcome: NotReady): Response {
  switch (outcome.kind) {
    case 'not-open':
      return noCleanup(tenant);
    case 'too-early':
      return problem(
        'cleanup-too-early',
        `Batches have not noted for long enough what they name. Begin at ${iso(outcome.fromMs)}: first list the refs and ` +
          'scan the clone, then send the keep-set.',
      );
    case 'running':
      return problem('cleanup-running', 'A run is under way. Wait for its end, or cancel the clean-up.');
  }
}

function noCleanup(tenant: string): Response {
  return problem('cleanup-not-found', `No clean-up of that repo of ${tenant} is open. Open one first.`);
}

export const cleanupOperations = {
  'GET /v1/tenants/{tenant}/repos/{repo}/cleanup': show,
  'POST /v1/tenants/{tenant}/repos/{repo}/cleanup': open,
  'DELETE /v1/tenants/{tenant}/repos/{repo}/cleanup': cancel,
  'POST /v1/tenants/{tenant}/repos/{repo}/cleanup/keep-set': sign,
  'POST /v1/tenants/{tenant}/repos/{repo}/cleanup/run': startRun,
} satisfies Operations;
