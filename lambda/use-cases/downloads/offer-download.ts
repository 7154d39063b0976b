import { objectKey } from '../../domain/names.ts';
import type { SignedRequest } from '../../ports/object-store.ts';
import type { Deps } from '../deps.ts';
import { type FindOfferedDeps, findOffered } from './find-offered.ts';

export type DownloadVerdict =
  | { readonly kind: 'download'; readonly get: SignedRequest; readonly expiresInMs: number }
  | { readonly kind: 'missing' }
  | { readonly kind: 'size-conflict'; readonly storedBytes: number };

/**
 * Signs a download for each object that is stored. Downloads never depend on the limit.
 *
 * @param input.repoObjects how many objects the repo had when it was last counted. undefined: it never was.
 * @param input.objects oid → bytes, as the client asks for them.
 * @throws {StoreUnavailableError}
 */
export async function offerDownload(
  deps: FindOfferedDeps & Pick<Deps, 'signer'>,
  input: {
    tenant: string;
    repo: string;
    repoObjects?: number | undefined;
    objects: ReadonlyMap<string, number>;
  },
): Promise<ReadonlyMap<string, DownloadVerdict>> {
  const { clock, settings } = deps;
  const { tenant, repo, repoObjects, objects } = input;
  const signedAtMs = clock.nowMs();
  const stored = await findOffered(deps, { tenant, repo, repoObjects, oids: [...objects.keys()] });
  const verdicts = [...objects].map(async ([oid, sizeBytes]): Promise<[string, DownloadVerdict]> => {
    const storedBytes = stored.get(oid);
    if (storedBytes === undefined) return [oid, { kind: 'missing' }];
    if (storedBytes !== sizeBytes) return [oid, { kind: 'size-conflict', storedBytes }];
    const key = objectKey({ tenant, repo, oid });
    const get = await deps.signer.signDownload({ key, signedAtMs, lifetimeMs: settings.urlLifetimeMs });
    const expiresInMs = signedAtMs + settings.urlLifetimeMs - clock.nowMs();
    return [oid, { kind: 'download', get, expiresInMs }];
  });
  return new Map(await Promise.all(verdicts));
}
