import type { Deps } from './deps.ts';

const pageSize = 1_000;

/** The names of all tenants, read a page at a time. */
export async function* tenantNames({ ledger }: Pick<Deps, 'ledger'>): AsyncGenerator<string> {
  for (let after: string | undefined; ; ) {
    const tenants = await ledger.listTenants({ pageSize, ...(after !== undefined && { after }) });
    for (const { tenant } of tenants) yield tenant;
    if (tenants.length < pageSize) return;
    after = tenants.at(-1)?.tenant;
  }
}
