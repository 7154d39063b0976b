import { dueAtMs, type ExportJob } from '../../../lambda/domain/export/export-job.ts';
import type { ExportJobPage, ExportJobs, ExportPath } from '../../../lambda/ports/export-jobs.ts';

interface Held {
  readonly job: ExportJob;
  readonly hasPlace: boolean;
}

/** The records of exports in memory. Each call takes effect at once, before its promise settles. */
export class MemoryExportJobs implements ExportJobs {
  readonly #held = new Map<string, Held>();
  readonly #pageSize: number;

  /** @param options.pageSize paths on a page of `listDue`. */
  constructor({ pageSize = 100 } = {}) {
    this.#pageSize = pageSize;
  }

  async create(job: ExportJob, { placesMax, nowMs }: { placesMax: number; nowMs: number }) {
    if (this.#held.has(idOf(job))) return 'created';
    const taken = this.#of(job.tenant).filter((held) => held.hasPlace && held.job.expiresAtMs > nowMs);
    if (taken.length >= placesMax) return 'full';
    this.#held.set(idOf(job), { job, hasPlace: true });
    return 'created';
  }

  async read(path: ExportPath): Promise<ExportJob | undefined> {
    return this.#held.get(idOf(path))?.job;
  }

  async change(path: ExportPath, change: (job: ExportJob) => ExportJob | undefined) {
    const held = this.#held.get(idOf(path));
    const changed = held && change(held.job);
    if (!changed) return held?.job;
    const job = { ...changed, version: held.job.version + 1 };
    this.#held.set(idOf(path), { ...held, job });
    return job;
  }

  async leavePlace(path: ExportPath): Promise<void> {
    const held = this.#held.get(idOf(path));
    if (held) this.#held.set(idOf(path), { ...held, hasPlace: false });
  }

  async list(input: { tenant: string; pageSize: number; cursor?: string }): Promise<ExportJobPage> {
    const { tenant, pageSize, cursor } = input;
    const after = this.#of(tenant)
      .map(({ job }) => job)
      .filter(({ exportId }) => cursor === undefined || exportId < cursor)
      .sort((a, b) => (a.exportId < b.exportId ? 1 : -1));
    const jobs = after.slice(0, pageSize);
    return { jobs, nextCursor: after.length > pageSize ? (jobs.at(-1)?.exportId ?? null) : null };
  }

  async *listDue({ nowMs }: { nowMs: number }): AsyncGenerator<readonly ExportPath[]> {
    const all = [...this.#held.values()].map(({ job }) => job);
    const paths = all
      .filter((job) => (dueAtMs(job) ?? Number.POSITIVE_INFINITY) <= nowMs)
      .map(({ tenant, exportId }) => ({ tenant, exportId }));
    for (let start = 0; start < paths.length; start += this.#pageSize) {
      yield paths.slice(start, start + this.#pageSize);
    }
  }

  #of(tenant: string): Held[] {
    return [...this.#held.values()].filter(({ job }) => job.tenant === tenant);
  }
}

const idOf = ({ tenant, exportId }: ExportPath) => `${tenant}/${exportId}`;
