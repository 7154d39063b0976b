import { join } from 'node:path';
import { createTenant } from '../lambda/use-cases/access/create-tenant.ts';
import { createToken } from '../lambda/use-cases/access/create-token.ts';
import type { Deps } from '../lambda/use-cases/deps.ts';
import { readIfThere, writeDurably } from './data/durable-file.ts';

export const demoTenant = 'demo';
export const demoLimitBytes = 1024 ** 3;

export type Demo =
  | { readonly kind: 'created'; readonly token: string; readonly credentialFile: string }
  /** Created at an earlier start; its token may have been revoked since. */
  | { readonly kind: 'kept'; readonly credentialFile: string };

/**
 * On the first start: the tenant `demo` and a write token. The token is kept in a file for git's own
 * credential helper `store`, so that no repository's config need hold it. The file also tells later starts
 * that the demo was made: someone who deletes the tenant does not get it back.
 */
export async function ensureDemo(
  deps: Pick<Deps, 'ledger' | 'listing' | 'queue' | 'clock' | 'settings' | 'tokens' | 'ids'>,
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
    label: 'made at the first start',
  });
  const url = new URL(place.apiUrl);
  url.username = 'any';
  url.password = token;
  await writeDurably(credentialFile, `${url.href.replace(/\/$/, '')}\n`);
  return { kind: 'created', token, credentialFile };
}
