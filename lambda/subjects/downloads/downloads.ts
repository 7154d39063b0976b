import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { dayAfterMs, dayOf, monthOf, nextMonthMs } from '../../core/rules/dates.ts';
import { compareKeys } from '../../core/rules/names.ts';
import type { Meter, Offer, OverLimit } from '../../frame/access/seams.ts';
import type { DownloadDay, DownloadPlace, Downloads } from './download-store.ts';
import type { DownloadPorts } from './ports.ts';

/** Random characters of an offer's `writeId`. */
export const writeIdCharacters = 8;

type MeterDeps = Pick<CoreDeps, 'ids' | 'log'> & Pick<DownloadPorts, 'downloads'>;

/**
 * Meters what a batch offers.
 *
 * Without a limit a table that does not answer keeps nobody from downloading: then the offer is not metered. The month is
 * what the limit is compared with, and what is billed; a day that is not written down only misses in the list of days.
 *
 * @throws {LedgerUnavailableError} if the tenant has a limit. The month may have been metered if no attempt was answered.
 */
export const downloadMeter =
  (deps: MeterDeps): Meter =>
  async (offered) =>
    (await meterOffer(deps, offered)) === 'metered' ? undefined : overLimit(deps, offered);

/** @throws as {@link downloadMeter}. */
async function meterOffer(
  { downloads, ids, log }: MeterDeps,
  { tenant, ...sum }: Offer,
): Promise<'metered' | 'over-limit'> {
  const limitBytes = tenant.downloadLimitBytes;
  const offer = { ...sum, tenant: tenant.tenant, writeId: ids.random(writeIdCharacters) };
  const orLog = (writing: Promise<unknown>) =>
    writing.catch((error: unknown) => {
      log.warn('downloads not metered', { tenant: offer.tenant, repo: offer.repo, error });
    });
  if (limitBytes === null) {
    await Promise.all([orLog(downloads.meter({ ...offer, limitBytes })), orLog(downloads.addToDay(offer))]);
    return 'metered';
  }
  const outcome = await downloads.meter({ ...offer, limitBytes });
  if (outcome === 'metered') await orLog(downloads.addToDay(offer));
  return outcome;
}

async function overLimit({ downloads }: MeterDeps, { tenant, atMs, bytes }: Offer): Promise<OverLimit> {
  const { bytes: offeredBytes } = await downloads.month({ tenant: tenant.tenant, month: monthOf(atMs) });
  const limitBytes = tenant.downloadLimitBytes ?? Number.MAX_SAFE_INTEGER;
  return { kind: 'over-limit', limitBytes, offeredBytes, askedBytes: bytes, resetsAtMs: nextMonthMs(atMs) };
}

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
  { downloads }: Pick<DownloadPorts, 'downloads'>,
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
