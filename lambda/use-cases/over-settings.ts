import type { TenantRecord } from '../domain/tenant.ts';
import { LedgerUnavailableError } from '../ports/ledger.ts';
import type { Deps } from './deps.ts';

/**
 * Changes the settings of a tenant, over those that were read for this request. If somebody has changed them in between,
 * tries again over what they are now, as long as somebody waits for the answer: a function that was frozen undoes no
 * later change.
 *
 * @param input.beganMs when the request came, before the tenant was read.
 * @throws {LedgerUnavailableError} Nothing was changed.
 */
export async function overSettings<T extends { readonly kind: string }>(
  { clock, settings }: Pick<Deps, 'clock' | 'settings'>,
  { tenant, beganMs }: { tenant: TenantRecord; beganMs: number },
  attempt: (
    tenant: TenantRecord,
  ) => Promise<T | { readonly kind: 'superseded'; readonly tenant: TenantRecord }>,
): Promise<Exclude<T, { kind: 'superseded' }>> {
  let read = tenant;
  for (;;) {
    const outcome = await attempt(read);
    if (!isSuperseded(outcome)) return outcome as Exclude<T, { kind: 'superseded' }>;
    if (clock.nowMs() >= beganMs + settings.batchTimeLimitMs)
      throw new LedgerUnavailableError(`Others changed the settings of ${tenant.tenant} at the same time.`);
    read = outcome.tenant;
  }
}

function isSuperseded(outcome: {
  readonly kind: string;
}): outcome is { readonly kind: 'superseded'; readonly tenant: TenantRecord } {
  return outcome.kind === 'superseded';
}
