import type { Deps } from '../../deps.ts';
import { type ExportJob, isOpen } from '../../domain/export/export-job.ts';
import type { TenantRecord } from '../../ledger/rules/tenant.ts';

type Owner = Pick<TenantRecord, 'tenant' | 'createdAtMs'>;

/**
 * The exports of a tenant that this reader may see, the newest first: on until the page is full, so that a cursor is of
 * one of them. What is older than the tenant is not shown: it was of another with its name.
 *
 * @throws {LedgerUnavailableError}
 */
export async function listExports(
  deps: Pick<Deps, 'exportJobs' | 'settings'>,
  input: { owner: Owner; sees: (job: ExportJob) => boolean; pageSize: number; cursor?: string },
): Promise<{ jobs: readonly ExportJob[]; nextCursor: string | null }> {
  const { owner, sees, pageSize } = input;
  const seen: ExportJob[] = [];
  for await (const job of allExports(deps, owner.tenant, input)) {
    if (!isOf(deps, job, owner)) break;
    if (!sees(job)) continue;
    if (seen.length === pageSize) return { jobs: seen, nextCursor: seen.at(-1)?.exportId ?? null };
    seen.push(job);
  }
  return { jobs: seen, nextCursor: null };
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

const readSize = 100;

/** All exports of a tenant, the newest first. @param from.cursor the last that is not wanted. */
export async function* allExports(
  { exportJobs }: Pick<Deps, 'exportJobs'>,
  tenant: string,
  from: { cursor?: string } = {},
): AsyncIterable<ExportJob> {
  let cursor: string | null = from.cursor ?? null;
  do {
    const page = await exportJobs.list({ tenant, pageSize: readSize, ...(cursor !== null && { cursor }) });
    yield* page.jobs;
    cursor = page.nextCursor;
  } while (cursor !== null);
}
