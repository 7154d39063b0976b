import { isInForce, type RepoMark } from '../../domain/repo-mark.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { RepoMarks } from '../../ports/repo-marks.ts';
import type { Deps } from '../deps.ts';
import { isFound } from './find-repo.ts';

export type ChangeMarkOutcome<M> =
  | {
      readonly kind: 'changed';
      /** undefined: it had none. */
      readonly before: M | undefined;
      readonly after: M | undefined;
    }
  /** There is no such repo: a name that was mistyped gets no mark. */
  | { readonly kind: 'no-repo' }
  /** It is being deleted. */
  | { readonly kind: 'repo-closed' }
  /** As many repos of the tenant have such a mark as may. */
  | { readonly kind: 'full' };

/**
 * Decides something of a repo, such as that it is public, or ends that.
 *
 * @param marks of this kind, and how many a tenant may have.
 * @param input.to null: nothing is decided of it from now on.
 * @throws {LedgerUnavailableError | StoreUnavailableError}
 */
export async function changeMark<M extends RepoMark>(
  deps: Pick<Deps, 'ledger' | 'listing' | 'clock'>,
  { marks, marksMax }: { marks: RepoMarks<M>; marksMax: number },
  { tenant, repo, to }: { tenant: TenantRecord; repo: string; to: Omit<M, keyof RepoMark> | null },
): Promise<ChangeMarkOutcome<M>> {
  const { ledger, clock } = deps;
  const path = { tenant: tenant.tenant, repo };
  // Before it is read whether the repo is open: a delete that closes it from now on ends this too, if it lands after it.
  const sinceMs = clock.nowMs();
  const [record, found] = await Promise.all([ledger.readRepo(path), marks.find(path)]);
  const before = found && isInForce(found, record) ? found : undefined;
  if (to === null) {
    if (found) await marks.end({ ...path, atMs: sinceMs });
    return record || found ? { kind: 'changed', before, after: undefined } : { kind: 'no-repo' };
  }
  if (record && record.closedAtMs !== null) return { kind: 'repo-closed' };
  if (!before && !(await isFound(deps, { tenant, repo, record }))) return { kind: 'no-repo' };
  if (!before && (await marks.list(tenant.tenant)).length >= marksMax) return { kind: 'full' };
  // Newer than what was decided before, also if nothing else changes: what was found out since then is found out anew.
  const mark = { ...to, repo, sinceMs: Math.max(sinceMs, (found?.sinceMs ?? 0) + 1) } as unknown as M;
  await marks.put({ tenant: tenant.tenant, mark });
  return { kind: 'changed', before, after: mark };
}
