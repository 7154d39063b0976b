import type { Input, Ledger } from '../../lambda/core/ledger/ledger.ts';
import type { TenantRecord } from '../../lambda/core/ledger/rules/tenant.ts';

type Changed = Promise<TenantRecord | undefined>;

/** Changes a tenant's settings over what they are. undefined: there is no such tenant. */
export async function updateTenant(
  ledger: Ledger,
  change: Omit<Input<'updateTenant'>, 'settingsVersion'>,
): Changed {
  const outcome = await ledger.updateTenant({ ...change, ...(await read(ledger, change)) });
  return outcome.kind === 'absent' ? undefined : outcome.tenant;
}

/** Limits a repo, whatever was changed before. */
export async function setRepoLimit(
  ledger: Ledger,
  change: Omit<Input<'setRepoLimit'>, 'settingsVersion'>,
): Changed {
  const outcome = await ledger.setRepoLimit({ ...change, ...(await read(ledger, change)) });
  return outcome.kind === 'absent' ? undefined : outcome.tenant;
}

async function read(ledger: Ledger, { tenant }: { tenant: string }) {
  return { settingsVersion: (await ledger.readTenant(tenant))?.settingsVersion ?? 0 };
}
