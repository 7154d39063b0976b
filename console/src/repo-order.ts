import type { RepoBody } from '../../lambda/http/management/repos/schemas.ts';
import { growthOf } from './growth.ts';

export type Column = 'repo' | 'storedBytes' | 'objectCount' | 'growth' | 'countedAt';
export interface Order {
  readonly column: Column;
  readonly isDown: boolean;
}

/** By one column; then by name, so that the order does not jump. */
export function sortRepos(repos: readonly RepoBody[], { column, isDown }: Order): RepoBody[] {
  const sign = isDown ? -1 : 1;
  const value = (repo: RepoBody) =>
    column === 'growth'
      ? (growthOf(repo) ?? Number.NEGATIVE_INFINITY)
      : (repo[column] ?? (column === 'countedAt' ? '' : -1));
  return [...repos].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    if (left !== right) return left < right ? -sign : sign;
    return a.repo < b.repo ? -1 : 1;
  });
}
