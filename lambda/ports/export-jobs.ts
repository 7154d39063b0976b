import type { ExportJob } from '../domain/export/export-job.ts';

export interface ExportPath {
  readonly tenant: string;
  readonly exportId: string;
}

export interface ExportJobPage {
  /** The newest first. */
  readonly jobs: readonly ExportJob[];
  /** The `exportId` of the last job, if more follow. */
  readonly nextCursor: string | null;
}

/** The records of exports. Ids sort by the time at which their jobs were created. */
export interface ExportJobs {
  /**
   * Puts the record of a job, if its tenant has a place for another archive. A job keeps its place until `expiresAtMs`,
   * or until {@link ExportJobs.leavePlace}. Two calls at the same time never take the same place.
   *
   * @returns `full` when all places are taken; then nothing was put.
   * @throws {LedgerUnavailableError}
   */
  create(job: ExportJob, options: { placesMax: number; nowMs: number }): Promise<'created' | 'full'>;

  /** @returns undefined if there is none. @throws {LedgerUnavailableError} */
  read(path: ExportPath): Promise<ExportJob | undefined>;

  /**
   * Changes a record by a function of it, as if nobody else changed it meanwhile: it is read and asked again if somebody
   * did. The version is counted here.
   *
   * @param change answers undefined to leave the record as it is.
   * @returns the record as it is now. undefined: there is none.
   * @throws {LedgerUnavailableError}
   */
  change(path: ExportPath, change: (job: ExportJob) => ExportJob | undefined): Promise<ExportJob | undefined>;

  /** Gives a job's place to others. One that has none is no error. @throws {LedgerUnavailableError} */
  leavePlace(path: ExportPath): Promise<void>;

  /** The jobs of a tenant. @throws {LedgerUnavailableError} */
  list(input: { tenant: string; pageSize: number; cursor?: string }): Promise<ExportJobPage>;

  /**
   * Jobs of all tenants that somebody has to look at by this time (`dueAtMs` of the job). Eventually consistent: one that
   * has just changed may be among them, or missing.
   *
   * @throws {LedgerUnavailableError}
   */
  listDue(input: { nowMs: number }): AsyncIterable<readonly ExportPath[]>;
}
