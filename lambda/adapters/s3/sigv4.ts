import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** What all signatures of Signature Version 4 share, whether they are in the query or in a header. */

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Keeps the latest signing key. It is valid for one day, one region and one secret. */
export class SigningKeys {
  #kept: { readonly id: string; readonly key: KeyObject } | undefined;

  /** @param input.date `YYYYMMDD`. */
  keyFor(input: { credentials: AwsCredentials; date: string; region: string }): KeyObject {
    const { credentials, date, region } = input;
    const id = `${date}/${region}/${credentials.secretAccessKey}`;
    if (this.#kept?.id !== id) {
      let key: string | Buffer = `AWS4${credentials.secretAccessKey}`;
      for (const part of [date, region, 's3', 'aws4_request'])
        key = createHmac('sha256', key).update(part).digest();
      this.#kept = { id, key: createSecretKey(key as Buffer) };
    }
    return this.#kept.key;
  }
}

/** `YYYYMMDDTHHMMSSZ`, rounded down. */
export function amzTime(atMs: number): string {
  return new Date(atMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
}

/** True for text without anything to escape, which nearly all keys are. */
const isPlain = /^[\w.~-]*$/;

/** Percent-encodes the UTF-8 bytes of everything but `A-Z a-z 0-9 - . _ ~`. */
export function escapeUri(text: string): string {
  if (isPlain.test(text)) return text;
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Percent-encodes a path, but not its slashes. S3, unlike other services, encodes each segment once. */
export function escapePath(path: string): string {
  return path.split('/').map(escapeUri).join('/');
}
