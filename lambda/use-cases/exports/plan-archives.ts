import type { ExportJob } from '../../domain/export/export-job.ts';
import { exportPrefix } from '../../domain/export/export-keys.ts';
import { abortUploads } from './below.ts';
import { gatherObjects, putGathered } from './gather-objects.ts';
import type { ExportLease } from './lease.ts';
import { explainPlan, failAs, type PlanDeps, planCopies } from './plan-copies.ts';
import { planHashing } from './plan-hashing.ts';

/** The list of more objects is put down before their plan is made, so that memory need not hold both. */
const objectsAtOnce = 100_000;

/**
 * Lists the objects of an export, puts their list down, plans, and writes down what workers have to do.
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
  if (format === 'zip' && objects.length > 0) {
    await meanwhile;
    return planHashing(deps, { job, lease, gathered });
  }
  if (objects.length > objectsAtOnce) await meanwhile;
  return planCopies(deps, { job, lease, gathered, meanwhile });
}
