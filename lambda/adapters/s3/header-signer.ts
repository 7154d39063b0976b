import { createHmac, hash } from 'node:crypto';
import { type AwsCredentials, amzTime, SigningKeys } from './sigv4.ts';

export interface HeaderSignInput {
  readonly method: string;
  /** Value of the Host header. */
  readonly host: string;
  /** Absolute and escaped. */
  readonly path: string;
  /** Escaped, and sorted by name. Empty if there is none. */
  readonly query: string;
  /** Headers besides Host that are signed, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly credentials: AwsCredentials;
  readonly region: string;
  readonly signedAtMs: number;
  /** SHA-256 of the body, in hex. Omitted: there is no body. */
  readonly bodySha256?: string;
}

/** SHA-256 of no bytes. */
const emptySha256 = hash('sha256', '', 'hex');

/**
 * Signs requests to S3 in their headers: Signature Version 4, without the SDK.
 *
 * Specification: docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
 */
export class HeaderSigner {
  readonly #keys = new SigningKeys();

  /** @returns all headers of the request, the given ones included. */
  sign(input: HeaderSignInput): Record<string, string> {
    const { method, path, query, credentials, region, bodySha256 = emptySha256 } = input;
    const time = amzTime(input.signedAtMs);
    const date = time.slice(0, 8);
    const scope = `${date}/${region}/s3/aws4_request`;
    const headers: Record<string, string> = {
      ...input.headers,
      host: input.host,
      'x-amz-content-sha256': bodySha256,
      'x-amz-date': time,
    };
    if (credentials.sessionToken !== undefined) headers['x-amz-security-token'] = credentials.sessionToken;
    const names = Object.keys(headers).sort();
    const signedNames = names.join(';');
    let canonical = `${method}\n${path}\n${query}\n`;
    for (const name of names) canonical += `${name}:${headers[name]}\n`;
    canonical += `\n${signedNames}\n${bodySha256}`;
    const signature = createHmac('sha256', this.#keys.keyFor({ credentials, date, region }))
      .update(`AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash('sha256', canonical, 'hex')}`)
      .digest('hex');
    headers['authorization'] =
      `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, ` +
      `SignedHeaders=${signedNames}, Signature=${signature}`;
    return headers;
  }
}
