import type { SignedRequest, SignUploadInput, UrlSigner } from '../../ports/object-store.ts';
import { type BucketAddress, type BucketPlace, bucketAddress } from './address.ts';
import { Presigner } from './presign.ts';
import { type AwsCredentials, escapePath } from './sigv4.ts';

export interface S3UrlSignerSettings extends BucketPlace {
  /** Called for each signature, so that credentials may rotate. It should answer from memory. */
  readonly credentials: () => Promise<AwsCredentials>;
}

/** Presigned URLs for one bucket. */
export class S3UrlSigner implements UrlSigner {
  readonly #settings: S3UrlSignerSettings;
  readonly #base: BucketAddress;
  readonly #presigner = new Presigner();

  constructor(settings: S3UrlSignerSettings) {
    this.#settings = settings;
    this.#base = bucketAddress(settings);
  }

  /**
   * S3 compares Content-Length with the signed value, and the body with the checksum. Because both are signed as
   * headers, a client cannot leave them out. A checksum in the query would be signed, but not enforced.
   */
  async signUpload(input: SignUploadInput): Promise<SignedRequest> {
    const checksum = Buffer.from(input.oid, 'hex').toString('base64');
    const headers = { 'content-length': String(input.sizeBytes), 'x-amz-checksum-sha256': checksum };
    const href = await this.#sign({ ...input, method: 'PUT', headers });
    return { href, header: { 'x-amz-checksum-sha256': checksum } };
  }

  async signDownload(input: { key: string; signedAtMs: number; lifetimeMs: number }): Promise<SignedRequest> {
    return { href: await this.#sign({ ...input, method: 'GET', headers: {} }), header: {} };
  }

  async #sign(input: {
    method: 'GET' | 'PUT';
    key: string;
    headers: Readonly<Record<string, string>>;
    signedAtMs: number;
    lifetimeMs: number;
  }): Promise<string> {
    const { method, key, headers, signedAtMs } = input;
    // Rounded down, like X-Amz-Date: a URL must never live longer than requested.
    const expiresSeconds = Math.floor(input.lifetimeMs / 1000);
    if (!(expiresSeconds >= 1 && expiresSeconds <= 604_800)) {
      throw new RangeError(`A signed URL must live for 1 s to 7 days, not for ${input.lifetimeMs} ms.`);
    }
    return this.#presigner.presign({
      method,
      origin: this.#base.origin,
      host: this.#base.host,
      path: `${this.#base.path}/${escapePath(key)}`,
      headers,
      credentials: await this.#settings.credentials(),
      region: this.#settings.region,
      signedAtMs,
      expiresSeconds,
    });
  }
}
