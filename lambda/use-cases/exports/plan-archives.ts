import type { ExportJob } from '../../domain/export/export-job.ts';
import { exportPrefix } from '../../domain/export/export-keys.ts';
import { abortUploads } from './below.ts';
import { gatherObjects, putGathered } from './gather-objects.ts';
import { readKeptCrc32s } from './kept-crc32s.ts';
import type { ExportLease } from './lease.ts';
import { explainPlan, failAs, type PlanDeps, planCopies } from './plan-copies.ts';
import { planHashing } from './plan-hashing.ts';

/** The list of more objects is put down before their plan is made, so that memory need not hold both. */
const objectsAtOnce = 100_000;

/**
 * Lists the objects of an export, puts their list down, plans, and writes down what workers have to do. A zip of which
 * every CRC-32 is known from an earlier one needs no hashing.
 *
 * @returns the job as it is then: `hashing`, `copying`, `explained` or `failed`.
 * @throws {LeaseLostError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
export async function planArchives(
  deps: PlanDeps,
  { job, lease }: { job: ExportJob; lease: ExportLease },
): Promise<ExportJob> {
  const { format, isDryRun } = job.request;
  const [gathered] = await Promise.all([
    gatherObjects(deps, { job, lease }),
    // What an earlier attempt, or an earlier round, has begun.
    abortUploads(deps, exportPrefix(job)),
  ]);
  if ('failure' in gathered) return failAs(deps, lease, gathered.failure);
  if (isDryRun) return explainPlan(deps, { job, lease, gathered });
  const { objects } = gathered;
  const meanwhile = putGathered(deps, job, gathered);
  if (format !== 'zip') {
    if (objects.length > objectsAtOnce) await meanwhile;
    return planCopies(deps, { job, lease, gathered, meanwhile });
  }
  const [known] = await Promise.all([readKeptCrc32s(deps, { tenant: job.tenant, objects }), meanwhile]);
  if (known.size === objects.length) return planCopies(deps, { job, lease, gathered, crc32s: known });
  return planHashing(deps, { job, lease, gathered, known });
}
