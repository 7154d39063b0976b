import { formatCount } from '../../cli/render.ts';
import type { RepoBody } from '../../lambda/http/management/repos/schemas.ts';
import { bytesText } from './text.ts';

/**
 * How many repos there are and what they have together; and why that is not what the tenant has, if it is not.
 *
 * @param options.totalBytes of the tenant. null: never counted.
 * @param options.isForSome whoever has signed in sees some repos alone.
 */
export function repoSumText(
  repos: readonly RepoBody[],
  { totalBytes, isForSome }: { totalBytes: number | null; isForSome: boolean },
): string {
  const sum = repos.reduce((bytes, { storedBytes }) => bytes + (storedBytes ?? 0), 0);
  const unknown = repos.filter(({ storedBytes }) => storedBytes === null).length;
  const text = `all ${formatCount(repos.length)}, together ${bytesText(sum)}`;
  if (totalBytes === null || sum === totalBytes) return text;
  const of = `of ${bytesText(totalBytes)} in all`;
  if (isForSome) return `the ${formatCount(repos.length)} of your token, together ${bytesText(sum)} ${of}`;
  const why = unknown > 0 ? `${formatCount(unknown)} not counted yet` : 'some counted at another time';
  return `${text} ${of}: ${why}`;
}
