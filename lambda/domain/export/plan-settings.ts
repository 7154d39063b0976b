import type { StoreLimits } from './store-limits.ts';

/**
 * How the bytes come into an archive. `stream`: a worker reads and uploads all. `copy-free`: the store copies most,
 * in parts of any size. `copy-grid`: the store copies most, in parts of one size.
 */
export type Way = 'stream' | 'copy-free' | 'copy-grid';

export interface PlanSettings {
  readonly limits: StoreLimits;
  readonly way: Way;
  /** The size of each part with `copy-grid`. */
  readonly cellBytes: number;
  /** The largest part that a worker holds in memory. */
  readonly uploadBytesMax: number;
  /** The largest part that is copied from an object with `copy-free`. */
  readonly copyBytesMax: number;
  /** The largest shard. */
  readonly shardBytesMax: number;
  /** Whether an archive that would fit one upload is made from shards as well. */
  readonly shards: 'if-needed' | 'always';
}

/** A part that a worker uploads is in its memory. */
const defaultUploadBytesMax = 64 * 1024 ** 2;
/** One request copies only so fast, so large copies are divided. */
const defaultCopyBytesMax = 256 * 1024 ** 2;
/** The smallest part that stores take: the more cells, the more of them lie in one object. */
const defaultCellBytes = 5 * 1024 ** 2;
/** 10,000 of them are 9.5 TiB, more than most tenants have. */
const defaultShardBytesMax = 1000 * 1024 ** 2;

/** The settings with which an archive is done soonest: all is copied that can be. */
export function quickestSettings(limits: StoreLimits): PlanSettings {
  return {
    limits,
    way: limits.wantsEqualParts ? 'copy-grid' : 'copy-free',
    cellBytes: defaultCellBytes,
    uploadBytesMax: defaultUploadBytesMax,
    copyBytesMax: defaultCopyBytesMax,
    shardBytesMax: defaultShardBytesMax,
    shards: 'if-needed',
  };
}

/** The size of every shard but the last: whole parts, where parts have one size. */
export function shardBytesOf({ way, cellBytes, uploadBytesMax, shardBytesMax }: PlanSettings): number {
  const unit = { stream: uploadBytesMax, 'copy-free': 1, 'copy-grid': cellBytes }[way];
  return Math.floor(shardBytesMax / unit) * unit;
}

/** The largest archive: what one object may have, in as many shards as an upload has parts. */
export function volumeBytesMaxOf(settings: PlanSettings): number {
  const { limits } = settings;
  return Math.min(limits.objectBytesMax, limits.partsMax * shardBytesOf(settings));
}

/** @throws {RangeError} if the store would refuse what a plan with these settings asks for. */
export function checkSettings(settings: PlanSettings): void {
  const { limits, way, cellBytes, uploadBytesMax, copyBytesMax, shardBytesMax } = settings;
  const { partBytesMin, partBytesMax } = limits;
  if (way === 'copy-free' && limits.wantsEqualParts)
    throw new RangeError('This store wants parts of one size: plan with copy-grid.');
  // A run or a copy that is divided must leave no piece below the smallest part.
  const within = (name: string, value: number, min: number, max: number) => {
    if (!Number.isSafeInteger(value) || value < min || value > max)
      throw new RangeError(`${name} must be a whole number from ${min} to ${max}.`);
  };
  within('shardBytesMax', shardBytesMax, 2 * partBytesMin, partBytesMax);
  within('cellBytes', cellBytes, partBytesMin, shardBytesMax);
  within('uploadBytesMax', uploadBytesMax, 2 * partBytesMin, shardBytesMax);
  within('copyBytesMax', copyBytesMax, 2 * partBytesMin, partBytesMax);
}
