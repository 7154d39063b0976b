import type { RepoBody } from '../../lambda/http/management/repos/schemas.ts';
import { bytesText, dayText } from './text.ts';

const comparedDays = 30;
const dayMs = 86_400_000;

/** By how much a repo has grown since the day with which it is compared. undefined: not known. */
export const growthOf = ({ storedBytes, before }: Pick<RepoBody, 'storedBytes' | 'before'>) =>
  before === undefined || storedBytes === null ? undefined : storedBytes - before.storedBytes;

/** `+9.4 GiB`, `−2.6 GiB`, `0 B`; and since when, if that is not as long ago as its heading says. */
export function growthText(repo: Pick<RepoBody, 'storedBytes' | 'before'>, nowMs: number) {
  const growth = growthOf(repo);
  if (growth === undefined || repo.before === undefined) return { text: '–', since: '' };
  const sign = growth === 0 ? '' : growth > 0 ? '+' : '\u2212';
  const from = new Date(nowMs - comparedDays * dayMs).toISOString().slice(0, 10);
  return {
    text: sign + bytesText(Math.abs(growth)),
    // Its year is clear.
    since: repo.before.day > from ? `since ${dayText(repo.before.day).slice(0, -5)}` : '',
  };
}
