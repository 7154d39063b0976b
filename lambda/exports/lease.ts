import type { Deps } from '../deps.ts';
import {
  type ExportJob,
  type ExportPath,
  exportPrefix,
  isOpen,
  olderCrc32sPath,
  workPrefix,
} from './rules/job.ts';

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

/** A job with a new lease. undefined if somebody else has one. */
export function withLease(job: ExportJob, nowMs: number): ExportJob | undefined {
  if (job.leaseUntilMs > nowMs) return undefined;
  return { ...job, leaseUntilMs: nowMs + leaseMs, movedAtMs: nowMs };
}

/** The right to plan or finish an export: one function has it at a time. */
export class ExportLease {
  readonly #deps: Pick<Deps, 'exportJobs' | 'clock'>;
  readonly #path: ExportPath;
  #untilMs: number;
  #renewing: Promise<void> | undefined;
  #isEnded = false;

  private constructor(deps: Pick<Deps, 'exportJobs' | 'clock'>, path: ExportPath, untilMs: number) {
    this.#deps = deps;
    this.#path = path;
    this.#untilMs = untilMs;
  }

  /**
   * Takes the lease of an export, if it is open.
   *
   * @returns the job as it is then. undefined: there is none.
   * @throws {ExportBusyError}
   */
  static async take(
    deps: Pick<Deps, 'exportJobs' | 'clock'>,
    path: ExportPath,
  ): Promise<{ job: ExportJob | undefined; lease: ExportLease | undefined }> {
    const nowMs = deps.clock.nowMs();
    let leased: ExportJob | undefined;
    const job = await deps.exportJobs.change(path, (now) => {
      leased = isOpen(now) ? withLease(now, nowMs) : undefined;
      return leased;
    });
    if (leased) return { job: leased, lease: ExportLease.of(deps, leased) };
    if (job && isOpen(job)) throw new ExportBusyError('Another worker plans or finishes this export.');
    return { job, lease: undefined };
  }

  /** The lease that was written into a job: {@link withLease}. */
  static of(deps: Pick<Deps, 'exportJobs' | 'clock'>, job: ExportJob): ExportLease {
    const { tenant, exportId, leaseUntilMs } = job;
    return new ExportLease(deps, { tenant, exportId }, leaseUntilMs);
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
    if (!changed) throw new LeaseLostError('The export was canceled, or another worker continues it.');
    return changed;
  }

  /** Changes the job, if the lease still holds, and lets others go on. @throws {LeaseLostError} */
  async end(change: (job: ExportJob) => ExportJob): Promise<ExportJob> {
    const job = await this.change((now) => ({ ...change(now), leaseUntilMs: 0 }));
    this.#isEnded = true;
    return job;
  }

  /** Lets others go on, unless the lease has ended. */
  async release(): Promise<void> {
    if (this.#isEnded) return;
    await this.#deps.exportJobs.change(this.#path, (job) =>
      job.leaseUntilMs === this.#untilMs ? { ...job, leaseUntilMs: 0 } : undefined,
    );
  }
}

/** Files of an export's work, which only this code writes and reads. */

export function encodeJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

export function decodeJson<T>(bytes: Uint8Array): T {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as T;
}

/** Aborts all uploads whose keys begin with a prefix. */
export async function abortUploads({ archives }: Pick<Deps, 'archives'>, prefix: string): Promise<void> {
  for await (const page of archives.uploads(prefix)) for (const upload of page) await archives.abort(upload);
}

/** Deletes all objects below a prefix. */
export async function deleteBelow({ archives }: Pick<Deps, 'archives'>, prefix: string): Promise<void> {
  for await (const keys of archives.list(prefix)) await archives.delete(keys);
}

type TidyDeps = Pick<Deps, 'archives' | 'exportJobs' | 'clock'>;

/**
 * Removes what an export that has ended does not need any more: of one that is done, everything but its archives. May be
 * repeated.
 *
 * @returns the state in which it is. undefined: there is no such export.
 */
export async function tidyUp(
  deps: TidyDeps,
  { tenant, exportId }: ExportPath,
): Promise<ExportJob['state'] | undefined> {
  const path = { tenant, exportId };
  const job = await deps.exportJobs.read(path);
  if (!job || isOpen(job)) return job?.state;
  // First: a part that comes afterwards has no upload to go to.
  await abortUploads(deps, exportPrefix(path));
  await deleteBelow(deps, job.state === 'done' ? workPrefix(path) : exportPrefix(path));
  if (job.request.format === 'zip') await deleteBelow(deps, exportPrefix(olderCrc32sPath(tenant)));
  if (job.state !== 'done') await deps.exportJobs.leavePlace(path);
  const tidy = await deps.exportJobs.change(path, (now) =>
    now.state === job.state && !now.isTidy
      ? { ...now, isTidy: true, movedAtMs: deps.clock.nowMs() }
      : undefined,
  );
  return tidy?.state;
}
