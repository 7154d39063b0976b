import type { RepoMarks } from '../../adapters/dynamodb/repo-marks.ts';
import type { Deps } from '../../deps.ts';
import { isInForce, type RepoMark } from '../../domain/repo-mark.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import { isFound } from './find-repo.ts';

/** What a change of a mark comes to, before anything is written. */
export type PreparedMark<M> =
  | {
      readonly kind: 'ready';
      /** undefined: it had none. */
      readonly before: M | undefined;
      readonly after: M | undefined;
      /** @throws {LedgerUnavailableError} */
      readonly write: () => Promise<void>;
    }
  /** There is no such repo: a name that was mistyped gets no mark. */
  | { readonly kind: 'no-repo' }
  /** It is being deleted. */
  | { readonly kind: 'repo-closed' }
  /** As many repos of the tenant have such a mark as may. */
  | { readonly kind: 'full' };

/**
 * Decides something of a repo, such as that it is public, or ends that. Nothing is written yet: what is changed together with it
 * may be refused.
 *
 * @param marks of this kind, and how many a tenant may have.
 * @param input.to null: nothing is decided of it from now on.
 * @throws {LedgerUnavailableError | StoreUnavailableError}
 */
export async function prepareMark<M extends RepoMark>(
  deps: Pick<Deps, 'ledger' | 'listing' | 'clock'>,
  { marks, marksMax }: { marks: RepoMarks<M>; marksMax: number },
  { tenant, repo, to }: { tenant: TenantRecord; repo: string; to: Omit<M, keyof RepoMark> | null },
): Promise<PreparedMark<M>> {
  const { ledger, clock } = deps;
  const path = { tenant: tenant.tenant, repo };
  // Before it is read whether the repo is open: a delete that closes it from now on ends this too, if it lands after it.
  const sinceMs = clock.nowMs();
  const [record, found] = await Promise.all([ledger.readRepo(path), marks.find(path)]);
  const before = found && isInForce(found, record) ? found : undefined;
  if (to === null) {
    const write = async () => {
      if (found) await marks.end({ ...path, atMs: sinceMs });
    };
    return record || found ? { kind: 'ready', before, after: undefined, write } : { kind: 'no-repo' };
  }
  if (record && record.closedAtMs !== null) return { kind: 'repo-closed' };
  if (!before && !(await isFound(deps, { tenant, repo, record }))) return { kind: 'no-repo' };
  if (!before && (await marks.list(tenant.tenant)).length >= marksMax) return { kind: 'full' };
  // Newer than what was decided before, also if nothing else changes: what was found out since then is found out anew.
  const mark = { ...to, repo, sinceMs: Math.max(sinceMs, (found?.sinceMs ?? 0) + 1) } as unknown as M;
  return { kind: 'ready', before, after: mark, write: () => marks.put({ tenant: tenant.tenant, mark }) };
}
