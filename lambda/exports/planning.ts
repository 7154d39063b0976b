import type { Deps } from '../deps.ts';
import { forEachLimited, mapLimited } from '../rules/async.ts';
import { SourceGoneError } from '../store/rules/archive-store.ts';
import { type Gathered, gatherObjects, putGathered, readGathered } from './gather.ts';
import { abortUploads, decodeJson, type ExportLease, encodeJson } from './lease.ts';
import { formatFor } from './rules/archive-formats.ts';
import {
  archiveKey,
  type ExportFailure,
  type ExportJob,
  type ExportPlanned,
  endedJob,
  exportPrefix,
  failedJob,
  hashesKey,
  inNextRound,
  listKey,
  madeKey,
  noProgress,
  unitKey,
} from './rules/job.ts';
import type { StoredObject } from './rules/objects.ts';
import {
  type CopyOrder,
  type HashOrder,
  hashUnits,
  madeBytes,
  type OrderContext,
  type OrderedVolume,
  orderedPart,
  plannedParts,
  secondsOf,
  unitsOf,
} from './rules/orders.ts';
import {
  type ExportInput,
  figuresOf,
  type PlanFigures,
  planExport,
  pricesOf,
  type VolumePlan,
} from './rules/plan.ts';
import { planSettingsFor } from './rules/settings.ts';

/** Orders that are in memory, and written, at a time: all workers wait for them. */
const putsAtOnce = 64;

type OrderDeps = Pick<Deps, 'archives' | 'exportSettings'>;

/** Writes down whose CRC-32 is to be found. @returns how many units that are. */
async function writeHashOrders(
  { archives, exportSettings }: OrderDeps,
  input: { job: ExportJob; lease: ExportLease; objects: readonly StoredObject[] },
): Promise<number> {
  const { job, lease, objects } = input;
  let units = 0;
  await forEachLimited(hashUnits(objects, exportSettings), putsAtOnce, async (own) => {
    const unit = units;
    units += 1;
    const order: HashOrder = {
      objects: own.map(({ oid, key, etag, sizeBytes }) => ({ oid, key, etag, sizeBytes })),
    };
    await archives.put(unitKey(job, { ...job, state: 'hashing', unit }), encodeJson(order));
    await lease.renew();
  });
  return units;
}

interface CopiesToOrder {
  readonly job: ExportJob;
  readonly volumes: readonly VolumePlan[];
  /** That one worker needs for all parts. */
  readonly seconds: number;
  /** Asked for zips alone. */
  readonly crc32Of: (object: StoredObject) => number;
}

/**
 * Begins the uploads of all archives, and writes down which parts are to be made.
 *
 * @param input.meanwhile what is to be done, too, before the orders are written.
 * @returns how many units there are, and the archives.
 */
async function writeCopyOrders(
  deps: OrderDeps,
  input: CopiesToOrder & { lease: ExportLease; meanwhile: Promise<unknown> | undefined },
): Promise<{ units: number; uploads: readonly OrderedVolume[] }> {
  const { job, lease, volumes, seconds, crc32Of, meanwhile } = input;
  const [uploads] = await Promise.all([beginUploads(deps, input), meanwhile]);
  const contexts = volumes.map(({ layout }): OrderContext => ({ layout, crc32Of }));
  const { pace } = deps.exportSettings;
  let units = 0;
  await forEachLimited(
    unitsOf(plannedParts(volumes, pace), { seconds, pace }),
    putsAtOnce,
    async (planned) => {
      const unit = units;
      units += 1;
      const order: CopyOrder = {
        format: job.request.format,
        modifiedAtMs: job.createdAtMs,
        volumes: uploads,
        parts: planned.flatMap((part) => {
          const context = contexts[part.volume];
          return context ? [orderedPart(part, context)] : [];
        }),
      };
      await deps.archives.put(unitKey(job, { ...job, state: 'copying', unit }), encodeJson(order));
      await lease.renew();
    },
  );
  return { units, uploads };
}

/** Begins the upload of each archive, and puts down what only this planner can make of it. */
async function beginUploads(
  { archives }: OrderDeps,
  { job, volumes, crc32Of }: CopiesToOrder,
): Promise<OrderedVolume[]> {
  const { tenant, exportId, round } = job;
  const { format, repo, isNamed } = job.request;
  const begun: OrderedVolume[] = [];
  for (const [index, { layout }] of volumes.entries()) {
    const number = { number: index + 1, of: volumes.length };
    const [made, upload] = await Promise.all([
      archives.putSource(madeKey(job, { round, volume: index }), madeBytes({ layout, crc32Of })),
      archives.createUpload(archiveKey({ tenant, exportId, repo, isNamed }, { format, round, ...number })),
    ]);
    begun.push({ ...upload, made });
  }
  return begun;
}

export type PlanDeps = Pick<
  Deps,
  'archives' | 'listing' | 'exportJobs' | 'exportQueue' | 'exportSettings' | 'clock' | 'log'
>;

interface PlanInput {
  readonly job: ExportJob;
  readonly lease: ExportLease;
  readonly gathered: Gathered;
}

/**
 * Plans the archives of an export, begins their uploads, and writes down what workers have to do.
 *
 * Don't add a request that waits for another. For a tar of up to 64 units there are 10 round trips before the first
 * part and 5 after the last one. For a zip that hashes, there are 25 before.
 * `test/unit/lambda/exports/round-trips.test.ts` counts them.
 *
 * @param input.crc32s of all objects, by oid, for a zip alone.
 * @param input.meanwhile what is to be done before the job says that it is planned.
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
async function planCopies(
  deps: PlanDeps,
  input: PlanInput & { crc32s?: ReadonlyMap<string, number>; meanwhile?: Promise<unknown> },
): Promise<ExportJob> {
  const { job, lease, crc32s, meanwhile } = input;
  const planned = planVolumes(deps, input);
  if ('failure' in planned) {
    await meanwhile;
    return failAs(deps, lease, planned.failure);
  }
  const { volumes, summary, seconds, partCounts } = planned;
  const crc32Of = crc32s ? crc32From(crc32s) : () => 0;
  const { units, uploads } = await writeCopyOrders(deps, {
    job,
    lease,
    volumes,
    seconds,
    crc32Of,
    meanwhile,
  });
  // Last, once list, uploads and all orders are in the store: workers need nothing else.
  return lease.end((now) => ({
    ...now,
    state: 'copying',
    planned: {
      ...summary,
      units,
      volumes: uploads.map(({ key, uploadId }, index) => ({
        key,
        uploadId,
        sizeBytes: volumes[index]?.layout.sizeBytes ?? 0,
        parts: partCounts[index] ?? 0,
      })),
    },
    doneUnits: '',
    // What was hashed for it is done.
    progress: { ...noProgress, hashedBytes: crc32s ? summary.objectBytes : 0 },
    movedAtMs: deps.clock.nowMs(),
  }));
}

/** Ends a dry run: its plan says what the export would take. */
async function explainPlan(deps: PlanDeps, input: PlanInput): Promise<ExportJob> {
  const { lease } = input;
  const planned = planVolumes(deps, input);
  if ('failure' in planned) return failAs(deps, lease, planned.failure);
  const nowMs = deps.clock.nowMs();
  return lease.end((now) => ({
    ...endedJob(now, { state: 'explained', nowMs }),
    planned: { ...planned.summary, units: 0, volumes: [] },
    expiresAtMs: nowMs + deps.exportSettings.keepMs,
  }));
}

/** Ends an export that cannot be made. */
function failAs(deps: PlanDeps, lease: ExportLease, failure: ExportFailure): Promise<ExportJob> {
  return lease.end((job) => failedJob(job, { failure, nowMs: deps.clock.nowMs() }));
}

interface PlannedVolumes {
  readonly volumes: readonly VolumePlan[];
  readonly summary: Omit<ExportPlanned, 'units' | 'volumes'>;
  /** That one worker needs for all parts. */
  readonly seconds: number;
  /** Parts of each archive. */
  readonly partCounts: readonly number[];
}

/** The archives of an export, and what they take. */
function planVolumes(
  deps: PlanDeps,
  { job, gathered }: Pick<PlanInput, 'job' | 'gathered'>,
): PlannedVolumes | { readonly failure: ExportFailure } {
  const plan = planExport(inputOf(job, gathered), planSettingsFor(deps.exportSettings));
  if (plan.kind !== 'planned') {
    const message = `The object ${plan.object.oid} is larger than an archive can be.`;
    return { failure: { reason: 'object-too-large', message } };
  }
  const { volumes } = plan;
  const partCounts = volumes.map(() => 0);
  let seconds = 0;
  const figures = figuresOf(volumes, (part, volume) => {
    seconds += secondsOf(part, deps.exportSettings.pace);
    partCounts[volume] = (partCounts[volume] ?? 0) + 1;
  });
  return { volumes, summary: summaryOf(deps, { gathered, figures }), seconds, partCounts };
}

/** By oid. Every object that is asked for must be in it. */
function crc32From(crc32s: ReadonlyMap<string, number>): (object: StoredObject) => number {
  return ({ oid }) => {
    const crc32 = crc32s.get(oid);
    if (crc32 === undefined) throw new Error(`The CRC-32 of ${oid} is missing.`);
    return crc32;
  };
}

function inputOf(job: ExportJob, { objects, missing }: Gathered): ExportInput {
  const { tenant, request, createdAtMs } = job;
  return {
    objects,
    format: formatFor(request.format, { modifiedAtMs: createdAtMs }),
    subject: {
      path: request.repo === null ? tenant : `${tenant}/${request.repo}`,
      startedAtMs: createdAtMs,
      missing,
    },
  };
}

function summaryOf(
  { exportSettings }: PlanDeps,
  { gathered, figures }: { gathered: Gathered; figures: PlanFigures },
): Omit<ExportPlanned, 'units' | 'volumes'> {
  return {
    way: planSettingsFor(exportSettings).way,
    objectCount: gathered.objects.length,
    objectBytes: gathered.objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    missing: gathered.missing.length,
    conflicts: gathered.conflicts,
    figures,
    ...pricesOf(figures, exportSettings),
  };
}

/** Results of workers that are read at a time. */
const resultsAtOnce = 32;

/**
 * Writes down that the CRC-32 of each object is to be found, for a zip.
 *
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
async function planHashing(deps: PlanDeps, input: PlanInput): Promise<ExportJob> {
  const { job, lease, gathered } = input;
  const planned = planVolumes(deps, input);
  if ('failure' in planned) return failAs(deps, lease, planned.failure);
  const units = await writeHashOrders(deps, { job, lease, objects: gathered.objects });
  return lease.end((now) => ({
    ...now,
    state: 'hashing',
    planned: { ...planned.summary, units, volumes: [] },
    doneUnits: '',
    progress: noProgress,
    movedAtMs: deps.clock.nowMs(),
  }));
}

/**
 * Plans the copies of a zip whose units of hashing are done.
 *
 * @returns undefined if a result is not there: then the units are to be done again.
 * @throws {SourceGoneError} if all is to be planned anew.
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
export async function planHashedArchives(
  deps: PlanDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<ExportJob | undefined> {
  const [hashes, gathered] = await Promise.all([
    readHashes(deps, job),
    readGathered(deps, job, job.round),
    // What workers still have.
    abortUploads(deps, exportPrefix(job)),
  ]);
  if (!hashes) return undefined;
  if (!gathered) throw new SourceGoneError(listKey(job, job.round));
  // An older version did not hash what it knew from an earlier zip.
  if (hashes.size !== gathered.objects.length)
    return lease.end((now) => inNextRound(now, { nowMs: deps.clock.nowMs() }));
  return planCopies(deps, { job, lease, gathered, crc32s: hashes });
}

/** What all units of hashing have found, by oid. undefined if a result is not there. */
async function readHashes(
  { archives }: Pick<Deps, 'archives'>,
  job: ExportJob,
): Promise<Map<string, number> | undefined> {
  const hashes = new Map<string, number>();
  let isWhole = true;
  const units = Array.from({ length: job.planned?.units ?? 0 }, (_, unit) => unit);
  await mapLimited(units, resultsAtOnce, async (unit) => {
    const bytes = await archives.get(hashesKey(job, { ...job, unit }));
    if (!bytes) isWhole = false;
    else for (const [oid, crc32] of decodeJson<[string, number][]>(bytes)) hashes.set(oid, crc32);
  });
  return isWhole ? hashes : undefined;
}

/** The list of more objects is put down before their plan is made, so that memory need not hold both. */
const objectsAtOnce = 100_000;

/**
 * Lists the objects of an export, puts their list down, plans, and writes down what workers have to do.
 *
 * @returns the job as it is then: `hashing`, `copying`, `explained` or `failed`.
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
export async function planArchives(
  deps: PlanDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<ExportJob> {
  const { format, isDryRun } = job.request;
  const [gathered] = await Promise.all([
    gatherObjects(deps, { job, lease }),
    // What an earlier attempt, or an earlier round, has begun.
    abortUploads(deps, exportPrefix(job)),
  ]);
  if ('failure' in gathered) return failAs(deps, lease, gathered.failure);
  if (isDryRun) return explainPlan(deps, { job, lease, gathered });
  const { objects } = gathered;
  const meanwhile = putGathered(deps, job, gathered);
  if (format === 'zip' && objects.length > 0) {
    await meanwhile;
    return planHashing(deps, { job, lease, gathered });
  }
  if (objects.length > objectsAtOnce) await meanwhile;
  return planCopies(deps, { job, lease, gathered, meanwhile });
}
