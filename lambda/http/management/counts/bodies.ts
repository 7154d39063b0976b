import { iso } from '../../../api/contract/fields.ts';
import type { CountProgress, RepoRecord } from '../../../domain/tenant.ts';
import type { CountBody } from './schemas.ts';

/** Nothing of a repo that is no giant. */
export function countBody({ repo, giant, countPausedAtMs, countCancelledAtMs = 0 }: RepoRecord): CountBody[] {
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
