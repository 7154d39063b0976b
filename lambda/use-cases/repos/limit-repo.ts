import { repoLimitsMax, type TenantRecord } from '../../domain/tenant.ts';
import type { Deps } from '../deps.ts';
import { requestOrLog } from '../recounts/request-or-log.ts';

export type LimitRepoOutcome =
  | { readonly kind: 'limited'; readonly tenant: TenantRecord }
  /** As many repos as there may be have a limit. */
  | { readonly kind: 'too-many' }
  | { readonly kind: 'absent' };

/**
 * Sets the limit of one repo, or with null lifts it. Until a recount has found what the repo takes up, a batch that
 * uploads to it finds out itself.
 *
 * @param input.tenant as read for this request. Two requests at the same time may exceed the number of limits by one.
 * @throws {LedgerUnavailableError}
 */
export async function limitRepo(
  deps: Pick<Deps, 'ledger' | 'queue' | 'log'>,
  input: { tenant: TenantRecord; repo: string; limitBytes: number | null },
): Promise<LimitRepoOutcome> {
  const { repo, limitBytes } = input;
  const { tenant, repoLimits } = input.tenant;
  const presentBytes = repoLimits.get(repo)?.limitBytes ?? null;
  // It would end a recount that is running, for nothing.
  if (presentBytes === limitBytes) return { kind: 'limited', tenant: input.tenant };
  if (presentBytes === null && repoLimits.size >= repoLimitsMax) return { kind: 'too-many' };
  const changed = await deps.ledger.setRepoLimit({ tenant, repo, limitBytes });
  if (!changed) return { kind: 'absent' };
  await requestOrLog(deps, { tenant, reason: 'manual', full: false });
  return { kind: 'limited', tenant: changed };
}
