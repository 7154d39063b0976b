import type { Deps } from '../../deps.ts';
import { isThere, type RepoRecord, reposMax, type TenantRecord } from '../../domain/tenant.ts';
import { limitRepo } from './limit-repo.ts';

export type CreateRepoOutcome =
  | { readonly kind: 'created'; readonly tenant: TenantRecord; readonly record: RepoRecord }
  | { readonly kind: 'exists' }
  /** A repo of that name is being deleted. */
  | { readonly kind: 'closed' }
  /** The tenant has as many repos as it may have. */
  | { readonly kind: 'full' }
  /** As many repos as there may be have a limit. */
  | { readonly kind: 'too-many' }
  | { readonly kind: 'absent' };

/**
 * Creates a repo with nothing in it, so that it takes pushes though its tenant does not let a push create one. If
 * somebody pushes to it first, that is as good.
 *
 * @param input.limitBytes undefined: its limit stays as it is, usually none.
 * @throws {LedgerUnavailableError}
 */
export async function createRepo(
  deps: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'log' | 'settings'>,
  input: {
    tenant: TenantRecord;
    beganMs: number;
    repo: string;
    limitBytes?: number | null | undefined;
  },
): Promise<CreateRepoOutcome> {
  const { beganMs, repo, limitBytes } = input;
  const path = { tenant: input.tenant.tenant, repo };
  const found = await deps.ledger.readRepo(path);
  if (found && found.closedAtMs !== null) return { kind: 'closed' };
  if (found && isThere(found)) return { kind: 'exists' };
  if (!found && input.tenant.repoCount >= reposMax) return { kind: 'full' };
  let { tenant } = input;
  if (limitBytes !== undefined) {
    // Before it takes pushes.
    const limited = await limitRepo(deps, { tenant, beganMs, repo, limitBytes });
    if (limited.kind !== 'limited') return limited;
    tenant = limited.tenant;
  }
  if ((await deps.ledger.createRepo({ ...path, createdAtMs: deps.clock.nowMs() })) === 'closed')
    return { kind: 'closed' };
  const record = await deps.ledger.readRepo(path);
  if (!record)
    throw new Error(`The repo ${path.tenant}/${repo} vanished. An item of a created repo is never removed.`);
  return { kind: 'created', tenant, record };
}
