import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { forEachLimited, mapLimited } from '../../core/rules/async.ts';
import { LeaseLostError } from '../../core/rules/lease.ts';
import { SourceGoneError, type UploadedPart, UploadGoneError } from '../../core/store/rules/archive-store.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { noteFailure } from '../../frame/failures/failures.ts';
import type { FailurePorts } from '../../frame/failures/ports.ts';
import { copyParts } from './copy-parts.ts';
import type { StoredCrc32s } from './crc32s.ts';
import { type GatherDeps, type Gathered, gatherObjects } from './gather.ts';
import { abortUploads, decodeJson, ExportLease, encodeJson, tidyUp } from './lease.ts';
import type { ExportMessage } from './messages.ts';
import type { ExportPorts } from './ports.ts';
import { formatFor } from './rules/archive-formats.ts';
import {
  archiveKey,
  crc32sKey,
  type ExportFailure,
  type ExportJob,
  type ExportPath,
  type ExportPlanned,
  type ExportVolume,
  endedJob,
  exportPrefix,
  failedJob,
  isOpen,
  listKey,
  madeKey,
  noProgress,
  openUnits,
  plannedAnew,
  type UnitName,
  unitKey,
  unitsIn,
  withSuccess,
} from './rules/job.ts';
import { sizeOf } from './rules/layout.ts';
import { encodeObjectList } from './rules/objects.ts';
import {
  type CopyOrder,
  madeBytes,
  type OrderedVolume,
  orderedPart,
  type PlannedPart,
  plannedParts,
  unitsOf,
} from './rules/orders.ts';
import { figuresOf, planExport, pricesOf, type VolumePlan } from './rules/plan.ts';
import { planSettingsFor } from './rules/settings.ts';

/** Orders that are in memory, and written, at a time: all workers wait for them. */
const putsAtOnce = 96;

type OrderDeps = Pick<ExportPorts, 'exportSettings'> & Pick<FilePorts, 'archives'>;

interface CopiesToOrder {
  readonly job: ExportJob;
  readonly volumes: readonly VolumePlan[];
}

/**
 * Begins the uploads of all archives, and writes down which parts are to be made.
 *
 * @param input.meanwhile what is to be done, too, before the orders are written.
 * @returns how many units there are, and the archives.
 */
async function writeCopyOrders(
  deps: OrderDeps,
  input: CopiesToOrder & { lease: ExportLease; meanwhile: Promise<unknown> },
): Promise<Pick<ExportPlanned, 'units' | 'volumes'>> {
  const { job, lease, volumes, meanwhile } = input;
  const { exportSettings } = deps;
  const { format } = job.request;
  const [uploads] = await Promise.all([beginUploads(deps, input), meanwhile]);
  const parts = [...plannedParts(volumes, exportSettings)];
  // Those with the directory of a zip can be made only when all others are.
  const isLast = ({ part, layout }: PlannedPart) =>
    format === 'zip' && part.endByte > layout.directoryStartByte;
  const ofUnits = parts.filter((part) => !isLast(part));
  const seconds = ofUnits.reduce((sum, part) => sum + part.seconds, 0);
  const units = [...unitsOf(ofUnits, { seconds, pace: exportSettings.pace })];
  const orders: [UnitName, readonly PlannedPart[]][] = [...units.entries()];
  if (format === 'zip')
    for (const volume of volumes.keys())
      orders.push([`last-${volume}`, parts.filter((part) => part.volume === volume && isLast(part))]);
  await forEachLimited(orders, putsAtOnce, async ([unit, planned]) => {
    const order: CopyOrder = {
      format,
      modifiedAtMs: job.createdAtMs,
      volumes: uploads,
      parts: planned.map((part) => orderedPart(part, uploads[part.volume]?.directory?.startByte ?? 0)),
    };
    await deps.archives.put(unitKey(job, { ...job, format, unit }), encodeJson(order));
    await lease.renew();
  });
  return {
    units: units.length,
    volumes: uploads.map(({ made: _, ...upload }, index) => ({
      ...upload,
      sizeBytes: volumes[index]?.layout.sizeBytes ?? 0,
      parts: parts.filter(({ volume }) => volume === index).length,
    })),
  };
}

/** Begins the upload of each archive, and puts down what only this planner can make of it. */
async function beginUploads(
  { archives }: OrderDeps,
  { job, volumes }: CopiesToOrder,
): Promise<OrderedVolume[]> {
  const { tenant, exportId, round } = job;
  const { format, repo, isNamed } = job.request;
  const begun: OrderedVolume[] = [];
  let directoryAt = 0;
  for (const [volume, { layout }] of volumes.entries()) {
    const { objectsStartByte, directoryStartByte, sizeBytes } = layout;
    const number = { number: volume + 1, of: volumes.length };
    const put = (what: 'made' | 'directory', startByte: number, endByte: number) =>
      archives.putSource(madeKey(job, { round, volume, what }), madeBytes(layout, { startByte, endByte }));
    const [made, upload, directory] = await Promise.all([
      put('made', 0, objectsStartByte),
      archives.createUpload(archiveKey({ tenant, exportId, repo, isNamed }, { format, round, ...number })),
      format === 'zip' ? put('directory', directoryStartByte, sizeBytes) : undefined,
    ]);
    const endByte = directoryAt + sizeBytes - directoryStartByte;
    const row = { startByte: directoryAt, endByte };
    begun.push({ ...upload, made, ...(directory && { directory: { ...directory, ...row } }) });
    directoryAt = endByte;
  }
  return begun;
}

type PlanDeps = GatherDeps & Pick<CoreDeps, 'clock' | 'log'> & ExportPorts;

/** Ends an export that cannot be made. */
function failAs(deps: PlanDeps, lease: ExportLease, failure: ExportFailure): Promise<ExportJob> {
  return lease.end((job) => failedJob(job, { failure, nowMs: deps.clock.nowMs() }));
}

/** The archives of an export, and what they take. */
function planVolumes(
  { exportSettings }: PlanDeps,
  { job, gathered }: { job: ExportJob; gathered: Gathered },
):
  | { volumes: readonly VolumePlan[]; summary: Omit<ExportPlanned, 'units' | 'volumes'> }
  | { failure: ExportFailure } {
  const { copiesParts = exportSettings.copiesParts } = job;
  const settings = planSettingsFor({ ...exportSettings, copiesParts });
  const { tenant, request, createdAtMs } = job;
  const { objects, missing } = gathered;
  const path = request.repo === null ? tenant : `${tenant}/${request.repo}`;
  const subject = { path, startedAtMs: createdAtMs, missing };
  const format = formatFor(request.format, { modifiedAtMs: createdAtMs });
  const plan = planExport({ objects, format, subject }, settings);
  if (plan.kind !== 'planned') {
    const message = `The object ${plan.object.oid} is larger than an archive can be.`;
    return { failure: { reason: 'object-too-large', message } };
  }
  const { volumes } = plan;
  const figures = figuresOf(volumes);
  const summary = {
    way: settings.way,
    objectCount: objects.length,
    objectBytes: objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    missing: missing.length,
    conflicts: gathered.conflicts,
    figures,
    ...pricesOf(figures, exportSettings),
  };
  return { volumes, summary };
}

/** The list of more objects is put down before their plan is made, so that memory need not hold both. */
const objectsAtOnce = 100_000;

/**
 * Lists the objects of an export, puts their list down, plans its archives, begins their uploads, and writes down what workers
 * have to do. A dry run ends with its plan, which says what the export would take.
 *
 * Don't add a request that waits for another. Up to 96 units there are 9 round trips before the first
 * part and 5 after the last one, of a zip 7. `test/unit/lambda/subjects/exports/round-trips.test.ts` counts them.
 *
 * @returns the job as it is then: `copying`, `explained` or `failed`.
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
async function planArchives(
  deps: PlanDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<ExportJob> {
  const [gathered] = await Promise.all([
    gatherObjects(deps, { job, lease }),
    // What an earlier attempt, or an earlier round, has begun.
    abortUploads(deps, exportPrefix(job)),
  ]);
  if ('failure' in gathered) return failAs(deps, lease, gathered.failure);
  const { isDryRun } = job.request;
  // A plan is a function of it, so it is there before the job says that it is planned.
  const meanwhile = isDryRun
    ? Promise.resolve()
    : deps.archives.put(listKey(job, job.round), encodeObjectList(gathered.objects));
  if (gathered.objects.length > objectsAtOnce) await meanwhile;
  const planned = planVolumes(deps, { job, gathered });
  if ('failure' in planned) {
    await meanwhile;
    return failAs(deps, lease, planned.failure);
  }
  const { volumes, summary } = planned;
  const nowMs = deps.clock.nowMs();
  if (isDryRun)
    return lease.end((now) => ({
      ...endedJob(now, { state: 'explained', nowMs }),
      planned: { ...summary, units: 0, volumes: [] },
      expiresAtMs: nowMs + deps.exportSettings.keepMs,
    }));
  const ordered = await writeCopyOrders(deps, { job, lease, volumes, meanwhile });
  // Last, once list, uploads and all orders are in the store: workers need nothing else.
  return lease.end((now) => ({
    ...withSuccess(now, null),
    state: 'copying',
    planned: { ...summary, ...ordered },
    doneUnits: '',
    progress: noProgress,
    movedAtMs: deps.clock.nowMs(),
  }));
}

/** Parts that a store tells in one answer. */
const partsOfPage = 1000;
/** As many as an upload can have. */
const pagesAtOnce = 10;

type FinishDeps = Pick<CoreDeps, 'clock' | 'log'> &
  Pick<ExportPorts, 'exportJobs' | 'exportSettings'> &
  Pick<FilePorts, 'archives'>;

/**
 * Completes the archives of an export whose units are done. An earlier attempt may have completed some.
 *
 * @returns the job as it is then: `done`; `copying`, with all units open, if parts are missing; `planning` if an upload is
 * gone.
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
export async function finishArchives(
  deps: FinishDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<ExportJob> {
  const { clock, exportSettings } = deps;
  for (const [index, volume] of job.planned?.volumes.entries() ?? []) {
    const outcome = await completeVolume(deps, volume, () => makeLastParts(deps, { job, lease, index }));
    await lease.renew();
    if (outcome === 'complete') continue;
    const { tenant, exportId, round } = job;
    const reason = outcome === 'parts missing' ? outcome : outcome.gone;
    deps.log.warn('export not complete', { tenant, exportId, round, reason });
    return lease.end((now) =>
      outcome === 'parts missing'
        ? { ...withSuccess(now, null), doneUnits: '', movedAtMs: clock.nowMs() }
        : plannedAnew(now, { why: reason, nowMs: clock.nowMs() }),
    );
  }
  return lease.end((now) => {
    const nowMs = clock.nowMs();
    return {
      ...withSuccess(now, null),
      state: 'done',
      endedAtMs: nowMs,
      expiresAtMs: nowMs + exportSettings.keepMs,
      movedAtMs: nowMs,
    };
  });
}

/** @returns `gone`: why the export is to be planned anew. */
async function completeVolume(
  { archives }: FinishDeps,
  volume: ExportVolume,
  makeLast: () => Promise<UploadedPart[] | undefined>,
): Promise<'complete' | 'parts missing' | { readonly gone: string }> {
  const isThere = async () => (await archives.head(volume.key))?.sizeBytes === volume.sizeBytes;
  try {
    const [last, listed] = await Promise.all([makeLast(), partsOf(archives, volume)]);
    // An earlier attempt may have made some of the last ones, too.
    const byNumber = new Map([...listed, ...(last ?? [])].map((part) => [part.number, part]));
    const parts = [...byNumber.values()].sort((a, b) => a.number - b.number);
    // A store may still answer for an upload that an earlier attempt has completed.
    if (!isComplete(volume, parts)) {
      if (await isThere()) return 'complete';
      return last ? 'parts missing' : { gone: 'order gone' };
    }
    await archives.complete(volume, parts);
  } catch (error) {
    if (error instanceof SourceGoneError) return { gone: await whyGone({ archives }, error) };
    if (!(error instanceof UploadGoneError)) throw error;
    // Somebody else completed it, or this did, and its answer was lost.
    return (await isThere()) ? 'complete' : { gone: 'upload gone' };
  }
  const made = await archives.head(volume.key);
  if (made?.sizeBytes !== volume.sizeBytes)
    throw new Error(`An archive has ${made?.sizeBytes ?? 'no'} bytes instead of ${volume.sizeBytes}.`);
  return 'complete';
}

/** What the store says of an object that it didn't have in the version that was listed. */
export async function whyGone(
  { archives }: Pick<FilePorts, 'archives'>,
  { source }: SourceGoneError,
): Promise<string> {
  const { etag = 'nothing' } = (await archives.head(source.key)) ?? {};
  return `the store rejects the ETag ${source.etag} of ${source.key}, as listed: a HEAD returns ${etag}`;
}

/** CRC-32s of units that are read at a time. */
const crc32sAtOnce = 128;

/**
 * Makes the parts of a zip that have its directory. There are none if some CRC-32s are missing.
 *
 * @returns undefined if nothing says what they are, as of what an older version planned.
 * @throws {SourceGoneError} @throws {UploadGoneError} @throws {LeaseLostError} @throws {StoreUnavailableError}
 */
async function makeLastParts(
  deps: FinishDeps,
  { job, lease, index }: { job: ExportJob; lease: ExportLease; index: number },
): Promise<UploadedPart[] | undefined> {
  const { archives } = deps;
  const { round } = job;
  const made: UploadedPart[] = [];
  if (job.request.format === 'tar') return made;
  const unit = `last-${index}` as const;
  const from = job.planned?.volumes[index]?.directory;
  if (!from) return undefined;
  const { startByte, endByte } = from;
  const directory = Buffer.alloc(sizeOf(from));
  const [bytes, found] = await Promise.all([
    archives.get(unitKey(job, { round, format: 'zip', unit })),
    mapLimited(unitsIn(job), crc32sAtOnce, (each) =>
      archives.get(crc32sKey(job, { round, unit: each, isWhole: true })),
    ),
    archives.readInto(from, { startByte: 0, endByte: directory.length }, directory),
  ]);
  if (!bytes) return undefined;
  const put = (crc32s: StoredCrc32s) => {
    for (const [at, crc32] of crc32s)
      if (at >= startByte && at < endByte) directory.writeUInt32LE(crc32, at - startByte);
  };
  for (const each of found) {
    if (!each) return made;
    put(decodeJson<StoredCrc32s>(each));
  }
  await copyParts(deps, {
    path: job,
    round,
    unit,
    order: decodeJson<CopyOrder>(bytes),
    isFirst: true,
    directory: async (own) => {
      put(own);
      return directory;
    },
    onPart: async (_, part) => {
      if (part) made.push(part);
      await lease.renew();
    },
    isOver: () => false,
  });
  return made;
}

/** All parts of an upload. Its pages are asked for at the same time, as its parts have the numbers from 1 on. */
async function partsOf(archives: FilePorts['archives'], volume: ExportVolume): Promise<UploadedPart[]> {
  const stretches = Math.max(1, Math.ceil(volume.parts / partsOfPage));
  const starts = Array.from({ length: stretches }, (_, stretch) => stretch * partsOfPage);
  const found = await mapLimited(starts, pagesAtOnce, async (after) => {
    const isLast = after === starts.at(-1);
    const end = isLast ? Number.POSITIVE_INFINITY : after + partsOfPage;
    const parts: UploadedPart[] = [];
    for await (const page of archives.parts(volume, { after })) {
      parts.push(...page.filter(({ number }) => number <= end));
      if ((page.at(-1)?.number ?? 0) >= end) break;
    }
    return parts;
  });
  return found.flat();
}

function isComplete(volume: ExportVolume, parts: readonly UploadedPart[]): boolean {
  const sizeBytes = parts.reduce((sum, part) => sum + part.sizeBytes, 0);
  const areInOrder = parts.every(({ number }, index) => number === index + 1);
  return areInOrder && parts.length === volume.parts && sizeBytes === volume.sizeBytes;
}

export type AdvanceDeps = PlanDeps & Pick<CoreDeps, 'log'> & FailurePorts;

/**
 * Does what comes next for an export: plans it, hands out what is still to be done, completes the archives, or removes
 * what is left of it. It may be asked at any time and any number of times.
 *
 * @returns the state in which the export is then. undefined: there is no such export.
 * @throws {ExportBusyError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError} It is to be asked again.
 */
export async function advanceExport(
  deps: AdvanceDeps,
  path: ExportPath,
): Promise<ExportJob['state'] | undefined> {
  const { job, lease } = await ExportLease.take(deps, path);
  if (!job) return undefined;
  if (lease) return goOn(deps, { job, lease });
  if (job.state === 'done') {
    if (job.isTidy && deps.clock.nowMs() < job.expiresAtMs) return job.state;
    await expire(deps, path);
  }
  return tidyUp(deps, path);
}

/**
 * Does what comes next for an open export whose lease the caller has.
 *
 * @returns the state in which it is then. undefined: there is no such export any more.
 * @throws {StoreUnavailableError} @throws {LedgerUnavailableError} It is to be asked again.
 */
export async function goOn(
  deps: AdvanceDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<ExportJob['state'] | undefined> {
  try {
    const next = await nextOf(deps, { job, lease });
    await lease.release();
    if (isOpen(next)) {
      await deps.exportQueue.send(messagesFor(next));
      return next.state;
    }
    if (isFaultOfService(next)) {
      const { tenant, exportId } = next;
      await noteFailure(deps, { kind: 'export', tenant, exportId, tries: 1, why: 'export' });
    }
  } catch (error) {
    if (!(error instanceof LeaseLostError)) {
      await lease.release();
      throw error;
    }
  }
  // Also after an end that somebody else brought about meanwhile: this function may have made something since.
  return tidyUp(deps, job);
}

async function nextOf(
  deps: AdvanceDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<ExportJob> {
  const nowMs = deps.clock.nowMs();
  if (nowMs >= job.endsByMs) {
    const message = 'The export took too long. Export repos individually, and large objects as tar.';
    return lease.end((now) => failedJob(now, { nowMs, failure: { reason: 'timeout', message } }));
  }
  if (job.state === 'planning') return planArchives(deps, { job, lease });
  if (openUnits(job).length > 0) return job;
  return finishArchives(deps, { job, lease });
}

/** The messages by which an open export goes on. */
function messagesFor(job: ExportJob): ExportMessage[] {
  const { tenant, exportId, round, state } = job;
  const { format } = job.request;
  const units = openUnits(job);
  // All of a small zip is made with its directory.
  if (state !== 'copying' || units.length === 0) return [{ tenant, exportId, step: { kind: 'advance' } }];
  return units.map((unit) => ({ tenant, exportId, step: { kind: 'unit', round, state, unit, format } }));
}

/** Ends an export whose archive has been kept for long enough. */
async function expire({ exportJobs, clock }: AdvanceDeps, path: ExportPath): Promise<void> {
  const nowMs = clock.nowMs();
  await exportJobs.change(path, (job) =>
    job.state === 'done' && nowMs >= job.expiresAtMs ? endedJob(job, { state: 'expired', nowMs }) : undefined,
  );
}

/** Whether a job failed by no fault of what was asked for: that is the operator's affair too. */
function isFaultOfService({ state, failure }: Pick<ExportJob, 'state' | 'failure'>): boolean {
  const { reason } = failure ?? {};
  return state === 'failed' && reason !== 'object-too-large' && reason !== 'too-many-objects';
}
