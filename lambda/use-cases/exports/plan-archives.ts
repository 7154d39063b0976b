import { encodeCrc32s, findCrc32s } from '../../domain/export/crc32-file.ts';
import { explainExport, pricedFigures } from '../../domain/export/explain.ts';
import {
  type ExportFailure,
  type ExportJob,
  type ExportPlanned,
  endedJob,
  failedJob,
  noProgress,
} from '../../domain/export/export-job.ts';
import { exportPrefix, knownHashesKey, listKey } from '../../domain/export/export-keys.ts';
import { planSettingsFor } from '../../domain/export/export-settings.ts';
import { formatFor } from '../../domain/export/formats.ts';
import { type ExportInput, planExport } from '../../domain/export/plan-export.ts';
import { figuresOf } from '../../domain/export/plan-figures.ts';
import type { VolumePlan } from '../../domain/export/plan-volume.ts';
import type { StoredObject } from '../../domain/export/stored-object.ts';
import { SourceGoneError } from '../../ports/archive-store.ts';
import type { Deps } from '../deps.ts';
import { abortUploads } from './below.ts';
import { type Gathered, gatherObjects, readGathered } from './gather-objects.ts';
import { keepCrc32s, readKeptCrc32s } from './kept-crc32s.ts';
import type { ExportLease } from './lease.ts';
import { writeCopyOrders, writeHashOrders } from './write-orders.ts';

export type PlanDeps = Pick<
  Deps,
  'archives' | 'listing' | 'exportJobs' | 'exportQueue' | 'exportSettings' | 'clock' | 'log'
>;

/**
 * Lists the objects of an export, puts their list down, plans, and writes down what workers have to do. A zip of which
 * every CRC-32 is known from an earlier one needs no hashing.
 *
 * @returns the job as it is then: `hashing`, `copying`, `explained` or `failed`.
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
export async function planArchives(
  deps: PlanDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<ExportJob> {
  const gathered = await gatherObjects(deps, { job, lease });
  if ('failure' in gathered) return fail(deps, lease, gathered.failure);
  const { format, isDryRun } = job.request;
  if (format !== 'zip' || isDryRun) return planCopies(deps, { job, lease, gathered });
  const { objects } = gathered;
  const known = await readKeptCrc32s(deps, { tenant: job.tenant, objects });
  if (known.size === objects.length) return planCopies(deps, { job, lease, gathered, crc32s: known });
  return planHashing(deps, { job, lease, gathered, known });
}

/**
 * Plans the copies of a zip whose objects are hashed.
 *
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
export async function planHashedArchives(
  deps: PlanDeps,
  input: { job: ExportJob; lease: ExportLease; hashes: Map<string, number> },
): Promise<ExportJob> {
  const { job, lease, hashes } = input;
  const gathered = await readGathered(deps, job, job.round);
  if (!gathered) throw new SourceGoneError(listKey(job, job.round));
  const { objects } = gathered;
  const known = await deps.archives.get(knownHashesKey(job, job.round));
  if (known) findCrc32s(known, objects, hashes);
  // Some are in neither: what was known is gone.
  if (hashes.size !== objects.length) throw new SourceGoneError(knownHashesKey(job, job.round));
  return planCopies(deps, { job, lease, gathered, crc32s: hashes });
}

async function fail(deps: PlanDeps, lease: ExportLease, failure: ExportFailure): Promise<ExportJob> {
  return lease.change((job) => failedJob(job, { failure, nowMs: deps.clock.nowMs() }));
}

async function planHashing(
  deps: PlanDeps,
  input: { job: ExportJob; lease: ExportLease; gathered: Gathered; known: ReadonlyMap<string, number> },
): Promise<ExportJob> {
  const { job, lease, gathered, known } = input;
  const plan = planExport(inputOf(job, gathered), planSettingsFor(deps.exportSettings, job.request));
  if (plan.kind !== 'planned') return fail(deps, lease, tooLarge(plan.object));
  const summary = summaryOf(deps, { job, gathered, volumes: plan.volumes });
  // Not what is kept for the tenant: another export may change that meanwhile.
  const isKnown = ({ oid }: StoredObject) => known.has(oid);
  const crc32Of = crc32From(known);
  const file = encodeCrc32s(gathered.objects.filter(isKnown), { crc32Of, others: undefined });
  await deps.archives.put(knownHashesKey(job, job.round), file);
  const objects = gathered.objects.filter((object) => !isKnown(object));
  const units = await writeHashOrders(deps, { job, lease, objects });
  return lease.change((now) => ({
    ...now,
    state: 'hashing',
    planned: { ...summary, units, volumes: [] },
    doneUnits: '',
    progress: { ...noProgress, hashedBytes: summary.objectBytes - bytesOf(objects) },
    movedAtMs: deps.clock.nowMs(),
  }));
}

/** By oid. Every object that is asked for must be in it. */
function crc32From(crc32s: ReadonlyMap<string, number>): (object: StoredObject) => number {
  return ({ oid }) => {
    const crc32 = crc32s.get(oid);
    if (crc32 === undefined) throw new Error(`The CRC-32 of ${oid} is missing.`);
    return crc32;
  };
}

const bytesOf = (objects: readonly StoredObject[]) =>
  objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

async function planCopies(
  deps: PlanDeps,
  input: {
    job: ExportJob;
    lease: ExportLease;
    gathered: Gathered;
    /** Of all objects, for a zip alone. */
    crc32s?: ReadonlyMap<string, number>;
  },
): Promise<ExportJob> {
  const { job, lease, gathered, crc32s } = input;
  const settings = planSettingsFor(deps.exportSettings, job.request);
  const plan = planExport(inputOf(job, gathered), settings);
  if (plan.kind !== 'planned') return fail(deps, lease, tooLarge(plan.object));
  const summary = summaryOf(deps, { job, gathered, volumes: plan.volumes });
  if (job.request.isDryRun) {
    const explained = explainExport(inputOf(job, gathered), settings, deps.exportSettings);
    const nowMs = deps.clock.nowMs();
    return lease.change((now) => ({
      ...endedJob(now, { state: 'explained', nowMs }),
      planned: { ...summary, units: 0, volumes: [] },
      explained,
      expiresAtMs: nowMs + deps.exportSettings.keepMs,
    }));
  }
  // What an earlier attempt, or an earlier round, has begun.
  await abortUploads(deps, exportPrefix(job));
  const crc32Of = crc32s ? crc32From(crc32s) : () => 0;
  if (crc32s) await keepCrc32s(deps, { job, objects: gathered.objects, crc32Of });
  const orders = await writeCopyOrders(deps, { job, lease, volumes: plan.volumes, crc32Of });
  return lease.change((now) => ({
    ...now,
    state: 'copying',
    planned: { ...summary, ...orders },
    doneUnits: '',
    // What was known, or found before, is done.
    progress: { ...noProgress, hashedBytes: crc32s ? summary.objectBytes : 0 },
    movedAtMs: deps.clock.nowMs(),
  }));
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

function tooLarge({ oid }: StoredObject): ExportFailure {
  return { reason: 'object-too-large', message: `The object ${oid} is larger than an archive may be.` };
}

function summaryOf(
  { exportSettings }: PlanDeps,
  input: { job: ExportJob; gathered: Gathered; volumes: readonly VolumePlan[] },
): Omit<ExportPlanned, 'units' | 'volumes'> {
  const { job, gathered, volumes } = input;
  const figures = figuresOf(volumes);
  const { requests, dollars, seconds } = pricedFigures(figures, exportSettings);
  return {
    way: planSettingsFor(exportSettings, job.request).way,
    objectCount: gathered.objects.length,
    objectBytes: bytesOf(gathered.objects),
    missing: gathered.missing.length,
    conflicts: gathered.conflicts,
    figures,
    requests,
    dollars,
    seconds,
  };
}
