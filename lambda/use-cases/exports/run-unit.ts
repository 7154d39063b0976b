import {
  type ExportJob,
  type ExportPath,
  isOpen,
  openUnits,
  plannedAnew,
} from '../../domain/export/export-job.ts';
import { hashesKey, unitKey } from '../../domain/export/export-keys.ts';
import type { CopyOrder, HashOrder } from '../../domain/export/work-order.ts';
import { SourceGoneError, UploadGoneError } from '../../ports/archive-store.ts';
import { type AdvanceDeps, goOn } from './advance-export.ts';
import { copyParts } from './copy-parts.ts';
import { hashObjects } from './hash-objects.ts';
import { decodeJson, encodeJson } from './json-file.ts';
import { ExportLease, withLease } from './lease.ts';
import { tidyUp } from './tidy-up.ts';
import { isWanted, UnitReport, type UnitStep } from './unit-report.ts';

export type UnitDeps = AdvanceDeps;

/** A worker that has less left of its time lets another complete the archive. */
const finishWithinMs = 120_000;

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
  const { path, step } = input;
  const [job, order] = await Promise.all([
    deps.exportJobs.read(path),
    deps.archives.get(unitKey(path, step)),
  ]);
  if (!job) return 'obsolete';
  if (!isWanted(job, step)) {
    // Whoever did it may have died before it said so, or before it removed what is left.
    if (isToAdvance(job)) await deps.exportQueue.send([{ ...path, step: { kind: 'advance' } }]);
    else if (!job.isTidy) await tidyUp(deps, path);
    return 'obsolete';
  }
  const outcome = await workOn(deps, { ...input, order, isFirst: isNothingMade(job) });
  // An export that has ended was tidied up, perhaps before this made its last part.
  if (outcome === 'obsolete') await tidyUp(deps, path);
  return outcome;
}

async function workOn(
  deps: UnitDeps,
  input: {
    path: ExportPath;
    step: UnitStep;
    deadlineMs: number;
    order: Uint8Array | undefined;
    isFirst: boolean;
  },
): Promise<UnitOutcome> {
  const { path, step, deadlineMs, order: bytes, isFirst } = input;
  const report = new UnitReport(deps, path, step);
  const isOver = () => report.isObsolete || deps.clock.nowMs() >= deadlineMs;
  try {
    if (!bytes) throw new UploadGoneError('The order of a unit is gone.');
    const isDone =
      step.state === 'copying'
        ? await copyParts(deps, {
            path,
            round: step.round,
            order: decodeJson<CopyOrder>(bytes),
            isFirst,
            onPart: (work) => report.note(work),
            isOver,
          })
        : await hashUnit(deps, { path, step, order: decodeJson<HashOrder>(bytes), report, isOver });
    if (!isDone) return await goOnLater(deps, { path, step, report });
  } catch (error) {
    if (!(error instanceof SourceGoneError || error instanceof UploadGoneError)) throw error;
    return replan(deps, { path, step, why: error });
  }
  const nowMs = deps.clock.nowMs();
  const finishes = step.state === 'copying' && deadlineMs - nowMs >= finishWithinMs;
  let leased: ExportJob | undefined;
  const finished = await report.finish((job) => {
    // Whoever makes the last parts completes the archive, too: it need not wait for another worker.
    leased = finishes && isToAdvance(job) ? withLease(job, nowMs) : undefined;
    return leased ?? job;
  });
  if (!finished) return 'obsolete';
  // If this function dies meanwhile, the message of its unit comes again.
  if (leased) await goOn(deps, { job: leased, lease: ExportLease.of(deps, leased) });
  else if (isToAdvance(finished)) await deps.exportQueue.send([{ ...path, step: { kind: 'advance' } }]);
  return 'done';
}

/** Whether no worker has told yet that it made a part. One that has died may have made some: they are made again. */
function isNothingMade({ progress }: ExportJob): boolean {
  return progress.uploadedBytes === 0 && progress.copiedBytes === 0;
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
