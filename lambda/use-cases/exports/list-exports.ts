import { type ExportJob, isOpen } from '../../domain/export/export-job.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { Deps } from '../deps.ts';

type Owner = Pick<TenantRecord, 'tenant' | 'createdAtMs'>;

/**
 * The exports of a tenant, the newest first. What is older than the tenant is not shown: it was of another with its
 * name. So a page may be shorter than asked for.
 *
 * @throws {LedgerUnavailableError}
 */
export async function listExports(
  deps: Pick<Deps, 'exportJobs' | 'settings'>,
  input: { owner: Owner; pageSize: number; cursor?: string },
): Promise<{ jobs: readonly ExportJob[]; nextCursor: string | null }> {
  const { owner, ...page } = input;
  const { jobs, nextCursor } = await deps.exportJobs.list({ tenant: owner.tenant, ...page });
  const own = jobs.filter((job) => isOf(deps, job, owner));
  return { jobs: own, nextCursor: own.length < jobs.length ? null : nextCursor };
}

/** One export of a tenant. @returns undefined if there is none. @throws {LedgerUnavailableError} */
export async function readExport(
  deps: Pick<Deps, 'exportJobs' | 'settings'>,
  input: { owner: Owner; exportId: string },
): Promise<ExportJob | undefined> {
  const { owner, exportId } = input;
  const job = await deps.exportJobs.read({ tenant: owner.tenant, exportId });
  return job && isOf(deps, job, owner) ? job : undefined;
}

/** The two times are by the clocks of two functions. */
const isOf = ({ settings }: Pick<Deps, 'settings'>, { createdAtMs }: ExportJob, owner: Owner) =>
  createdAtMs >= owner.createdAtMs - settings.clockSkewMs;

/** The exports that keep a tenant from beginning another: those that are made, and those whose archives are kept. */
export async function placeHolders(
  deps: Pick<Deps, 'exportJobs' | 'clock'>,
  tenant: string,
): Promise<ExportJob[]> {
  const nowMs = deps.clock.nowMs();
  const holders: ExportJob[] = [];
  for await (const job of allExports(deps, tenant)) {
    if ((isOpen(job) || job.state === 'done') && job.expiresAtMs > nowMs) holders.push(job);
  }
  return holders;
}

const pageSize = 100;

/** All exports of a tenant, the newest first. */
export async function* allExports(
  { exportJobs }: Pick<Deps, 'exportJobs'>,
  tenant: string,
): AsyncIterable<ExportJob> {
  let cursor: string | null = null;
  do {
    const page = await exportJobs.list({ tenant, pageSize, ...(cursor !== null && { cursor }) });
    yield* page.jobs;
    cursor = page.nextCursor;
  } while (cursor !== null);
}
