import type { Deps } from '../../deps.ts';
import { repoLimitsMax, type TenantRecord } from '../../domain/tenant.ts';
import { overSettings } from '../over-settings.ts';
import { requestOrLog } from '../recounts/request-or-log.ts';

export type LimitRepoOutcome =
  /** `before` is what it was limited over. */
  | { readonly kind: 'limited'; readonly before: TenantRecord; readonly tenant: TenantRecord }
  /** As many repos as there may be have a limit. */
  | { readonly kind: 'too-many' }
  | { readonly kind: 'absent' };

/**
 * Sets the limit of one repo, or with null lifts it. Until a recount has found what the repo takes up, a batch that
 * uploads to it finds out itself.
 *
 * @param input.tenant as read for this request. @param input.beganMs when that came, before the tenant was read.
 * @throws {LedgerUnavailableError}
 */
export async function limitRepo(
  deps: Pick<Deps, 'ledger' | 'queue' | 'log' | 'clock' | 'settings'>,
  input: { tenant: TenantRecord; beganMs: number; repo: string; limitBytes: number | null },
): Promise<LimitRepoOutcome> {
  const { repo, limitBytes } = input;
  return overSettings(deps, input, async (before, tried) => {
    const { tenant, repoLimits, settingsVersion } = before;
    const presentBytes = repoLimits.get(repo)?.limitBytes ?? null;
    const requestRecount = () => requestOrLog(deps, { tenant, reason: 'manual', full: false });
    if (presentBytes === limitBytes) {
      // To set it once more would end a recount that is running, for nothing.
      if (tried) await requestRecount();
      return { kind: 'limited', before: tried ?? before, tenant: before };
    }
    if (presentBytes === null && repoLimits.size >= repoLimitsMax) return { kind: 'too-many' };
    const outcome = await deps.ledger.setRepoLimit({ tenant, settingsVersion, repo, limitBytes });
    if (outcome.kind !== 'changed') return outcome;
    await requestRecount();
    return { kind: 'limited', before, tenant: outcome.tenant };
  });
}
