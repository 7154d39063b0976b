import { isIP } from 'node:net';
import type { SignedRequest, SignUploadInput, UrlSigner } from '../../ports/object-store.ts';
import { type AwsCredentials, escapePath, Presigner } from './presign.ts';

export interface S3UrlSignerSettings {
  readonly bucket: string;
  readonly region: string;
  /** Base URL at which clients reach the store; omitted for AWS. */
  readonly endpoint?: string;
  /** The bucket in the path rather than in the host name. */
  readonly forcePathStyle?: boolean;
  /** Asked before each signature, so that credentials may rotate: it should answer from memory. */
  readonly credentials: () => Promise<AwsCredentials>;
}

/** Presigned URLs of one bucket. */
export class S3UrlSigner implements UrlSigner {
  readonly #settings: S3UrlSignerSettings;
  readonly #base: { readonly origin: string; readonly host: string; readonly path: string };
  readonly #presigner = new Presigner();

  constructor(settings: S3UrlSignerSettings) {
    this.#settings = settings;
    this.#base = bucketBase(settings);
  }

  /**
   * S3 checks Content-Length against the signed one, and the body against the checksum. Signed as headers,
   * neither can be left out; a checksum in the query would be signed, but not enforced.
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
    // Both are rounded down: a URL must never outlive what was asked for.
    const expiresSeconds = Math.floor(input.lifetimeMs / 1000);
    if (!(expiresSeconds >= 1 && expiresSeconds <= 604_800)) {
      throw new RangeError(`A signed URL lives 1 s to 7 days, not ${input.lifetimeMs} ms.`);
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

/**
 * Where the bucket's keys begin. On AWS a bucket with a dot goes into the path, since the certificate's
 * wildcard covers one label only; an IP address cannot have a bucket in front of it.
 */
function bucketBase({ bucket, region, endpoint, forcePathStyle }: S3UrlSignerSettings) {
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const url = new URL(endpoint ?? `https://s3.${region}.${suffix}`);
  const path = url.pathname.replace(/\/$/, '');
  const isDottedHttps = url.protocol === 'https:' && bucket.includes('.');
  if (forcePathStyle || isDottedHttps || isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) {
    return { origin: url.origin, host: url.host, path: `${path}/${escapePath(bucket)}` };
  }
  const host = `${bucket}.${url.host}`;
  return { origin: `${url.protocol}//${host}`, host, path };
}
