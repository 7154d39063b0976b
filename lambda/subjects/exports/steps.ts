import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { NoPartCopyError, SourceGoneError, UploadGoneError } from '../../core/store/rules/archive-store.ts';
import { failureText, isOutage, noteFailure } from '../../frame/failures/failures.ts';
import { type AdvanceDeps, advanceExport, goOn, whyGone } from './advance.ts';
import { copyParts } from './copy-parts.ts';
import { decodeJson, deleteBelow, ExportBusyError, ExportLease, tidyUp, withLease } from './lease.ts';
import type { ExportMessage, ExportStep } from './messages.ts';
import type { ExportPorts } from './ports.ts';
import {
  addProgress,
  type ExportJob,
  type ExportPath,
  type ExportProgress,
  exportPrefix,
  isOpen,
  isUnitDone,
  noProgress,
  openUnits,
  plannedAnew,
  unitKey,
  withFailure,
  withSuccess,
  withUnitDone,
} from './rules/job.ts';
import type { CopyOrder } from './rules/orders.ts';

export type UnitStep = Extract<ExportStep, { kind: 'unit' }>;

/** What a worker has done is written down this often, and it is asked whether the export still goes on. */
const reportEveryMs = 3_000;

/** Whether a unit is still to be done. */
export function isWanted(job: ExportJob, step: UnitStep): boolean {
  return job.state === step.state && job.round === step.round && !isUnitDone(job, step.unit);
}

/** Tells the job's record what a worker does for one unit. */
export class UnitReport {
  readonly #deps: Pick<CoreDeps, 'clock'> & Pick<ExportPorts, 'exportJobs'>;
  readonly #path: ExportPath;
  readonly #step: UnitStep;
  #unsaid: ExportProgress = noProgress;
  #saidAtMs: number;
  #saying: Promise<void> | undefined;
  /** Whether the export was cancelled or planned anew, or somebody else did the unit. */
  isObsolete = false;

  constructor(
    deps: Pick<CoreDeps, 'clock'> & Pick<ExportPorts, 'exportJobs'>,
    path: ExportPath,
    step: UnitStep,
  ) {
    this.#deps = deps;
    this.#path = path;
    this.#step = step;
    this.#saidAtMs = deps.clock.nowMs();
  }

  /** Notes work that was done. Now and then it is written. */
  async note(work: Partial<ExportProgress>): Promise<void> {
    this.#unsaid = addProgress(this.#unsaid, { ...noProgress, ...work });
    if (this.#deps.clock.nowMs() - this.#saidAtMs < reportEveryMs) return;
    this.#saidAtMs = this.#deps.clock.nowMs();
    // Parts end at the same time, and one write says it for all.
    this.#saying ??= this.#say((job) => job).finally(() => {
      this.#saying = undefined;
    });
    await this.#saying;
  }

  /** Writes the rest, at the end of a run without a failure. */
  async pause(): Promise<void> {
    await this.#say((job) => withSuccess(job, this.#step.unit));
  }

  /**
   * Writes the rest, and that the unit is done.
   *
   * @param change what is written with it.
   * @returns the record. undefined: the unit is not wanted any more.
   */
  async finish(change: (job: ExportJob) => ExportJob): Promise<ExportJob | undefined> {
    const { unit } = this.#step;
    let finished: ExportJob | undefined;
    await this.#say((job) => {
      finished = change({ ...withSuccess(job, unit), doneUnits: withUnitDone(job.doneUnits, unit) });
      return finished;
    });
    return this.isObsolete ? undefined : finished;
  }

  async #say(change: (job: ExportJob) => ExportJob): Promise<void> {
    const said = this.#unsaid;
    this.#unsaid = noProgress;
    let isWantedStill = false;
    await this.#deps.exportJobs.change(this.#path, (job) => {
      isWantedStill = isWanted(job, this.#step);
      if (!isWantedStill) return undefined;
      const progress = addProgress(job.progress, said);
      return change({ ...job, progress, movedAtMs: this.#deps.clock.nowMs() });
    });
    if (!isWantedStill) this.isObsolete = true;
  }
}

/** A worker that has less left of its time lets another complete the archive. */
const finishWithinMs = 120_000;

type UnitOutcome =
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
  deps: AdvanceDeps,
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
    // A message of an older version, or of an earlier round, may be all that is left to plan it by.
    if (job.state === 'planning') await advanceExport(deps, path);
    else if (isToAdvance(job)) await deps.exportQueue.send([{ ...path, step: { kind: 'advance' } }]);
    else if (!job.isTidy) await tidyUp(deps, path);
    return 'obsolete';
  }
  const outcome = await workOn(deps, { ...input, job, order });
  // An export that has ended was tidied up, perhaps before this made its last part.
  if (outcome === 'obsolete') await tidyUp(deps, path);
  return outcome;
}

async function workOn(
  deps: AdvanceDeps,
  input: Parameters<typeof runUnit>[1] & { job: ExportJob; order: Uint8Array | undefined },
): Promise<UnitOutcome> {
  const { path, step, deadlineMs, job, order } = input;
  const report = new UnitReport(deps, path, step);
  const isOver = () => report.isObsolete || deps.clock.nowMs() >= deadlineMs;
  try {
    if (!order) throw new UploadGoneError('The order of a unit is gone.');
    const isDone = await copyParts(deps, {
      path,
      ...step,
      order: decodeJson<CopyOrder>(order),
      isFirst: isNothingMade(job),
      onPart: (work) => report.note(work),
      isOver,
    });
    if (!isDone) {
      await report.pause();
      if (report.isObsolete) return 'obsolete';
      await deps.exportQueue.send([{ ...path, step }]);
      return 'unfinished';
    }
  } catch (error) {
    const isUncopied = error instanceof NoPartCopyError && job.copiesParts !== false;
    if (!(error instanceof SourceGoneError || error instanceof UploadGoneError || isUncopied)) throw error;
    return replan(deps, { path, step, why: error as Error });
  }
  const nowMs = deps.clock.nowMs();
  const finishes = deadlineMs - nowMs >= finishWithinMs;
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

/** Whether no worker has told yet that it did anything. One that has died may have made parts: they are made again. */
function isNothingMade({ progress }: ExportJob): boolean {
  return progress.requests === 0;
}

/** Whether an export waits for nothing but its next step. */
function isToAdvance(job: ExportJob): boolean {
  return isOpen(job) && openUnits(job).length === 0;
}

async function replan(
  deps: AdvanceDeps,
  { path, step, why }: { path: ExportPath; step: UnitStep; why: Error },
): Promise<UnitOutcome> {
  let isAnew = false;
  const reason = why instanceof SourceGoneError ? await whyGone(deps, why) : why.message.replace(/\.$/, '');
  await deps.exportJobs.change(path, (job) => {
    // What a unit needs is also gone when the export has ended, or somebody else has done the unit.
    isAnew = isWanted(job, step);
    if (!isAnew) return undefined;
    const anew = plannedAnew(job, { why: reason, nowMs: deps.clock.nowMs() });
    return why instanceof NoPartCopyError ? { ...anew, copiesParts: false } : anew;
  });
  if (!isAnew) return 'obsolete';
  deps.log.warn('export planned again', { ...path, round: step.round, reason, error: why });
  await deps.exportQueue.send([{ ...path, step: { kind: 'advance' } }]);
  return 'replanned';
}

/**
 * Does one step of an export. An export whose steps fail again and again fails itself.
 *
 * @param input.deadlineMs no new part begins afterwards.
 * @throws when the step is to be delivered again.
 */
export async function runExportStep(
  deps: AdvanceDeps,
  { message, deadlineMs }: { message: ExportMessage; deadlineMs: number },
): Promise<void> {
  const { tenant, exportId, step } = message;
  const path = { tenant, exportId };
  const beganAtMs = deps.clock.nowMs();
  try {
    const outcome = await doStep(deps, { message, deadlineMs });
    const durationMs = deps.clock.nowMs() - beganAtMs;
    deps.log.info('export step', { ...path, step, outcome, durationMs });
  } catch (error) {
    // Somebody else is at it: no failure.
    if (error instanceof ExportBusyError) throw error;
    const failed = { why: failureText(error), isOutage: isOutage(error), nowMs: deps.clock.nowMs() };
    const job = await deps.exportJobs.change(path, (now) => {
      const unit = step.kind === 'unit' && isWanted(now, step) ? step.unit : null;
      return isOpen(now) ? withFailure(now, { ...failed, unit }) : undefined;
    });
    if (job?.state !== 'failed') throw error;
    deps.log.error('export failed', { ...path, step, error });
    await Promise.all([
      deps.exportQueue.send([{ ...path, step: { kind: 'advance' } }]),
      noteFailure(deps, { ...path, kind: 'export', tries: 1, why: 'export' }),
    ]);
  }
}

function doStep(
  deps: AdvanceDeps,
  { message, deadlineMs }: { message: ExportMessage; deadlineMs: number },
): Promise<unknown> {
  const { tenant, exportId, step } = message;
  const path = { tenant, exportId };
  switch (step.kind) {
    case 'advance':
      return advanceExport(deps, path);
    case 'forget':
      return forgetFolder(deps, path);
    case 'unit':
      return runUnit(deps, { path, step, deadlineMs });
  }
}

/** That of an export that was not begun, or what older versions kept of a tenant beside its exports. */
async function forgetFolder(deps: AdvanceDeps, path: ExportPath): Promise<void> {
  if ((await deps.exportJobs.read(path)) === undefined) await deleteBelow(deps, exportPrefix(path));
}
