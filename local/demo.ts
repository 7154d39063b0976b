import { join } from 'node:path';
import type { Deps } from '../lambda/deps.ts';
import { createTenant } from '../lambda/people/tenants.ts';
import { createToken } from '../lambda/people/tokens.ts';
import { readIfThere, StartupError, writeDurably } from './system/durable-file.ts';

export const demoTenant = 'demo';
export const demoLimitBytes = 1024 ** 3;

export type Demo =
  | { readonly kind: 'created'; readonly token: string; readonly credentialFile: string }
  /** Created at an earlier start. Its token may have been revoked since. */
  | { readonly kind: 'kept'; readonly credentialFile: string };

/**
 * Creates the tenant `demo` and a write token at the first start. The token is kept in a file for git's credential
 * helper `store`, so that no configuration of a repository has to hold it. The file also shows later starts that the
 * demo was created: a person who deletes the tenant does not get it back.
 */
export async function ensureDemo(
  deps: Pick<Deps, 'ledger' | 'listing' | 'adoptedRepos' | 'queue' | 'clock' | 'settings' | 'tokens' | 'ids'>,
  place: { folder: string; apiUrl: string },
): Promise<Demo> {
  const credentialFile = join(place.folder, 'demo.git-credentials');
  const kept = await readIfThere(credentialFile);
  if (kept !== undefined) {
    const moved = kept.replace(/@127\.0\.0\.1\S*/g, `@${new URL(place.apiUrl).host}`);
    if (moved !== kept) await writeDurably(credentialFile, moved);
    return { kind: 'kept', credentialFile };
  }
  await createTenant(deps, { tenant: demoTenant, plan: null, limitBytes: demoLimitBytes });
  const { token } = await createToken(deps, {
    tenant: demoTenant,
    scope: 'write',
    label: 'created at the first start',
  });
  const url = new URL(place.apiUrl);
  url.username = 'any';
  url.password = token;
  await writeDurably(credentialFile, `${url.href.replace(/\/$/, '')}\n`);
  return { kind: 'created', token, credentialFile };
}

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
