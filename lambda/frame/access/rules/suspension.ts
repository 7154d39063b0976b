import type { TenantRecord } from '../../../core/ledger/rules/tenant.ts';

/**
 * What somebody is told who can't use a tenant, with the operator's own sentence.
 *
 * @param use `pushes`: uploads are asked for; `all`: anything, even to log in. @returns undefined: they can.
 */
export function suspension(
  tenant: Pick<TenantRecord, 'tenant' | 'suspended' | 'suspendedMessage'>,
  use: 'pushes' | 'all',
): string | undefined {
  const { tenant: name, suspended, suspendedMessage } = tenant;
  if (suspended !== 'all' && suspended !== use) return undefined;
  const what = suspended === 'all' ? `${name} is suspended.` : `Uploads to ${name} are suspended.`;
  return `${what} ${suspendedMessage ?? 'Ask the operator of this server.'}`;
}
