import type { Input } from '../../adapters/dynamodb/ledger.ts';
import type { Deps } from '../../deps.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import { overSettings } from '../over-settings.ts';

type SettingsChange = Omit<Input<'updateTenant'>, 'tenant' | 'settingsVersion'>;

export type UpdateTenantOutcome =
  /** `before` is what it was changed over. */
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
    change: SettingsChange;
  },
): Promise<UpdateTenantOutcome> {
  return overSettings(deps, input, async (before, tried) => {
    // The limit that it has already would end its floor, and a recount that is running, for nothing.
    const change = changeOf(before, input.change);
    if (Object.keys(change).length === 0) return { kind: 'changed', before: tried ?? before, tenant: before };
    const { tenant, settingsVersion } = before;
    const outcome = await deps.ledger.updateTenant({ tenant, settingsVersion, ...change });
    return outcome.kind === 'changed' ? { ...outcome, before } : outcome;
  });
}

/** What of it is new to the tenant. */
function changeOf(tenant: TenantRecord, wanted: SettingsChange): SettingsChange {
  const names = Object.keys(wanted) as (keyof SettingsChange)[];
  return Object.fromEntries(
    names.filter((name) => wanted[name] !== tenant[name]).map((name) => [name, wanted[name]]),
  );
}
