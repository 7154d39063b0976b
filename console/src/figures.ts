import { formatCount } from '../../cli/render.ts';
import type { RepoBody, SubscriptionBody } from '../../lambda/contract.ts';
import { dayMs, dayOf } from '../../lambda/core/rules/dates.ts';
import type { ObjectBody } from '../../lambda/frame/contract/objects.ts';
import type { ReservationBody } from '../../lambda/frame/contract/reservations.ts';
import type { ScanBody } from '../../lambda/frame/contract/scans.ts';
import type { TenantBody } from '../../lambda/frame/contract/tenants.ts';
import { bytesText, dayText } from './text.ts';

/** What a part that is not empty has at least, of the whole bar. */
const sliver = 0.006;

/** In bytes. */
export interface Parts {
  readonly stored: number;
  readonly reserved: number;
  readonly limit: number;
}

/** Widths of the bar, from 0 to 1. Past the limit the scale grows, and `limit` is where it stands. */
export function barOf({ stored, reserved, limit }: Parts) {
  const used = stored + reserved;
  const scale = Math.max(used, limit);
  if (scale === 0) return { stored: 0, reserved: 0, over: 0, limit: 1 };
  const share = (bytes: number) => (bytes === 0 ? 0 : Math.max(sliver, bytes / scale));
  const beyond = Math.max(0, used - limit);
  // What is beyond the limit is shown as such, whatever it is.
  const over = share(beyond);
  const room = used < limit ? 1 - sliver : 1 - over;
  const storedLeast = stored > 0 ? Math.min(sliver, room / 2) : 0;
  const reservedWidth = Math.min(share(Math.max(0, reserved - beyond)), room - storedLeast);
  const storedWidth = Math.min(share(Math.min(stored, limit)), room - reservedWidth);
  return { stored: storedWidth, reserved: reservedWidth, over, limit: 1 - over };
}

/** By the first key in which two differ, the least first. */
export const sortBy = <Item>(items: readonly Item[], keysOf: (item: Item) => readonly (string | number)[]) =>
  items
    .map((item) => ({ item, keys: keysOf(item) }))
    .sort((a, b) => {
      const at = a.keys.findIndex((key, index) => key !== b.keys[index]);
      const [left = 0, right = 0] = [a.keys[at], b.keys[at]];
      return left === right ? 0 : left < right ? -1 : 1;
    })
    .map(({ item }) => item);

/** How full, of 1; below 0 what has no such figure. */
function fillOf({ usage, limitBytes }: TenantBody): number {
  if (usage === null) return -2;
  if (limitBytes === null) return -1;
  const used = usage.storedBytes + usage.reservedBytes;
  return limitBytes === 0 ? (used > 0 ? Number.POSITIVE_INFINITY : 0) : used / limitBytes;
}

/** The fullest first; then those without a limit, and those that were never counted. */
export const sortTenants = (tenants: readonly TenantBody[]) =>
  sortBy(tenants, (each) => [-fillOf(each), each.tenant]);

const comparedDays = 30;

/** By how much a repo has grown since the day with which it is compared. undefined: not known. */
const growthOf = ({ storedBytes, before }: Pick<RepoBody, 'storedBytes' | 'before'>) =>
  before === undefined || storedBytes === null ? undefined : storedBytes - before.storedBytes;

/** `+9.4 GiB`, `−2.6 GiB`, `0 B`; and since when, if that is not as long ago as its heading says. */
export function growthText(repo: Pick<RepoBody, 'storedBytes' | 'before'>, nowMs: number) {
  const growth = growthOf(repo);
  if (growth === undefined || repo.before === undefined) return { text: '–', since: '' };
  const sign = growth === 0 ? '' : growth > 0 ? '+' : '\u2212';
  const from = dayOf(nowMs - comparedDays * dayMs);
  return {
    text: sign + bytesText(Math.abs(growth)),
    // Its year is clear.
    since: repo.before.day > from ? `since ${dayText(repo.before.day).slice(0, -5)}` : '',
  };
}

/** Whether something is to be done about the limit. */
export function stateOf({
  usage,
  limitBytes,
}: Pick<SubscriptionBody, 'usage' | 'limitBytes'>): 'fine' | 'near' | 'over' {
  if (usage === null || limitBytes === null) return 'fine';
  const freeBytes = limitBytes - usage.storedBytes - usage.reservedBytes;
  if (freeBytes < 0 || (freeBytes === 0 && usage.storedBytes > 0)) return 'over';
  // Nine tenths are used: in whole numbers, so that it's exact.
  return limitBytes > 0 && freeBytes * 10 <= limitBytes ? 'near' : 'fine';
}

/** How far a count is, as far as it is known: repos that are counted by shards tell. */
export interface ScanProgress {
  readonly what: string;
  readonly share: number;
  readonly objectCount: number;
  readonly isPaused: boolean;
}

/** Of one repo by its name, of several by their number, together. */
export function progressOf(scans: readonly ScanBody[]): ScanProgress | undefined {
  const known = scans.flatMap(({ repo, state, progress }) =>
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
  return `${all}: ${unknown > 0 ? `${formatCount(unknown)} not scanned yet` : 'some scanned at another time'}`;
}

type ObjectOrder = 'largest' | 'oldest';

export const objectKeyOf = ({ repo, oid }: Pick<ObjectBody, 'repo' | 'oid'>) => `${repo}/${oid}`;

/** What a delete would free most by, or what has lain longest. What the store has no time of comes last. */
export function sortObjects(objects: readonly ObjectBody[], by: ObjectOrder): ObjectBody[] {
  return sortBy(objects, (each) => {
    const [size, age] = [-each.sizeBytes, each.storedAt ?? '~'];
    return [...(by === 'largest' ? [size, age] : [age, size]), objectKeyOf(each)];
  });
}

export type Column = 'repo' | 'storedBytes' | 'objectCount' | 'growth' | 'scannedAt';
export interface Order {
  readonly column: Column;
  readonly isDown: boolean;
}

/** By one column; then by name, so that the order does not jump. */
export function sortRepos(repos: readonly RepoBody[], { column, isDown }: Order): RepoBody[] {
  const value = (repo: RepoBody) => {
    if (column === 'growth') return growthOf(repo) ?? Number.NEGATIVE_INFINITY;
    if (column === 'scannedAt') return Date.parse(repo.scannedAt ?? '1970');
    return column === 'repo' ? 0 : (repo[column] ?? -1);
  };
  const sorted = sortBy(repos, (each) => [(isDown ? -1 : 1) * value(each), each.repo]);
  return column === 'repo' && isDown ? sorted.reverse() : sorted;
}

/** Those that hold room first, of them the largest; then those of which all has arrived. */
export const sortReservations = (reservations: readonly ReservationBody[]) =>
  sortBy(reservations, ({ arrived, bytes, reservedUntil }) => [Number(arrived), -bytes, reservedUntil]);

/** What is going on with it, in a few words. */
export function reservationText({ state, arrived }: Pick<ReservationBody, 'state' | 'arrived'>): string {
  if (arrived) return 'arrived';
  if (state === 'pending') return 'starting';
  return state === 'issued' ? 'uploading' : 'unconfirmed';
}

/** Nothing is left uncounted for longer, also where nothing happens: some 30 days, and some time to come around. */
const idleMs = 35 * 86_400_000;
/** After the last upload that was promised has ended, it is counted what came of it: within a quarter of an hour or so. */
const endedMs = 3_600_000;

export const tenantGroups = ['all', 'over', 'near', 'uncounted', 'old', 'deleting'] as const;
export type TenantGroup = (typeof tenantGroups)[number];

/** Whether a tenant is one of those that somebody may have to look at. */
export function isInGroup(body: TenantBody, group: TenantGroup, nowMs: number): boolean {
  const { usage, deleting = false } = body;
  switch (group) {
    case 'all':
      return true;
    case 'deleting':
      return deleting;
    case 'uncounted':
      return usage === null && !deleting;
    case 'old':
      return usage !== null && !deleting && isOverdue(usage, nowMs);
    default:
      return !deleting && stateOf(body) === group;
  }
}

/** Whether it should have been counted again by now: then schedule, queue or store do not do their work. */
function isOverdue(usage: NonNullable<TenantBody['usage']>, nowMs: number): boolean {
  const { scannedAt, reservedBytes, reservedUntil } = usage;
  const endedAtMs = reservedBytes > 0 && reservedUntil !== null ? Date.parse(reservedUntil) : Number.NaN;
  return nowMs - Date.parse(scannedAt) > idleMs || nowMs - endedAtMs > endedMs;
}
