import * as z from 'zod';
import { sha256Hex } from '../../../core/rules/hash.ts';
import type { Frozen } from '../../../core/rules/stored.ts';
import { ownFolders } from '../../../core/store/rules/own-folders.ts';
import { planFigures } from './plan.ts';
import type { Way } from './settings.ts';

/** What an export's id looks like: in hex the milliseconds of its beginning, and 48 random bits. Ids sort by time. */
export const exportIdPattern = /^[0-9a-f]{24}$/;

/** @param input.random at least 48 random bits as text. The same input gives the same id. */
export function newExportId(input: { nowMs: number; random: string }): string {
  return input.nowMs.toString(16).padStart(12, '0') + sha256Hex(input.random).slice(0, 12);
}

/** What somebody asked to have as an archive. */
const request = z
  .object({
    /** null: every repo of the tenant. */
    repo: z.string().nullable(),
    /** How many objects were asked for by their oids; their list lies beside the archive. null: all. */
    listedObjects: z.number().nullable(),
    /** Whether that list, or a repo of files, gives names to files. Then nothing says what they are: a name may be one of git's own. */
    isNamed: z.boolean().exactOptional(),
    format: z.enum(['tar', 'zip']),
    /** Only tell what it would take. */
    isDryRun: z.boolean(),
  })
  // Older items do not say it: any list may have names.
  .transform((asked) => ({ ...asked, isNamed: asked.isNamed ?? asked.listedObjects !== null }));
export type ExportRequest = Frozen<z.output<typeof request>>;

/** Why a job failed. The text is for people. */
const failure = z.object({
  reason: z.enum(['object-too-large', 'too-many-objects', 'objects-vanish', 'store', 'timeout']),
  message: z.string(),
});
export type ExportFailure = Frozen<z.output<typeof failure>>;

/** One archive of an export: an object in the store, once it is complete. */
const volume = z.object({
  key: z.string(),
  /** Its multipart upload. */
  uploadId: z.string(),
  sizeBytes: z.number(),
  parts: z.number(),
  /** That of a zip, as in the orders. Older versions don't tell it here. */
  directory: z
    .object({ key: z.string(), etag: z.string(), startByte: z.number(), endByte: z.number() })
    .exactOptional(),
});
export type ExportVolume = Frozen<z.output<typeof volume>>;

/** What was planned in the latest round. */
const planned = z.object({
  way: z.enum(['stream', 'copy-free', 'copy-grid']) satisfies z.ZodType<Way>,
  objectCount: z.number(),
  objectBytes: z.number(),
  /** Objects that were asked for, and are not in the store. */
  missing: z.number(),
  /** Objects that were left out, because another has their oid and another size. */
  conflicts: z.number(),
  figures: planFigures,
  requests: z.number(),
  dollars: z.number(),
  /** With all workers. */
  seconds: z.number(),
  /** Pieces of work. */
  units: z.number(),
  volumes: z.array(volume),
});
export type ExportPlanned = Frozen<z.output<typeof planned>>;

/** What workers have done in the latest round. After a worker was killed, it is less or more than what it was. */
const progress = z.object({
  uploadedBytes: z.number(),
  copiedBytes: z.number(),
  hashedBytes: z.number(),
  requests: z.number(),
});
export type ExportProgress = Frozen<z.output<typeof progress>>;

/** Who asked for an export: all who see it see this, so it has no id of a token. */
const asker = z.object({ kind: z.enum(['operator', 'token', 'identity']), name: z.string().nullable() });
export type ExportAsker = Frozen<z.output<typeof asker>>;

/** An export, from the request to its end, as it is stored. */
export const exportSchema = z.object({
  tenant: z.string(),
  exportId: z.string(),
  request,
  /** null: it was not written down, as in older items. */
  by: asker.nullable().default(null),
  createdAtMs: z.number(),
  /** A job that is still open then fails. */
  endsByMs: z.number(),
  /** When the archive, and this record, are removed. */
  expiresAtMs: z.number(),
  /**
   * `planning`: the objects are listed, and the plan is made. `copying`: parts are copied and uploaded. The others are
   * ends: `explained` is that of a dry run.
   */
  state: z
    .enum(['planning', 'hashing', 'copying', 'done', 'explained', 'failed', 'cancelled', 'expired'])
    // Older versions read a zip's objects before they planned its parts.
    .transform((state) => (state === 'hashing' ? 'planning' : state)),
  endedAtMs: z.number().nullable(),
  /** Counts the writes of this record. */
  version: z.number(),
  /** From 1. Each time that objects vanish or change, all is planned anew. */
  round: z.number(),
  /** Until then one function plans, or finishes, and no other begins to. */
  leaseUntilMs: z.number(),
  /** Since when the step `failing` fails. */
  failingSinceMs: z.number().nullable(),
  /**
   * A step that fails until it succeeds, how often in a row, and why it did last: of several, the first. Others' successes
   * don't hide it. unit null: the export's next step. Older items have none.
   */
  failing: z.object({ unit: z.number().nullable(), why: z.string(), times: z.number() }).optional(),
  failure: failure.nullable(),
  planned: planned.nullable(),
  /** false: a worker found that the store copies no parts, so all are uploaded. Older items don't have it. */
  copiesParts: z.literal(false).optional(),
  /** Which units are done: a digit for each four, the first unit in the lowest bit of the first digit. */
  doneUnits: z.string(),
  progress,
  /** When something was last done for it. */
  movedAtMs: z.number(),
  /** Whether everything is removed that only the work needed. */
  isTidy: z.boolean(),
});
export type ExportJob = Frozen<z.output<typeof exportSchema>>;
export type ExportPath = Pick<ExportJob, 'tenant' | 'exportId'>;
export type ExportState = ExportJob['state'];

export const noProgress: ExportProgress = {
  uploadedBytes: 0,
  copiedBytes: 0,
  hashedBytes: 0,
  requests: 0,
};

export function newExportJob(input: {
  tenant: string;
  exportId: string;
  request: ExportRequest;
  by?: ExportAsker | undefined;
  nowMs: number;
  /** How long it may take. */
  limitMs: number;
}): ExportJob {
  const { tenant, exportId, request, by = null, nowMs, limitMs } = input;
  return {
    tenant,
    exportId,
    request,
    by,
    createdAtMs: nowMs,
    endsByMs: nowMs + limitMs,
    expiresAtMs: nowMs + limitMs,
    state: 'planning',
    endedAtMs: null,
    version: 1,
    round: 1,
    leaseUntilMs: 0,
    failingSinceMs: null,
    failure: null,
    planned: null,
    doneUnits: '',
    progress: noProgress,
    movedAtMs: nowMs,
    isTidy: false,
  };
}

/** A job in which nothing has moved for so long may have lost its messages. */
const stuckAfterMs = 15 * 60_000;
/** What was left behind is looked for again after this. */
const tidyAgainAfterMs = 5 * 60_000;

/** When somebody has to look at a job, though no message says so. null: never again. */
export function dueAtMs(job: ExportJob): number | null {
  if (isOpen(job)) return Math.min(job.endsByMs, job.movedAtMs + stuckAfterMs);
  if (!job.isTidy) return job.movedAtMs + tidyAgainAfterMs;
  return job.state === 'done' ? job.expiresAtMs : null;
}

/** A step fails, and is tried again, for so long before a job does: an outage of the store ends sooner. */
const failingMaxMs = 60 * 60_000;
/** The same failure of a step, if it's no outage, that often in a row is its last. */
const failuresMax = 10;

/**
 * A job of which a step has failed.
 *
 * @param failed.isOutage the store or the table didn't serve it now.
 * @returns undefined if another step fails already, which is the one that counts.
 */
export function withFailure(
  job: ExportJob,
  failed: Pick<NonNullable<ExportJob['failing']>, 'unit' | 'why'> & { isOutage: boolean; nowMs: number },
): ExportJob | undefined {
  const { unit, why, isOutage, nowMs } = failed;
  const { failing } = job;
  const isOther = failing && failing.unit !== unit;
  if (isOther && !(failing.unit !== null && isUnitDone(job, failing.unit))) return undefined;
  const failingSinceMs = isOther ? nowMs : (job.failingSinceMs ?? nowMs);
  const times = !isOther && failing?.why === why ? failing.times + 1 : 1;
  const next = { ...job, failingSinceMs, failing: { unit, why, times } };
  const isTooOften = !isOutage && times >= failuresMax;
  if (!isTooOften && nowMs - failingSinceMs < failingMaxMs) return next;
  const message = isTooOften
    ? `One step failed ${times} times in the same way: ${why}. Ask the operator.`
    : `One step failed for an hour. Last error: ${why}. Retry later.`;
  return failedJob(next, { failure: { reason: 'store', message }, nowMs });
}

/** A job of which a step has succeeded. @param unit null: its next step, after which others are to be done. */
export function withSuccess(job: ExportJob, unit: number | null): ExportJob {
  const isOther = unit !== null && job.failing && job.failing.unit !== unit;
  return isOther ? job : { ...job, failingSinceMs: null, failing: undefined };
}

/** Rounds of one job, at most: objects that vanish each time are a sign of something else. */
const roundsMax = 3;

/** A job that is to be planned anew. @param input.why an object or an upload is gone, as a part of a sentence. */
export function plannedAnew(job: ExportJob, { why, nowMs }: { why: string; nowMs: number }): ExportJob {
  if (job.round >= roundsMax)
    return failedJob(job, {
      nowMs,
      failure: {
        reason: 'objects-vanish',
        message: `The export started ${roundsMax} times, and ended each time. Last reason: ${why}. Retry later.`,
      },
    });
  return {
    ...withSuccess(job, null),
    state: 'planning',
    round: job.round + 1,
    leaseUntilMs: 0,
    planned: null,
    doneUnits: '',
    progress: noProgress,
    movedAtMs: nowMs,
  };
}

/** A job that has failed. What it made is to be removed. */
export function failedJob(
  job: ExportJob,
  { failure, nowMs }: { failure: ExportFailure; nowMs: number },
): ExportJob {
  return endedJob({ ...job, failure }, { state: 'failed', nowMs });
}

/** A job that has ended without an archive, or whose archive is to go. */
export function endedJob(
  job: ExportJob,
  { state, nowMs }: { state: 'explained' | 'failed' | 'cancelled' | 'expired'; nowMs: number },
): ExportJob {
  return {
    ...job,
    state,
    // Whoever is planning or finishing has no right to it any more.
    leaseUntilMs: 0,
    endedAtMs: job.endedAtMs ?? nowMs,
    expiresAtMs: nowMs,
    movedAtMs: nowMs,
    isTidy: false,
  };
}

/** Adds up what workers did. */
export function addProgress(a: ExportProgress, b: ExportProgress): ExportProgress {
  return {
    uploadedBytes: a.uploadedBytes + b.uploadedBytes,
    copiedBytes: a.copiedBytes + b.copiedBytes,
    hashedBytes: a.hashedBytes + b.hashedBytes,
    requests: a.requests + b.requests,
  };
}

/** Whether there is still work to do for its archive. Older servers tell of a state in which a zip's objects are read. */
export function isOpen({ state }: { readonly state: ExportState | 'hashing' }): boolean {
  return state === 'planning' || state === 'hashing' || state === 'copying';
}

export function isUnitDone({ doneUnits }: Pick<ExportJob, 'doneUnits'>, unit: number): boolean {
  return (digitAt(doneUnits, unit) & bitOf(unit)) !== 0;
}

/** {@link ExportJob.doneUnits} with one more. */
export function withUnitDone(doneUnits: string, unit: number): string {
  const place = Math.floor(unit / 4);
  const padded = doneUnits.padEnd(place + 1, '0');
  const digit = (digitAt(padded, unit) | bitOf(unit)).toString(16);
  return `${padded.slice(0, place)}${digit}${padded.slice(place + 1)}`;
}

/** All units of a job. */
export function unitsIn({ planned }: Pick<ExportJob, 'planned'>): number[] {
  return Array.from({ length: planned?.units ?? 0 }, (_, unit) => unit);
}

/** The units that are not done. */
export function openUnits(job: Pick<ExportJob, 'planned' | 'doneUnits'>): number[] {
  return unitsIn(job).filter((unit) => !isUnitDone(job, unit));
}

const bitOf = (unit: number) => 1 << (unit % 4);
const digitAt = (doneUnits: string, unit: number) =>
  Number.parseInt(doneUnits[Math.floor(unit / 4)] ?? '0', 16);

/**
 * Where an export's objects lie. No tenant's name begins with an underscore, so no listing of a tenant, and no event of
 * the store about a tenant, ever sees them.
 */

/** The prefix of all keys of an export, with its closing slash. */
export function exportPrefix({ tenant, exportId }: ExportPath): string {
  return `${ownFolders.exports}/${tenant}/${exportId}/`;
}

/** The prefix of what only the work on an export needs. */
export function workPrefix(path: ExportPath): string {
  return `${exportPrefix(path)}work/`;
}

/** The objects that were asked for by their oids. */
export function requestKey(path: ExportPath): string {
  return `${workPrefix(path)}request.json`;
}

/** The objects as they were listed in a round. */
export function listKey(path: ExportPath, round: number): string {
  return `${workPrefix(path)}${round}/list`;
}

/** A unit by its number, or what is left for the end of a volume with this index: `last-0`. */
export type UnitName = number | `last-${number}`;

/** The CRC-32s that a unit found for the directories: all, or those of a worker that had no time for more. */
export function crc32sKey(
  path: ExportPath,
  { round, unit, isWhole }: { round: number; unit: UnitName; isWhole: boolean },
): string {
  return `${workPrefix(path)}${round}/crc32s/${unit}${isWhole ? '' : '-begun'}`;
}

/** Where older versions kept the CRC-32 of a tenant's objects: as the folder of an export with an id that none has. */
export function olderCrc32sPath(tenant: string): ExportPath {
  return { tenant, exportId: 'crc32' };
}

/** What a worker has to do. Older versions look for zips where tars are: they find nothing, and plan anew. */
export function unitKey(
  path: ExportPath,
  { round, format, unit }: { round: number; format: 'tar' | 'zip'; unit: UnitName },
): string {
  return `${workPrefix(path)}${round}/${format === 'tar' ? 'copying' : 'zip'}/${unit}.json`;
}

/** The bytes of an archive that only its planner could make. */
export function madeKey(
  path: ExportPath,
  { round, volume, what }: { round: number; volume: number; what: 'made' | 'directory' },
): string {
  return `${workPrefix(path)}${round}/${what}/${volume}`;
}

/** The prefix of a round's shards. */
export function shardsPrefix(path: ExportPath, round: number): string {
  return `${workPrefix(path)}${round}/shards/`;
}

/** A shard of an archive, until it is copied into it. */
export function shardKey(
  path: ExportPath,
  { round, volume, part }: { round: number; volume: number; part: number },
): string {
  return `${shardsPrefix(path, round)}${volume}-${part}`;
}

/** An upload that never ends: a copy into it tells the CRC-32 of an object. */
export function scratchKey(path: ExportPath, { round, unit }: { round: number; unit: UnitName }): string {
  return `${workPrefix(path)}${round}/scratch/${unit}`;
}

/**
 * An archive. Its last segment is the name under which it is downloaded. It ends in `-files` if names were given: such an
 * archive must not be taken for one that is extracted into `.git`.
 */
export function archiveKey(
  path: ExportPath & { readonly repo: string | null; readonly isNamed: boolean },
  archive: { format: 'tar' | 'zip'; round: number; number: number; of: number },
): string {
  const { format, round, number, of } = archive;
  const name = path.repo === null ? path.tenant : `${path.tenant}-${path.repo}`;
  const files = path.isNamed ? '-files' : '';
  const volume = of === 1 ? '' : `-${number}-of-${of}`;
  return `${exportPrefix(path)}${round}/${name}${files}${volume}.${format}`;
}
