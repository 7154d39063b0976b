import type { Deps } from '../../deps.ts';
import {
  addProgress,
  type ExportJob,
  type ExportPath,
  type ExportProgress,
  isUnitDone,
  noProgress,
  withUnitDone,
} from '../../domain/export/export-job.ts';
import type { ExportStep } from '../../ports/export-queue.ts';

export type UnitStep = Extract<ExportStep, { kind: 'unit' }>;

/** What a worker has done is written down this often, and it is asked whether the export still goes on. */
const reportEveryMs = 3_000;

/** Whether a unit is still to be done. */
export function isWanted(job: ExportJob, step: UnitStep): boolean {
  return job.state === step.state && job.round === step.round && !isUnitDone(job, step.unit);
}

/** Tells the job's record what a worker does for one unit. */
export class UnitReport {
  readonly #deps: Pick<Deps, 'exportJobs' | 'clock'>;
  readonly #path: ExportPath;
  readonly #step: UnitStep;
  #unsaid: ExportProgress = noProgress;
  #saidAtMs: number;
  #saying: Promise<void> | undefined;
  /** Whether the export was cancelled or planned anew, or somebody else did the unit. */
  isObsolete = false;

  constructor(deps: Pick<Deps, 'exportJobs' | 'clock'>, path: ExportPath, step: UnitStep) {
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

  /** Writes the rest. */
  async pause(): Promise<void> {
    await this.#say((job) => job);
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
      finished = change({ ...job, failingSinceMs: null, doneUnits: withUnitDone(job.doneUnits, unit) });
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
