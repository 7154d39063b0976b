import { dueAtMs, type ExportJob } from '../../../lambda/domain/export/export-job.ts';
import type { ExportJobPage, ExportJobs, ExportPath } from '../../../lambda/ports/export-jobs.ts';

/** The records of exports in memory. Each call takes effect at once, before its promise settles. */
export class MemoryExportJobs implements ExportJobs {
  readonly #jobs = new Map<string, ExportJob>();
  /** The exports that hold a place, by tenant. */
  readonly #places = new Map<string, readonly string[]>();
  readonly #pageSize: number;

  /** @param options.pageSize paths on a page of `listDue`. */
  constructor({ pageSize = 100 } = {}) {
    this.#pageSize = pageSize;
  }

  async create(job: ExportJob, { placesMax, nowMs }: { placesMax: number; nowMs: number }) {
    const { tenant, exportId } = job;
    if (this.#jobs.has(idOf(job))) return 'created';
    const all = this.#places.get(tenant) ?? [];
    const endsAtMs = (id: string) => this.#jobs.get(idOf({ tenant, exportId: id }))?.expiresAtMs ?? 0;
    const holders = all.length < placesMax ? all : all.filter((id) => endsAtMs(id) > nowMs);
    if (holders.length >= placesMax) return 'full';
    this.#places.set(tenant, [...holders, exportId]);
    this.#jobs.set(idOf(job), job);
    return 'created';
  }

  async read(path: ExportPath): Promise<ExportJob | undefined> {
    return this.#jobs.get(idOf(path));
  }

  async change(path: ExportPath, change: (job: ExportJob) => ExportJob | undefined) {
    const job = this.#jobs.get(idOf(path));
    const changed = job && change(job);
    if (!changed) return job;
    const next = { ...changed, version: job.version + 1 };
    this.#jobs.set(idOf(path), next);
    return next;
  }

  async leavePlace({ tenant, exportId }: ExportPath): Promise<void> {
    const others = this.#places.get(tenant)?.filter((id) => id !== exportId) ?? [];
    this.#places.set(tenant, others);
  }

  /** All of a tenant, without waiting. */
  of(tenant: string): readonly ExportJob[] {
    return [...this.#jobs.values()].filter((job) => job.tenant === tenant);
  }

  async list(input: { tenant: string; pageSize: number; cursor?: string }): Promise<ExportJobPage> {
    const { tenant, pageSize, cursor } = input;
    const after = [...this.#jobs.values()]
      .filter((job) => job.tenant === tenant && (cursor === undefined || job.exportId < cursor))
      .sort((a, b) => (a.exportId < b.exportId ? 1 : -1));
    const jobs = after.slice(0, pageSize);
    return { jobs, nextCursor: after.length > pageSize ? (jobs.at(-1)?.exportId ?? null) : null };
  }

  async *listDue({ nowMs }: { nowMs: number }): AsyncGenerator<readonly ExportPath[]> {
    const paths = [...this.#jobs.values()]
      .filter((job) => (dueAtMs(job) ?? Number.POSITIVE_INFINITY) <= nowMs)
      .map(({ tenant, exportId }) => ({ tenant, exportId }));
    for (let start = 0; start < paths.length; start += this.#pageSize) {
      yield paths.slice(start, start + this.#pageSize);
    }
  }
}

const idOf = ({ tenant, exportId }: ExportPath) => `${tenant}/${exportId}`;
