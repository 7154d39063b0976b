import { type ExportJob, isOpen, openUnits, plannedAnew } from '../../domain/export/export-job.ts';
import { hashesKey, unitKey } from '../../domain/export/export-keys.ts';
import type { CopyOrder, HashOrder } from '../../domain/export/work-order.ts';
import { SourceGoneError, UploadGoneError } from '../../ports/archive-store.ts';
import type { ExportPath } from '../../ports/export-jobs.ts';
import type { Deps } from '../deps.ts';
import { copyParts } from './copy-parts.ts';
import { hashObjects } from './hash-objects.ts';
import { decodeJson, encodeJson } from './json-file.ts';
import { tidyUp } from './tidy-up.ts';
import { isWanted, UnitReport, type UnitStep } from './unit-report.ts';

export type UnitDeps = Pick<
  Deps,
  'archives' | 'exportJobs' | 'exportQueue' | 'exportSettings' | 'clock' | 'log'
>;

export type UnitOutcome =
  | 'done'
  /** The time was over. Another message goes on. */
  | 'unfinished'
  /** The export was cancelled or planned anew, or somebody else did the unit. */
  | 'obsolete'
  /** An object or an upload is gone, so the export is planned anew. */
  | 'replanned';

/**
 * Does one unit of an export's work. It may be done twice, also at the same time: parts are replaced by the same ones.
 *
 * @param input.deadlineMs nothing new begins afterwards.
 * @throws {StoreUnavailableError} @throws {LedgerUnavailableError} The unit is to be done again.
 */
export async function runUnit(
  deps: UnitDeps,
  input: { path: ExportPath; step: UnitStep; deadlineMs: number },
): Promise<UnitOutcome> {
  const { path, step, deadlineMs } = input;
  const job = await deps.exportJobs.read(path);
  if (!isWanted(job, step)) {
    // Whoever did it may have died before it said so.
    if (job && isToAdvance(job)) await deps.exportQueue.send([{ ...path, step: { kind: 'advance' } }]);
    return 'obsolete';
  }
  const outcome = await workOn(deps, { path, step, deadlineMs });
  // An export that has ended was tidied up, perhaps before this made its last part.
  if (outcome === 'obsolete') await tidyUp(deps, path);
  return outcome;
}

async function workOn(
  deps: UnitDeps,
  { path, step, deadlineMs }: { path: ExportPath; step: UnitStep; deadlineMs: number },
): Promise<UnitOutcome> {
  const report = new UnitReport(deps, path, step);
  const isOver = () => report.isObsolete || deps.clock.nowMs() >= deadlineMs;
  try {
    const bytes = await deps.archives.get(unitKey(path, step));
    if (!bytes) throw new UploadGoneError('The order of a unit is gone.');
    const isDone =
      step.state === 'copying'
        ? await copyParts(deps, {
            path,
            round: step.round,
            order: decodeJson<CopyOrder>(bytes),
            onPart: (work) => report.note(work),
            isOver,
          })
        : await hashUnit(deps, { path, step, order: decodeJson<HashOrder>(bytes), report, isOver });
    if (!isDone) return await goOnLater(deps, { path, step, report });
  } catch (error) {
    if (!(error instanceof SourceGoneError || error instanceof UploadGoneError)) throw error;
    return replan(deps, { path, step, why: error });
  }
  const finished = await report.finish();
  if (!finished) return 'obsolete';
  if (isToAdvance(finished)) await deps.exportQueue.send([{ ...path, step: { kind: 'advance' } }]);
  return 'done';
}

/** Whether an export waits for nothing but its next step. */
function isToAdvance(job: ExportJob): boolean {
  return isOpen(job) && openUnits(job).length === 0;
}

async function hashUnit(
  deps: UnitDeps,
  input: {
    path: ExportPath;
    step: UnitStep;
    order: HashOrder;
    report: UnitReport;
    isOver: () => boolean;
  },
): Promise<boolean> {
  const { path, step, order, report, isOver } = input;
  const { round, unit } = step;
  const onObject = (work: { hashedBytes: number; requests: number }) => report.note(work);
  const found = await hashObjects(deps, { path, round, unit, ...order, onObject, isOver });
  if (found) await deps.archives.put(hashesKey(path, { round, unit }), encodeJson([...found]));
  return found !== undefined;
}

async function goOnLater(
  deps: UnitDeps,
  { path, step, report }: { path: ExportPath; step: UnitStep; report: UnitReport },
): Promise<UnitOutcome> {
  await report.pause();
  if (report.isObsolete) return 'obsolete';
  await deps.exportQueue.send([{ ...path, step }]);
  return 'unfinished';
}

async function replan(
  deps: UnitDeps,
  { path, step, why }: { path: ExportPath; step: UnitStep; why: Error },
): Promise<UnitOutcome> {
  let isAnew = false;
  await deps.exportJobs.change(path, (job) => {
    // What a unit needs is also gone when the export has ended, or somebody else has done the unit.
    isAnew = isWanted(job, step);
    return isAnew ? plannedAnew(job, { nowMs: deps.clock.nowMs() }) : undefined;
  });
  if (!isAnew) return 'obsolete';
  deps.log.warn('export planned anew', { ...path, round: step.round, error: why });
  await deps.exportQueue.send([{ ...path, step: { kind: 'advance' } }]);
  return 'replanned';
}
