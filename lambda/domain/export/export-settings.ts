import type { ExportPrices, WorkerPace } from './plan-figures.ts';
import { type PlanSettings, quickestSettings } from './plan-settings.ts';
import { r2Limits, type StoreLimits, s3Limits } from './store-limits.ts';

/**
 * What a store does with parts. `s3`: parts of any size, copies, and their CRC-32. `r2`: parts of one size. `grid`: a
 * store of which that much is safe. `stream`: it copies no parts. `local`: the embedded store.
 */
export type ExportStoreKind = 's3' | 'r2' | 'grid' | 'stream' | 'local';

export const exportStoreKinds: readonly ExportStoreKind[] = ['s3', 'r2', 'grid', 'stream', 'local'];

/** The rules of a stage's exports. */
export interface ExportSettings {
  readonly limits: StoreLimits;
  /** Whether the store copies parts. */
  readonly copiesParts: boolean;
  /** Whether the answer to a copy of a whole object tells its CRC-32. Otherwise a zip needs every byte read twice. */
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
const pace = { bytesPerSecond: 75e6, requestSeconds: 0.1, requestsAtOnce: 32 };

const hourMs = 60 * 60 * 1000;

/** An export that takes longer fails, in every stage. */
export const exportLimitMs = 24 * hourMs;

export interface StageExports {
  /** How many there are at a time. 0: the stage makes no exports. */
  readonly workers: number;
  readonly perTenantMax?: number;
  readonly keepDays?: number;
}

export function exportSettingsFor(
  kind: ExportStoreKind,
  { workers, perTenantMax = 3, keepDays = 7 }: StageExports,
): ExportSettings {
  const isFree = kind === 's3' || kind === 'local';
  return {
    limits: isFree ? s3Limits : r2Limits,
    copiesParts: kind !== 'stream',
    tellsCrc32: isFree,
    prices: prices[isFree ? kind : 'r2'],
    pace: { ...pace, workers },
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
