import type { Settings } from '../../rules/settings.ts';
import { pageKeysMax } from '../../scan/rules/key-space.ts';
import type { Giant, RepoRecord } from '../tenant.ts';
import { isScanned, type Shard, shardDigitsMax } from './shard.ts';

type PlanSettings = Pick<Settings, 'giantObjects' | 'shardObjectsMax' | 'shardRoundMs' | 'clockSkewMs'>;

/**
 * How a repo is to be counted. Between the two thresholds it stays as it is.
 *
 * @param record as its last count found it. The repo with the empty name has keys beside its folder, so it is listed.
 */
export function sizeClassOf(settings: PlanSettings, record: RepoRecord): 'ordinary' | 'giant' {
  const { repo, objectCount, epoch, giant, closedAtMs } = record;
  // The number is that of before it became one.
  if (giant?.isFirstCount) return 'giant';
  if (giant) return objectCount < settings.giantObjects / 2 ? 'ordinary' : 'giant';
  return repo !== '' && epoch > 0 && closedAtMs === null && objectCount >= settings.giantObjects
    ? 'giant'
    : 'ordinary';
}

/**
 * Whether a shard is to be scanned in sixteen parts from now on.
 *
 * @param shard.objectCount what it holds, or is expected to hold.
 */
export function isToBeSplit(
  settings: PlanSettings,
  shard: Pick<Shard, 'prefix' | 'objectCount' | 'sinceCount'>,
): boolean {
  return (
    shard.prefix.length < shardDigitsMax && shard.objectCount + shard.sinceCount > settings.shardObjectsMax
  );
}

/** LIST requests that a scan of a shard is expected to take. */
function listsOf(settings: PlanSettings, shard: Shard): number {
  const objects = isScanned(shard) ? shard.objectCount + shard.sinceCount : settings.shardObjectsMax;
  return 1 + Math.ceil(Math.max(0, objects) / pageKeysMax);
}

/**
 * When a shard is to be scanned: soon if something may be counted or not, if all are to be counted again, or once in a
 * round.
 */
export function shardDueAtMs(settings: PlanSettings, shard: Shard, giant: Giant): number {
  if (shard.countedAtMs < giant.recountFromMs) return 0;
  const roundMs = shard.countedAtMs + settings.shardRoundMs;
  // A scan that began sooner may have seen the change or not.
  return shard.stale ? Math.min(roundMs, shard.stale.untilMs + 2 * settings.clockSkewMs + 1) : roundMs;
}

/** The shards to scan now, those in doubt first and then the longest due, and when the first of the others is due. */
export function planShards(
  settings: PlanSettings,
  input: { shards: readonly Shard[]; giant: Giant; nowMs: number; listsMax: number },
): { prefixes: string[]; nextDueAtMs: number } {
  const { shards, giant, nowMs, listsMax } = input;
  const dueAtMs = (shard: Shard) => shardDueAtMs(settings, shard, giant);
  const due = listsMax > 0 ? shards.filter((shard) => dueAtMs(shard) <= nowMs) : [];
  const rank = (shard: Shard) => (shard.stale ? 0 : 1);
  due.sort((a, b) => rank(a) - rank(b) || a.countedAtMs - b.countedAtMs);
  const chosen = new Set<Shard>();
  let lists = 0;
  for (const shard of due) {
    if (lists >= listsMax) break;
    lists += listsOf(settings, shard);
    chosen.add(shard);
  }
  const others = shards.filter((shard) => !chosen.has(shard)).map(dueAtMs);
  const again = [...chosen].map(() => nowMs + settings.shardRoundMs);
  return {
    prefixes: [...chosen].map(({ prefix }) => prefix),
    nextDueAtMs: [...others, ...again].reduce(
      (first, atMs) => Math.min(first, atMs),
      Number.MAX_SAFE_INTEGER,
    ),
  };
}
