import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { forEachLimited } from '../../core/rules/async.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { type GatherDeps, type Gathered, gatherObjects } from './gather.ts';
import { abortUploads, type ExportLease, encodeJson } from './lease.ts';
import type { ExportPorts } from './ports.ts';
import { formatFor } from './rules/archive-formats.ts';
import {
  archiveKey,
  type ExportFailure,
  type ExportJob,
  type ExportPlanned,
  endedJob,
  exportPrefix,
  failedJob,
  listKey,
  madeKey,
  noProgress,
  type UnitName,
  unitKey,
  withSuccess,
} from './rules/job.ts';
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

export type PlanDeps = GatherDeps & Pick<CoreDeps, 'clock' | 'log'> & ExportPorts;

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
export async function planArchives(
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
