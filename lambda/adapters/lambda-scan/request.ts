import { compareKeys } from '../../domain/key-order.ts';
import { type KeyRange, keySpaceSize, widthOf } from '../../domain/scan/key-space.ts';
import { pageKeysMax } from '../../domain/scan/page-size.ts';
import type { PathScanInput } from '../../ports/path-scan.ts';
import type { ShardRequest } from '../../ports/shard-scan.ts';

/** A shard of fewer objects is scanned sooner than a function starts. */
const objectsMin = 50_000;

/** Names to look for, and their bytes. Lambda takes an event of 6 MB. */
const lookForMax = 20_000;
const lookForBytesMax = 2 * 1024 ** 2;

/** Names of recent keys, at most: 3.4 MB of hashes, of the 6 MB of an answer. */
const recentMax = 50_000;

/** A scan of one shard, as another function can make it. */
export interface Shard {
  readonly prefix: string;
  readonly range: KeyRange;
  readonly objectsExpected: number;
  readonly lookFor: readonly string[];
  readonly recentSinceMs: number | null;
  readonly recentMax: number;
  /** LIST requests that it takes, about. */
  readonly pages: number;
}

/** @returns undefined if the scan is another one than that of a large shard: whoever wants it has to make it. */
export function shardOf(input: PathScanInput): Shard | undefined {
  const { prefix, resume, lookFor = new Set(), recentSinceMs, strategy, requestsMax } = input;
  const [range, ...others] = resume?.ranges ?? [];
  if (!resume || !range || others.length > 0 || resume.objectsExpected === null) return undefined;
  if (range.folder !== undefined || range.isUneven || range.continuationToken !== undefined) return undefined;
  const isBegun = resume.requests > 0 || resume.objectCount > 0 || resume.seen.length > 0;
  if (isBegun || resume.isSequential || resume.recent !== undefined) return undefined;
  if (strategy || requestsMax !== undefined || input.onPart || input.onBegin || input.stop) return undefined;
  const { objectsExpected } = resume;
  const objects = objectsExpected * (widthOf(range) / keySpaceSize);
  if (lookFor === 'everything' || objects < objectsMin) return undefined;
  const names = [...lookFor].filter((name) => isIn(range, name));
  const bytes = names.reduce((sum, name) => sum + Buffer.byteLength(name), 0);
  if (names.length > lookForMax || bytes > lookForBytesMax) return undefined;
  return {
    prefix,
    range,
    objectsExpected,
    lookFor: names,
    recentSinceMs: recentSinceMs ?? null,
    recentMax: Math.min(recentMax, input.recentMax ?? recentMax),
    pages: Math.ceil(objects / pageKeysMax),
  };
}

/** @param how.timeLimitMs a whole number, as the others. */
export function requestOf(
  shard: Shard,
  how: Pick<ShardRequest, 'concurrency' | 'timeLimitMs' | 'correlationId'>,
): ShardRequest {
  const { prefix, range, objectsExpected, lookFor, recentSinceMs, recentMax: max } = shard;
  const { after, last } = range;
  return { prefix, after, last, objectsExpected, lookFor, recentSinceMs, recentMax: max, ...how };
}

function isIn({ after, last }: KeyRange, name: string): boolean {
  return (after === null || compareKeys(name, after) > 0) && (last === null || compareKeys(name, last) <= 0);
}
