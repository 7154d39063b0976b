import type { Deps } from '../lambda/use-cases/deps.ts';
import { demoTenant } from './demo-tenant.ts';
import { StartupError } from './system/startup-error.ts';

const pageSize = 1_000;

/**
 * A tenant that was there before the setting may have a name that now leads into an adopted path. Every request about it
 * would fail.
 *
 * @throws {StartupError}
 */
export async function requireFreeNames(
  { ledger, adoptedRepos }: Pick<Deps, 'ledger' | 'adoptedRepos'>,
  { createsDemo }: { createsDemo: boolean },
): Promise<void> {
  if (adoptedRepos.all.length === 0) return;
  if (createsDemo) requireFree(adoptedRepos, demoTenant);
  for (let after: string | undefined; ; ) {
    const tenants = await ledger.listTenants({ pageSize, ...(after !== undefined && { after }) });
    for (const { tenant } of tenants) requireFree(adoptedRepos, tenant);
    if (tenants.length < pageSize) return;
    after = tenants.at(-1)?.tenant;
  }
}

function requireFree(adoptedRepos: Deps['adoptedRepos'], tenant: string): void {
  if (adoptedRepos.isReserved(tenant))
    throw new StartupError(
      `A path that is to be adopted begins with ${tenant}/, and ${tenant} is a tenant here. Its keys would lie among ` +
        'those of another server. Move them to another path first.',
    );
}
