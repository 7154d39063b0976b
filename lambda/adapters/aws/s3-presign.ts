import { createHash, createHmac } from 'node:crypto';

/**
 * Signature Version 4 in the query, as S3 takes it, for one request at a time and without the SDK: a batch
 * signs up to a thousand URLs, and this costs microseconds where the SDK's way costs most of a millisecond.
 *
 * The rules: docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html.
 */

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface PresignInput {
  readonly method: 'GET' | 'PUT';
  /** `https://host` or `https://host:port`, no path. */
  readonly origin: string;
  /** What the Host header will be. */
  readonly host: string;
  /** Absolute and escaped: see {@link escapePath}. */
  readonly path: string;
  /** Lower-case names and values that the request must have besides Host. */
  readonly headers: Readonly<Record<string, string>>;
  readonly credentials: AwsCredentials;
  readonly region: string;
  readonly signedAtMs: number;
  /** Whole seconds, 1 to 604,800 (a week). */
  readonly expiresSeconds: number;
}

/** Presigns requests and keeps the last signing key, which holds for a day, a region and one secret. */
export class Presigner {
  #cached: { readonly id: string; readonly key: Buffer } | undefined;

  /** The URL. Every header given is signed, none is hoisted into the query; the body is not hashed. */
  presign(input: PresignInput): string {
    const { credentials, region, method, path } = input;
    const time = new Date(input.signedAtMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
    const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
    const headers = Object.entries({ ...input.headers, host: input.host }).sort(([a], [b]) =>
      a < b ? -1 : 1,
    );
    const signedHeaders = headers.map(([name]) => name).join(';');
    const { beforeSignature, afterSignature } = this.#query(input, { time, scope, signedHeaders });
    const canonical = [
      method,
      path,
      `${beforeSignature}&${afterSignature}`,
      ...headers.map(([name, value]) => `${name}:${value}`),
      '',
      signedHeaders,
      'UNSIGNED-PAYLOAD',
    ].join('\n');
    const hash = createHash('sha256').update(canonical).digest('hex');
    const signature = createHmac('sha256', this.#signingKey(credentials, time.slice(0, 8), region))
      .update(`AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash}`)
      .digest('hex');
    return `${input.origin}${path}?${beforeSignature}&X-Amz-Signature=${signature}&${afterSignature}`;
  }

  /** The query in the order of its names, cut where the signature belongs. */
  #query(
    input: PresignInput,
    { time, scope, signedHeaders }: { time: string; scope: string; signedHeaders: string },
  ) {
    const { accessKeyId, sessionToken } = input.credentials;
    const token = sessionToken === undefined ? '' : `&X-Amz-Security-Token=${escapeUri(sessionToken)}`;
    return {
      beforeSignature:
        'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Content-Sha256=UNSIGNED-PAYLOAD' +
        `&X-Amz-Credential=${escapeUri(`${accessKeyId}/${scope}`)}&X-Amz-Date=${time}` +
        `&X-Amz-Expires=${input.expiresSeconds}${token}`,
      afterSignature: `X-Amz-SignedHeaders=${escapeUri(signedHeaders)}`,
    };
  }

  #signingKey(credentials: AwsCredentials, date: string, region: string): Buffer {
    const id = `${date}/${region}/${credentials.secretAccessKey}`;
    if (this.#cached?.id !== id) {
      let key: string | Buffer = `AWS4${credentials.secretAccessKey}`;
      for (const part of [date, region, 's3', 'aws4_request'])
        key = createHmac('sha256', key).update(part).digest();
      this.#cached = { id, key: key as Buffer };
    }
    return this.#cached.key;
  }
}

/** Escapes all but `A-Z a-z 0-9 - . _ ~`, as UTF-8. */
export function escapeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Escapes a path segment by segment: S3 signs each once, and leaves the slashes. */
export function escapePath(path: string): string {
  return path.split('/').map(escapeUri).join('/');
}
