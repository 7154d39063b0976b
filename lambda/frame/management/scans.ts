import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { steerScan } from '../../core/ledger/reconcile-requests.ts';
import type { RepoRecord, ScanProgress } from '../../core/ledger/rules/tenant.ts';
import { json, pathRepo } from '../api/http.ts';
import { problem } from '../api/problems.ts';
import { iso } from '../contract/fields.ts';
import { type ScanBody, scanContract } from '../contract/scans.ts';
import { operationsFor } from './operations.ts';
import { readRepoPage } from './repos.ts';

type Needs = Pick<CoreDeps, 'queue'>;

export const scanOperations = operationsFor<Needs>()(scanContract, {
  /** The large repos, by name, a page of repos at a time. Most repos are none, so a page is shorter than asked for. */
  'GET /v1/tenants/{tenant}/scans': async (deps, { tenant: { tenant }, token, query }) => {
    const { repos, nextCursor } = await readRepoPage(deps, { tenant, token, ...query });
    return json(200, { scans: repos.flatMap((repo) => scanBody(repo)), nextCursor });
  },

  /** Pauses the count of a large repo, resumes it, or gives up a reconcile. */
  'PATCH /v1/tenants/{tenant}/repos/{repo}/scan': async (
    deps,
    { tenant: { tenant }, body: { state }, event, trail },
  ) => {
    const repo = pathRepo(event);
    const outcome =
      repo === undefined ? ({ kind: 'not-large' } as const) : await steerScan(deps, { tenant, repo, state });
    if (outcome.kind === 'initial-scan')
      return problem(
        'scan-not-finished',
        `${repo} is in its initial scan: without it, usage is unknown. Pause it instead.`,
      );
    const [body] = outcome.kind === 'changed' ? scanBody(outcome.record) : [];
    if (outcome.kind === 'not-large' || !body)
      return problem('repo-not-found', `${tenant} has no large repo with that name.`);
    const [before] = scanBody(outcome.before);
    trail.was({ kind: before?.kind, state: before?.state });
    trail.became({ kind: body.kind, state: body.state });
    return json(200, body);
  },
});

/** Nothing of a repo that isn't large. */
function scanBody({ repo, large, scanPausedAtMs, scanCancelledAtMs = 0 }: RepoRecord): ScanBody[] {
  if (!large) return [];
  const isRequested = large.rescanFromMs > scanCancelledAtMs && large.progress !== undefined;
  const isScanning = large.isInitialScan === true || isRequested;
  const isPaused = scanPausedAtMs !== undefined;
  return [
    {
      repo,
      kind: large.isInitialScan ? 'initial' : isRequested ? 'requested' : 'rolling',
      state: isPaused ? 'paused' : 'running',
      progress: isScanning && large.progress ? progressBody(large.progress, isPaused) : null,
    },
  ];
}

function progressBody(progress: ScanProgress, isPaused: boolean): ScanBody['progress'] {
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
