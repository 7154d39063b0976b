import type { Deps } from '../../deps.ts';
import {
  type ExportFailure,
  type ExportJob,
  type ExportPlanned,
  endedJob,
  failedJob,
  noProgress,
} from '../../domain/export/export-job.ts';
import { planSettingsFor } from '../../domain/export/export-settings.ts';
import { formatFor } from '../../domain/export/formats.ts';
import { type ExportInput, planExport } from '../../domain/export/plan-export.ts';
import { figuresOf, type PlanFigures, pricesOf } from '../../domain/export/plan-figures.ts';
import type { VolumePlan } from '../../domain/export/plan-volume.ts';
import type { StoredObject } from '../../domain/export/stored-object.ts';
import { secondsOf } from '../../domain/export/units.ts';
import type { Gathered } from './gather-objects.ts';
import type { ExportLease } from './lease.ts';
import { writeCopyOrders } from './write-orders.ts';

export type PlanDeps = Pick<
  Deps,
  'archives' | 'listing' | 'exportJobs' | 'exportQueue' | 'exportSettings' | 'clock' | 'log'
>;

export interface PlanInput {
  readonly job: ExportJob;
  readonly lease: ExportLease;
  readonly gathered: Gathered;
}

/**
 * Plans the archives of an export, begins their uploads, and writes down what workers have to do.
 *
 * @param input.crc32s of all objects, by oid, for a zip alone.
 * @param input.meanwhile what is to be done before the job says that it is planned.
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
export async function planCopies(
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
export async function explainPlan(deps: PlanDeps, input: PlanInput): Promise<ExportJob> {
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
export function failAs(deps: PlanDeps, lease: ExportLease, failure: ExportFailure): Promise<ExportJob> {
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
export function planVolumes(
  deps: PlanDeps,
  { job, gathered }: Pick<PlanInput, 'job' | 'gathered'>,
): PlannedVolumes | { readonly failure: ExportFailure } {
  const plan = planExport(inputOf(job, gathered), planSettingsFor(deps.exportSettings));
  if (plan.kind !== 'planned') {
    const message = `The object ${plan.object.oid} is larger than an archive may be.`;
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
