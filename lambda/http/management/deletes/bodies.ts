import { iso } from '../../../api/contract/fields.ts';
import type { DeletePlan } from '../../../use-cases/deletes/delete-objects.ts';
import type { ShownDeletion } from '../../../use-cases/deletes/list-deletions.ts';
import type { DeletePlanBody, DeletionBody } from './schemas.ts';

/** What the delete of a whole tenant, one of its repos, or one object frees. */
export function deletePlanBody(
  path: { tenant: string; repo?: string; oid?: string },
  plan: DeletePlan,
): DeletePlanBody {
  const { objectCount, bytes, dueAtMs, waitsFor } = plan;
  return { ...path, objectCount, bytes, dueAt: iso(dueAtMs), ...(waitsFor && { waitsFor }) };
}

export function deletionBody({ dueAtMs, ...deletion }: ShownDeletion): DeletionBody {
  return { ...deletion, dueAt: iso(dueAtMs) };
}
