import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { Lease, leaseMs } from '../../core/rules/lease.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import type { ExportPorts } from './ports.ts';
import {
  type ExportJob,
  type ExportPath,
  exportPrefix,
  isOpen,
  olderCrc32sPath,
  workPrefix,
} from './rules/job.ts';

/** Somebody else plans or finishes this export. The step is to be tried again, in case that they have died. */
export class ExportBusyError extends Error {
  override readonly name = 'ExportBusyError';
}

const leased = (job: ExportJob, nowMs: number): ExportJob => ({
  ...job,
  leaseUntilMs: nowMs + leaseMs,
  movedAtMs: nowMs,
});

/** A job with a new lease. undefined if somebody else has one. */
export function withLease(job: ExportJob, nowMs: number): ExportJob | undefined {
  return job.leaseUntilMs > nowMs ? undefined : leased(job, nowMs);
}

type LeaseDeps = Pick<CoreDeps, 'clock'> & Pick<ExportPorts, 'exportJobs'>;

/** The right to plan or finish an export: one function has it at a time. */
export class ExportLease extends Lease<ExportJob> {
  /**
   * Takes the lease of an export, if it is open.
   *
   * @returns the job as it is then. undefined: there is none.
   * @throws {ExportBusyError}
   */
  static async take(
    deps: LeaseDeps,
    path: ExportPath,
  ): Promise<{ job: ExportJob | undefined; lease: ExportLease | undefined }> {
    const nowMs = deps.clock.nowMs();
    let taken: ExportJob | undefined;
    const job = await deps.exportJobs.change(path, (now) => {
      taken = isOpen(now) ? withLease(now, nowMs) : undefined;
      return taken;
    });
    if (taken) return { job: taken, lease: ExportLease.of(deps, taken) };
    if (job && isOpen(job)) throw new ExportBusyError('Another worker plans or finishes this export.');
    return { job, lease: undefined };
  }

  /** The lease that was written into a job: {@link withLease}. */
  static of({ exportJobs, clock }: LeaseDeps, job: ExportJob): ExportLease {
    const { tenant, exportId } = job;
    const path = { tenant, exportId };
    return new ExportLease({ clock, change: (changeOf) => exportJobs.change(path, changeOf), leased }, job);
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
export async function abortUploads({ archives }: Pick<FilePorts, 'archives'>, prefix: string): Promise<void> {
  for await (const page of archives.uploads(prefix)) for (const upload of page) await archives.abort(upload);
}

/** Deletes all objects below a prefix. */
export async function deleteBelow({ archives }: Pick<FilePorts, 'archives'>, prefix: string): Promise<void> {
  for await (const keys of archives.list(prefix)) await archives.delete(keys);
}

type TidyDeps = Pick<CoreDeps, 'clock'> & Pick<ExportPorts, 'exportJobs'> & Pick<FilePorts, 'archives'>;

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
