import type { AdoptedRepos } from '../../domain/adopted-repos.ts';
import type { SignedRequest, SignUploadInput, UrlSigner } from '../../ports/object-store.ts';

/** Signs URLs of a bucket in which some repos are adopted. */
export class AdoptedUrlSigner implements UrlSigner {
  readonly #inner: UrlSigner;
  readonly #repos: AdoptedRepos;

  constructor(inner: UrlSigner, repos: AdoptedRepos) {
    this.#inner = inner;
    this.#repos = repos;
  }

  async signUpload(input: SignUploadInput): Promise<SignedRequest> {
    return this.#inner.signUpload({ ...input, key: this.#storedKey(input.key) });
  }

  async signDownload(input: Parameters<UrlSigner['signDownload']>[0]): Promise<SignedRequest> {
    return this.#inner.signDownload({ ...input, key: this.#storedKey(input.key) });
  }

  #storedKey(key: string): string {
    const storedKey = this.#repos.storedKey(key);
    if (storedKey === undefined) throw new RangeError('Of an adopted repo, only URLs of objects are signed.');
    return storedKey;
  }
}
