import { steerCount } from '../../ledger/reconcile-requests.ts';
import type { CountProgress, RepoRecord } from '../../ledger/rules/tenant.ts';
import { iso } from '../contract/fields.ts';
import { type CountBody, countContract } from '../contract/scans.ts';
import { json, pathRepo } from '../http.ts';
import { problem } from '../problems.ts';
import { operations } from './operations.ts';
import { readRepoPage } from './repos.ts';

export const countOperations = operations(countContract, {
  /** The giant repos, by name, a page of repos at a time. Most repos are none, so a page is shorter than asked for. */
  'GET /v1/tenants/{tenant}/counts': async (deps, { tenant: { tenant }, token, query }) => {
    const { repos, nextCursor } = await readRepoPage(deps, { tenant, token, ...query });
    return json(200, { counts: repos.flatMap((repo) => countBody(repo)), nextCursor });
  },

  /** Pauses the count of a giant, resumes it, or gives up a recount. */
  'PATCH /v1/tenants/{tenant}/repos/{repo}/count': async (
    deps,
    { tenant: { tenant }, body: { state }, event, trail },
  ) => {
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
          `${repo} is in its initial scan: without it, usage is unknown. Pause it instead.`,
        );
      case 'no-giant':
        return problem('repo-not-found', `${tenant} has no large repo with that name.`);
    }
  },
});

/** Nothing of a repo that is no giant. */
function countBody({ repo, giant, countPausedAtMs, countCancelledAtMs = 0 }: RepoRecord): CountBody[] {
  if (!giant) return [];
  const isRecount = giant.recountFromMs > countCancelledAtMs && giant.progress !== undefined;
  const isCounting = giant.isFirstCount === true || isRecount;
  const isPaused = countPausedAtMs !== undefined;
  return [
    {
      repo,
      kind: giant.isFirstCount ? 'first' : isRecount ? 'recount' : 'rolling',
      state: isPaused ? 'paused' : 'running',
      progress: isCounting && giant.progress ? progressBody(giant.progress, isPaused) : null,
    },
  ];
}

function progressBody(progress: CountProgress, isPaused: boolean): CountBody['progress'] {
  const { share, objectCount, listRequests, beganMs, atMs } = progress;
  const seconds = (atMs - beganMs) / 1000;
  return {
    share,
    objectCount,
    listRequests,
    objectsPerSecond: seconds > 0 ? objectCount / seconds : null,
    secondsLeft: isPaused || share === 0 ? null : Math.ceil((seconds * (1 - share)) / share),
    beganAt: iso(beganMs),
    updatedAt: iso(atMs),
  };
}
