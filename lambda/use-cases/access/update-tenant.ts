import type { TenantRecord } from '../../domain/tenant.ts';
import type { Input } from '../../ports/ledger.ts';
import type { Deps } from '../deps.ts';
import { overSettings } from '../over-settings.ts';

export type UpdateTenantOutcome =
  | { readonly kind: 'changed'; readonly before: TenantRecord; readonly tenant: TenantRecord }
  | { readonly kind: 'absent' };

/**
 * Changes the fields that are given of a tenant's limits and plan.
 *
 * @param input.tenant as read for this request. @param input.beganMs when that came, before the tenant was read.
 * @throws {LedgerUnavailableError}
 */
export async function updateTenant(
  deps: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  input: {
    tenant: TenantRecord;
    beganMs: number;
    change: Omit<Input<'updateTenant'>, 'tenant' | 'settingsVersion'>;
  },
): Promise<UpdateTenantOutcome> {
  const { limitBytes, ...others } = input.change;
  return overSettings(deps, input, async (before) => {
    // The limit that it has already would end its floor, and a recount that is running, for nothing.
    const isNewLimit = limitBytes !== undefined && limitBytes !== before.limitBytes;
    if (!isNewLimit && Object.keys(others).length === 0) return { kind: 'changed', before, tenant: before };
    const { tenant, settingsVersion } = before;
    const outcome = await deps.ledger.updateTenant({
      tenant,
      settingsVersion,
      ...others,
      ...(isNewLimit && { limitBytes }),
    });
    return outcome.kind === 'changed' ? { ...outcome, before } : outcome;
  });
}
