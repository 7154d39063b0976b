import { objectKey } from '../../domain/names.ts';
import type { SignedRequest } from '../../ports/object-store.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';

export type DownloadVerdict =
  | { readonly kind: 'download'; readonly get: SignedRequest; readonly expiresInMs: number }
  | { readonly kind: 'missing' }
  | { readonly kind: 'size-conflict'; readonly storedBytes: number };

/**
 * Signs a download for each object that is stored. Downloads never depend on the limit.
 *
 * @param input.objects oid → bytes, as the client asks for them.
 * @throws {StoreUnavailableError}
 */
export async function offerDownload(
  deps: Pick<Deps, 'store' | 'signer' | 'clock' | 'settings'>,
  input: { tenant: string; repo: string; objects: ReadonlyMap<string, number> },
): Promise<ReadonlyMap<string, DownloadVerdict>> {
  const { clock, settings } = deps;
  const signedAtMs = clock.nowMs();
  const verdicts = await mapLimited(
    [...input.objects],
    settings.scanConcurrency,
    async ([oid, sizeBytes]): Promise<[string, DownloadVerdict]> => {
      const key = objectKey({ tenant: input.tenant, repo: input.repo, oid });
      const stored = await deps.store.head(key);
      if (!stored) return [oid, { kind: 'missing' }];
      if (stored.sizeBytes !== sizeBytes)
        return [oid, { kind: 'size-conflict', storedBytes: stored.sizeBytes }];
      const get = await deps.signer.signDownload({ key, signedAtMs, lifetimeMs: settings.urlLifetimeMs });
      return [
        oid,
        { kind: 'download', get, expiresInMs: signedAtMs + settings.urlLifetimeMs - clock.nowMs() },
      ];
    },
  );
  return new Map(verdicts);
}
