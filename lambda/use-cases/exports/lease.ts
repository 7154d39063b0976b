import type { ExportJob } from '../../domain/export/export-job.ts';
import type { ExportPath } from '../../ports/export-jobs.ts';
import type { Deps } from '../deps.ts';

/** How long a function that died keeps others from planning or finishing. */
const leaseMs = 60_000;
const renewAfterMs = 20_000;

/** Somebody else plans or finishes this export. The step is to be tried again, in case that they have died. */
export class ExportBusyError extends Error {
  override readonly name = 'ExportBusyError';
}

/** The export was cancelled, or somebody else went on with it. Nothing more is to be done here. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** The right to plan or finish an export: one function has it at a time. */
export class ExportLease {
  readonly #deps: Pick<Deps, 'exportJobs' | 'clock'>;
  readonly #path: ExportPath;
  #untilMs: number;
  #renewing: Promise<void> | undefined;

  private constructor(deps: Pick<Deps, 'exportJobs' | 'clock'>, path: ExportPath, untilMs: number) {
    this.#deps = deps;
    this.#path = path;
    this.#untilMs = untilMs;
  }

  /** @throws {ExportBusyError} */
  static async take(
    deps: Pick<Deps, 'exportJobs' | 'clock'>,
    path: ExportPath,
  ): Promise<{ lease: ExportLease; job: ExportJob }> {
    const nowMs = deps.clock.nowMs();
    const untilMs = nowMs + leaseMs;
    let taken: ExportJob | undefined;
    await deps.exportJobs.change(path, (job) => {
      taken = job.leaseUntilMs > nowMs ? undefined : { ...job, leaseUntilMs: untilMs, movedAtMs: nowMs };
      return taken;
    });
    if (!taken) throw new ExportBusyError('Somebody else plans or finishes this export.');
    return { lease: new ExportLease(deps, path, untilMs), job: taken };
  }

  /** Keeps the lease, if it is old enough to need it. May be called many times at once. @throws {LeaseLostError} */
  async renew(): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    if (this.#untilMs - leaseMs + renewAfterMs > nowMs) return;
    // Of two renewals at a time, one would find the other's lease, and take its own for lost.
    this.#renewing ??= this.#renewAt(nowMs).finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing;
  }

  async #renewAt(nowMs: number): Promise<void> {
    const untilMs = nowMs + leaseMs;
    await this.change((job) => ({ ...job, leaseUntilMs: untilMs, movedAtMs: nowMs }));
    this.#untilMs = untilMs;
  }

  /** Changes the job, if the lease still holds. @throws {LeaseLostError} */
  async change(change: (job: ExportJob) => ExportJob): Promise<ExportJob> {
    let changed: ExportJob | undefined;
    await this.#deps.exportJobs.change(this.#path, (job) => {
      changed = job.leaseUntilMs === this.#untilMs ? change(job) : undefined;
      return changed;
    });
    if (!changed) throw new LeaseLostError('The export was cancelled, or somebody else goes on with it.');
    return changed;
  }

  /** Lets others go on. */
  async release(): Promise<void> {
    await this.#deps.exportJobs.change(this.#path, (job) =>
      job.leaseUntilMs === this.#untilMs ? { ...job, leaseUntilMs: 0 } : undefined,
    );
  }
}
