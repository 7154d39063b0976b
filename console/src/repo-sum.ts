import { formatCount } from '../../cli/render.ts';
import type { RepoBody } from '../../lambda/http/management/repos/schemas.ts';
import { bytesText } from './text.ts';

/**
 * How many repos there are and what they have together; and why that is not what the tenant has, if it is not.
 *
 * @param options.totalBytes of the tenant. null: never counted.
 * @param options.isForSome whoever has signed in sees some repos alone.
 * @param options.isTruncated there are smaller ones.
 */
export function repoSumText(
  repos: readonly RepoBody[],
  options: { totalBytes: number | null; isForSome: boolean; isTruncated: boolean },
): string {
  const { totalBytes, isForSome, isTruncated } = options;
  const sum = repos.reduce((bytes, { storedBytes }) => bytes + (storedBytes ?? 0), 0);
  const unknown = repos.filter(({ storedBytes }) => storedBytes === null).length;
  const which = `${isTruncated ? 'largest' : 'all'} ${formatCount(repos.length)}${isForSome ? ' of your token' : ''}`;
  const text = `${which}, together ${bytesText(sum)}`;
  if (totalBytes === null || sum === totalBytes) return text;
  const all = `${text} of ${bytesText(totalBytes)} in all`;
  if (isForSome || isTruncated) return all;
  return `${all}: ${unknown > 0 ? `${formatCount(unknown)} not counted yet` : 'some counted at another time'}`;
}
