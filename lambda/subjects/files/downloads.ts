import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { objectKey } from '../../core/rules/names.ts';
import { headsAtOnce } from '../../frame/access/files.ts';
import { iso } from '../../frame/contract/fields.ts';
import type { LfsPorts, OverLimit } from '../../frame/lfs/seams.ts';
import type { DownloadsBody, DownloadsRequest } from './contract.ts';

export type DownloadDeps = Pick<CoreDeps, 'store' | 'signer' | 'clock'> & Pick<LfsPorts, 'meters'>;

/**
 * Signs a download for each file that is there, and meters them as those of Git LFS: they never depend on the limit of what is
 * stored.
 *
 * @param input.tokenId whom they are metered for.
 * @throws {StoreUnavailableError}
 * @throws {LedgerUnavailableError} only if the tenant has a limit: otherwise nothing waits for the meter.
 */
export async function requestDownloads(
  { store, signer, clock, meters }: DownloadDeps,
  input: {
    tenant: TenantRecord;
    repo: string;
    tokenId: string;
    files: DownloadsRequest['files'];
    lifetimeMs: number;
  },
): Promise<{ readonly kind: 'answered'; readonly downloads: DownloadsBody } | OverLimit> {
  const { tenant, repo, tokenId, files, lifetimeMs } = input;
  const atMs = clock.nowMs();
  const keyOf = (name: string) => objectKey({ tenant: tenant.tenant, repo, oid: name });
  const found = await mapLimited(files, headsAtOnce, ({ name }) => store.head(keyOf(name)));
  const there = found.filter((stored) => stored !== undefined && stored.mark === undefined);
  const bytes = there.reduce((sum, stored) => sum + (stored?.sizeBytes ?? 0), 0);
  const offer = { tenant, repo, tokenId, atMs, bytes, objects: there.length };
  for (const meter of there.length > 0 ? meters : []) {
    const overLimit = await meter(offer);
    if (overLimit) return overLimit;
  }
  const expiresAt = iso(atMs + lifetimeMs);
  const downloads = files.map(async ({ name, saveAs }, index) => {
    const stored = found[index];
    if (!stored) return { name, state: 'missing' as const };
    if (stored.mark !== undefined) return { name, state: 'deleted' as const };
    const { href } = await signer.signDownload({
      key: keyOf(name),
      sizeBytes: stored.sizeBytes,
      signedAtMs: atMs,
      lifetimeMs,
      saveAs: saveAs ?? name.slice(name.lastIndexOf('/') + 1),
    });
    return { name, state: 'download' as const, url: href, bytes: stored.sizeBytes, expiresAt };
  });
  return { kind: 'answered', downloads: await Promise.all(downloads) };
}
