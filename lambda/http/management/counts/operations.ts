import { noQuery, pageQuery } from '../../../api/contract/fields.ts';
import { json, pathRepo } from '../../../api/http.ts';
import { managerAccess, readerAccess } from '../../../api/management/access.ts';
import { problem } from '../../../api/problems.ts';
import { steerCount } from '../../../use-cases/recounts/steer-count.ts';
import { change, jsonBody, noBody, type Operations, operation } from '../operation.ts';
import { readRepoPage } from '../repos/page.ts';
import { countBody } from './bodies.ts';
import { steerCountBody } from './requests.ts';

/** The giant repos, by name, a page of repos at a time. Most repos are none, so a page is shorter than asked for. */
const listCounts = operation(
  { access: readerAccess, query: pageQuery, body: noBody },
  async (deps, { tenant: { tenant }, token, query }) => {
    const { repos, nextCursor } = await readRepoPage(deps, { tenant, token, ...query });
    return json(200, { counts: repos.flatMap((repo) => countBody(repo)), nextCursor });
  },
);

/** Pauses the count of a giant, resumes it, or gives up a recount. */
const changeCount = change(
  { action: 'count.steer', access: managerAccess, query: noQuery, body: jsonBody(steerCountBody) },
  async (deps, { tenant: { tenant }, body: { state }, event, trail }) => {
    const repo = pathRepo(event);
    const outcome =
      repo === undefined ? ({ kind: 'no-giant' } as const) : await steerCount(deps, { tenant, repo, state });
    switch (outcome.kind) {
      case 'changed': {
        const [before] = countBody(outcome.before);
        const [body] = countBody(outcome.record);
        trail.was({ kind: before?.kind, state: before?.state });
        trail.became({ kind: body?.kind, state: body?.state });
        return json(200, body);
      }
      case 'first-count':
        return problem(
          'count-not-ended',
          `The repo ${repo} is being counted for the first time, and unknown until that has ended. Pause it instead.`,
        );
      case 'no-giant':
        return problem(
          'repo-not-found',
          `The tenant ${tenant} has no repo of that name that is counted by shards.`,
        );
    }
  },
);

export const countOperations = {
  'GET /v1/tenants/{tenant}/counts': listCounts,
  'PATCH /v1/tenants/{tenant}/repos/{repo}/count': changeCount,
} satisfies Operations;
