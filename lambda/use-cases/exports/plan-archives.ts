import { explainExport, pricedFigures } from '../../domain/export/explain.ts';
import {
  type ExportFailure,
  type ExportJob,
  type ExportPlanned,
  endedJob,
  failedJob,
  noProgress,
} from '../../domain/export/export-job.ts';
import { archiveKey, exportPrefix, listKey, madeKey, requestKey, unitKey } from '../../domain/export/export-keys.ts';
import { planSettingsFor } from '../../domain/export/export-settings.ts';
import { formatFor } from '../../domain/export/formats.ts';
import { decodeObjectList, encodeObjectList } from '../../domain/export/object-list.ts';
import { type ExportInput, planExport } from '../../domain/export/plan-export.ts';
import { figuresOf } from '../../domain/export/plan-figures.ts';
import type { VolumePlan } from '../../domain/export/plan-volume.ts';
import { distinctObjects, type StoredObject } from '../../domain/export/stored-object.ts';
import { hashUnits, orderedParts, secondsOf, unitsOf } from '../../domain/export/units.ts';
import {
  type CopyOrder,
  type HashOrder,
  MadeBytes,
  type OrderedPart,
  type OrderedVolume,
} from '../../domain/export/work-order.ts';
import { SourceGoneError } from '../../ports/archive-store.ts';
import type { Deps } from '../deps.ts';
import { decodeJson, encodeJson } from './json-file.ts';
import type { ExportLease } from './lease.ts';
import { listObjects } from './list-objects.ts';
import { abortUploads } from './tidy-up.ts';

export type PlanDeps = Pick<
  Deps,
  'archives' | 'listing' | 'exportJobs' | 'exportQueue' | 'exportSettings' | 'clock' | 'log'
>;

/** What a job's request lists, as it lies in the store. */
export type RequestedObjects = readonly { readonly oid: string; readonly name?: string }[];

interface Gathered {
  readonly objects: readonly StoredObject[];
  readonly conflicts: number;
  /** Objects that were asked for, or were there in an earlier round, and are not stored. */
  readonly missing: readonly { readonly oid: string; readonly sizeBytes: number | null }[];
}

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
  const gathered = await gather(deps, { job, lease });
  if ('failure' in gathered) return fail(deps, lease, gathered.failure);
  const { format, isDryRun } = job.request;
  if (format === 'zip' && !isDryRun) return writeHashUnits(deps, { job, lease, gathered });
  return planCopies(deps, { job, lease, gathered, crc32Of: () => 0 });
}

/**
 * Plans the copies of a zip whose objects are hashed.
 *
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
export async function planHashedArchives(
  deps: PlanDeps,
  input: { job: ExportJob; lease: ExportLease; hashes: ReadonlyMap<string, number> },
): Promise<ExportJob> {
  const { job, lease, hashes } = input;
  const gathered = await readGathered(deps, job, job.round);
  if (!gathered) throw new SourceGoneError(listKey(job, job.round));
  const crc32Of = ({ oid }: StoredObject) => {
    const crc32 = hashes.get(oid);
    if (crc32 === undefined) throw new Error(`The CRC-32 of ${oid} is missing.`);
    return crc32;
  };
  return planCopies(deps, { job, lease, gathered, crc32Of });
}

async function fail(deps: PlanDeps, lease: ExportLease, failure: ExportFailure): Promise<ExportJob> {
  return lease.change((job) => failedJob(job, { failure, nowMs: deps.clock.nowMs() }));
}

async function gather(
  deps: PlanDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<Gathered | { failure: ExportFailure }> {
  const { objectsMax } = deps.exportSettings;
  const wanted = await wantedObjects(deps, job);
  const listed = await listObjects(deps, {
    tenant: job.tenant,
    repo: job.request.repo,
    wanted,
    objectsMax,
    onRequest: () => lease.renew(),
  });
  if (listed.kind === 'too-many') {
    const message = `There are more than ${objectsMax.toLocaleString('en-US')} objects. Export its repos one by one.`;
    return { failure: { reason: 'too-many-objects', message } };
  }
  const { objects, conflicts } = distinctObjects(listed.objects);
  const found = new Set(objects.map(({ oid }) => oid));
  const before = job.round > 1 ? await readGathered(deps, job, job.round - 1) : undefined;
  const known = new Map<string, number | null>();
  for (const oid of wanted?.keys() ?? []) known.set(oid, null);
  for (const { oid, sizeBytes } of [...(before?.missing ?? []), ...(before?.objects ?? [])])
    known.set(oid, sizeBytes);
  const missing = [...known]
    .filter(([oid]) => !found.has(oid))
    .map(([oid, sizeBytes]) => ({ oid, sizeBytes }));
  const gathered = { objects, conflicts: conflicts.length, missing };
  // Before anything that depends on it: a plan is a function of this list.
  await deps.archives.put(listKey(job, job.round), encodeObjectList(objects));
  await deps.archives.put(
    `${listKey(job, job.round)}.json`,
    encodeJson({ conflicts: gathered.conflicts, missing }),
  );
  return gathered;
}

async function wantedObjects(
  { archives }: PlanDeps,
  job: ExportJob,
): Promise<ReadonlyMap<string, string | undefined> | undefined> {
  if (job.request.listedObjects === null) return undefined;
  const bytes = await archives.get(requestKey(job));
  if (!bytes) throw new Error('The list of the objects that were asked for is gone.');
  return new Map(decodeJson<RequestedObjects>(bytes).map(({ oid, name }) => [oid, name]));
}

async function readGathered(
  { archives }: PlanDeps,
  job: ExportJob,
  round: number,
): Promise<Gathered | undefined> {
  const [list, rest] = [await archives.get(listKey(job, round)), await archives.get(`${listKey(job, round)}.json`)];
  if (!list || !rest) return undefined;
  return { objects: decodeObjectList(list), ...decodeJson<Omit<Gathered, 'objects'>>(rest) };
}

async function writeHashUnits(
  deps: PlanDeps,
  { job, lease, gathered }: { job: ExportJob; lease: ExportLease; gathered: Gathered },
): Promise<ExportJob> {
  const { objects } = gathered;
  let units = 0;
  for (const unit of hashUnits(objects, deps.exportSettings)) {
    const order: HashOrder = {
      objects: unit.map(({ oid, key, etag, sizeBytes }) => ({ oid, key, etag, sizeBytes })),
    };
    await deps.archives.put(unitKey(job, { ...job, state: 'hashing', unit: units }), encodeJson(order));
    await lease.renew();
    units += 1;
  }
  const planned = planExport(inputOf(job, gathered), planSettingsFor(deps.exportSettings, job.request));
  if (planned.kind !== 'planned') return fail(deps, lease, tooLarge(planned.object));
  const summary = summaryOf(deps, { job, gathered, volumes: planned.volumes });
  return lease.change((now) => ({
    ...now,
    state: 'hashing',
    planned: { ...summary, units, volumes: [] },
    doneUnits: '',
    progress: noProgress,
    movedAtMs: deps.clock.nowMs(),
  }));
}

async function planCopies(
  deps: PlanDeps,
  input: {
    job: ExportJob;
    lease: ExportLease;
    gathered: Gathered;
    crc32Of: (object: StoredObject) => number;
  },
): Promise<ExportJob> {
  const { job, lease, gathered, crc32Of } = input;
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
  const prepared = await prepareVolumes(deps, { job, volumes: plan.volumes, crc32Of });
  const { pace } = deps.exportSettings;
  let units = 0;
  for (const parts of unitsOf(prepared.parts(), { seconds: prepared.seconds, pace })) {
    const order: CopyOrder = {
      format: job.request.format,
      modifiedAtMs: job.createdAtMs,
      volumes: prepared.volumes,
      parts,
    };
    await deps.archives.put(unitKey(job, { ...job, state: 'copying', unit: units }), encodeJson(order));
    await lease.renew();
    units += 1;
  }
  const volumes = plan.volumes.map(({ layout }, index) => ({
    key: prepared.volumes[index]?.key ?? '',
    uploadId: prepared.volumes[index]?.uploadId ?? '',
    sizeBytes: layout.sizeBytes,
    parts: prepared.partCounts[index] ?? 0,
  }));
  return lease.change((now) => ({
    ...now,
    state: 'copying',
    planned: { ...summary, units, volumes },
    doneUnits: '',
    progress: noProgress,
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
    objectBytes: gathered.objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    missing: gathered.missing.length,
    conflicts: gathered.conflicts,
    figures,
    requests,
    dollars,
    seconds,
  };
}

interface PreparedVolumes {
  readonly volumes: readonly OrderedVolume[];
  readonly partCounts: readonly number[];
  /** That one worker needs. */
  readonly seconds: number;
  parts(): Generator<OrderedPart>;
}

/** Begins the uploads of all archives, and puts down what only the planner can make. */
async function prepareVolumes(
  { archives, exportSettings }: PlanDeps,
  input: {
    job: ExportJob;
    volumes: readonly VolumePlan[];
    crc32Of: (object: StoredObject) => number;
  },
): Promise<PreparedVolumes> {
  const { job, crc32Of } = input;
  const { format, repo } = job.request;
  const partsOf = (volume: number, made: MadeBytes) => {
    const plan = input.volumes[volume];
    return plan ? orderedParts(plan, { layout: plan.layout, volume, made, crc32Of }) : [];
  };
  const volumes: OrderedVolume[] = [];
  const partCounts: number[] = [];
  let seconds = 0;
  for (const index of input.volumes.keys()) {
    const made = new MadeBytes({ areKept: true });
    let parts = 0;
    for (const part of partsOf(index, made)) {
      seconds += secondsOf(part, exportSettings.pace);
      parts += 1;
    }
    partCounts.push(parts);
    const key = madeKey(job, { round: job.round, volume: index });
    await archives.put(key, made.bytes());
    const etag = (await archives.head(key))?.etag;
    if (etag === undefined) throw new SourceGoneError(key);
    const number = { number: index + 1, of: input.volumes.length };
    const path = { tenant: job.tenant, exportId: job.exportId, repo };
    const upload = await archives.createUpload(archiveKey(path, { format, round: job.round, ...number }));
    volumes.push({ ...upload, made: { key, etag } });
  }
  return {
    volumes,
    partCounts,
    seconds,
    *parts() {
      for (const index of input.volumes.keys()) yield* partsOf(index, new MadeBytes({ areKept: false }));
    },
  };
}
