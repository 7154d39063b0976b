import type { DownloadDay, DownloadPlace, Downloads } from '../../adapters/dynamodb/downloads.ts';
import type { Deps } from '../../deps.ts';
import { compareKeys } from '../../rules/names.ts';
import { dayAfterMs, dayOf } from '../../rules/text.ts';

type DayInput = Parameters<Downloads['days']>[0];

const readsMax = 20;
const readSizeMin = 200;

/**
 * A page of what was offered of a tenant's repos, by day, repo and token. What was offered of other repos than these is
 * read over, up to a bound for each request: a page may be short. Where the next one begins names none of the others.
 *
 * @param input.repos null: all of the tenant.
 * @throws {LedgerUnavailableError}
 */
export async function listDownloadDays(
  { downloads }: Pick<Deps, 'downloads'>,
  input: DayInput & { readonly repos: readonly string[] | null },
): Promise<{ days: readonly DownloadDay[]; next: DownloadPlace | null }> {
  const { repos, ...whole } = input;
  if (repos === null) return downloads.days(whole);
  const { pageSize, after, ...range } = whole;
  const names = [...repos].sort(compareKeys);
  const found: DownloadDay[] = [];
  let place = after;
  for (let reads = 0; reads < readsMax; reads += 1) {
    const { days, next } = await downloads.days({
      ...range,
      pageSize: Math.max(pageSize, readSizeMin),
      ...(place && { after: place }),
    });
    found.push(...days.filter(({ repo }) => names.includes(repo)));
    const last = found.length > pageSize ? found[pageSize - 1] : undefined;
    if (last) return { days: found.slice(0, pageSize), next: last };
    if (next === null) return { days: found, next: null };
    place = ownPlaceFrom(next, names);
  }
  return { days: found, next: place ?? null };
}

/** The place itself if it is of one of these repos, or else the place before the next one that is. */
function ownPlaceFrom(place: DownloadPlace, names: readonly string[]): DownloadPlace {
  if (names.includes(place.repo)) return place;
  const repo = names.find((name) => compareKeys(name, place.repo) > 0);
  if (repo !== undefined) return { day: place.day, repo, tokenId: '' };
  return { day: dayOf(dayAfterMs(Date.parse(place.day))), repo: names[0] ?? '', tokenId: '' };
}
