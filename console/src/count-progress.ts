import type { CountBody } from '../../lambda/http/management/counts/schemas.ts';

/** How far a count is, as far as it is known: repos that are counted by shards tell. */
export interface CountProgress {
  readonly what: string;
  readonly share: number;
  readonly objectCount: number;
  readonly isPaused: boolean;
}

/** Of one repo by its name, of several by their number, together. */
export function progressOf(counts: readonly CountBody[]): CountProgress | undefined {
  const known = counts.flatMap(({ repo, state, progress }) =>
    progress ? [{ repo, state, ...progress }] : [],
  );
  const [first] = known;
  if (!first) return undefined;
  return {
    what: known.length === 1 ? first.repo : `${known.length} repos`,
    share: known.reduce((sum, { share }) => sum + share, 0) / known.length,
    objectCount: known.reduce((sum, { objectCount }) => sum + objectCount, 0),
    isPaused: known.every(({ state }) => state === 'paused'),
  };
}
