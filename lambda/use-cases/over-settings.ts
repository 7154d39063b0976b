import type { Deps } from '../deps.ts';
import type { TenantRecord } from '../domain/tenant.ts';
import { LedgerUnavailableError } from '../rules/system.ts';

/**
 * Changes the settings of a tenant, over those that were read for this request. If somebody has changed them in between,
 * tries again over what they are now, as long as somebody waits for the answer: a function that was frozen undoes no
 * later change.
 *
 * @param input.beganMs when the request came, before the tenant was read.
 * @param attempt changes them over `tenant`. `tried` is the tenant over which the attempt before was made, undefined: this
 * is the first. If nothing is left to be changed then, it was most likely that attempt, whose answer was lost: whoever
 * changed it, what follows a change is still to be done.
 * @throws {LedgerUnavailableError} Nothing was changed.
 */
export async function overSettings<T extends { readonly kind: string }>(
  { clock, settings }: Pick<Deps, 'clock' | 'settings'>,
  { tenant, beganMs }: { tenant: TenantRecord; beganMs: number },
  attempt: (
    tenant: TenantRecord,
    tried: TenantRecord | undefined,
  ) => Promise<T | { readonly kind: 'superseded'; readonly tenant: TenantRecord }>,
): Promise<Exclude<T, { kind: 'superseded' }>> {
  let read = tenant;
  let tried: TenantRecord | undefined;
  for (;;) {
    const outcome = await attempt(read, tried);
    if (!isSuperseded(outcome)) return outcome as Exclude<T, { kind: 'superseded' }>;
    if (clock.nowMs() >= beganMs + settings.batchTimeLimitMs)
      throw new LedgerUnavailableError(`Others changed the settings of ${tenant.tenant} at the same time.`);
    tried = read;
    read = outcome.tenant;
  }
}

function isSuperseded(outcome: {
  readonly kind: string;
}): outcome is { readonly kind: 'superseded'; readonly tenant: TenantRecord } {
  return outcome.kind === 'superseded';
}
