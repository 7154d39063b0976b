import {
  r2Limits,
  type StoreKind,
  type StoreLimits,
  s3Limits,
} from '../../../core/store/rules/store-kind.ts';

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

/** What requests, bytes and time cost, in dollars. */
interface ExportPrices {
  /** A request that writes, lists, or is about an upload. */
  readonly write: number;
  readonly read: number;
  /** A GB from the workers to the store: 2³⁰ bytes, as AWS bills it. */
  readonly gbToStore: number;
  /** A worker for a second. */
  readonly workerSecond: number;
}

/** What a worker does in a second. */
export interface WorkerPace {
  readonly workers: number;
  /** Bytes that one worker reads and uploads in a second. */
  readonly bytesPerSecond: number;
  /** Seconds of a request to the store, beside its bytes. */
  readonly requestSeconds: number;
  /** Requests that one worker has under way, and twice as many reads. */
  readonly requestsAtOnce: number;
}

/** The rules of a stage's exports. */
export interface ExportSettings {
  readonly limits: StoreLimits;
  /** Whether the store copies parts. */
  readonly copiesParts: boolean;
  /** Whether the answer to a copy of a whole object tells its CRC-32. Otherwise a zip needs some objects read for it. */
  readonly tellsCrc32: boolean;
  readonly prices: ExportPrices;
  readonly pace: WorkerPace;
  /** An export that takes longer fails. Lifecycle rules remove what it made after two days. */
  readonly limitMs: number;
  /** What is planned in another way than is quickest. */
  readonly plan: Partial<PlanSettings>;
  /** How long an archive is kept. */
  readonly keepMs: number;
  /** Archives of a tenant that are made or kept at the same time. */
  readonly perTenantMax: number;
  /** Objects of one export: as many as the memory of a function takes. */
  readonly objectsMax: number;
}

/** Dollars, on demand, in us-east-1. test/unit/cost compares them with the cost model. */
const workerSecond = 2 * 0.0000133334;
const prices: Readonly<Record<'s3' | 'r2' | 'local', ExportPrices>> = {
  s3: { write: 5e-6, read: 4e-7, gbToStore: 0, workerSecond },
  r2: { write: 4.5e-6, read: 3.6e-7, gbToStore: 0.09, workerSecond },
  local: { write: 0, read: 0, gbToStore: 0, workerSecond: 0 },
};

/** What a worker does in a second: assumed. Bandwidth is what a function of Lambda gets. */
const pace = { bytesPerSecond: 75e6, requestSeconds: 0.1 };

/** Of all workers: below a prefix, S3 takes 3,500 writes a second, and 5,500 reads. */
const requestsOfAll = 256;

const hourMs = 60 * 60 * 1000;

/** An export that takes longer fails, in every stage. */
export const exportLimitMs = 24 * hourMs;

interface DeploymentExports {
  /** How many there are at a time. 0: the stage makes no exports. */
  readonly workers: number;
  readonly perTenantMax?: number;
  readonly keepDays?: number;
}

export function exportSettingsFor(
  kind: StoreKind,
  { workers, perTenantMax = 3, keepDays = 7 }: DeploymentExports,
): ExportSettings {
  const isFree = kind === 's3' || kind === 'local';
  return {
    limits: isFree ? s3Limits : r2Limits,
    copiesParts: kind !== 'stream',
    tellsCrc32: isFree,
    prices: prices[isFree ? kind : 'r2'],
    pace: {
      ...pace,
      workers,
      requestsAtOnce: Math.max(4, Math.min(32, Math.floor(requestsOfAll / workers))),
    },
    plan: {},
    limitMs: exportLimitMs,
    keepMs: keepDays * 24 * hourMs,
    perTenantMax,
    objectsMax: 2_000_000,
  };
}

/** How an export is to be planned. */
export function planSettingsFor({ limits, copiesParts, plan }: ExportSettings): PlanSettings {
  return { ...quickestSettings(limits), ...(!copiesParts && { way: 'stream' }), ...plan };
}
