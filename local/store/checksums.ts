import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { notImplemented, S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';

/** The checksums that the store computes, with their lengths. A request with another one is refused. */
const lengths = { crc32: 4, sha1: 20, sha256: 32 } as const;

export type ChecksumName = keyof typeof lengths;

export const checksumNames = Object.keys(lengths) as readonly ChecksumName[];

/** Base64 by name. */
export type Checksums = Readonly<Partial<Record<ChecksumName, string>>>;

const headerPrefix = 'x-amz-checksum-';

/** What the headers `x-amz-checksum-` say beside checksums. */
const otherHeaders = ['algorithm', 'mode', 'type'].map((name) => `${headerPrefix}${name}`);

/**
 * The checksums that the request's headers declare.
 *
 * @param options.mayBeComposite takes the form `…-N` too.
 * @throws {S3Error}
 */
export function readChecksumHeaders(
  { headers }: StoreRequest,
  { mayBeComposite = false }: { mayBeComposite?: boolean } = {},
): Checksums {
  const found: Partial<Record<ChecksumName, string>> = {};
  for (const [header, value] of Object.entries(headers)) {
    if (!header.startsWith(headerPrefix) || otherHeaders.includes(header)) continue;
    const name = checksumName(header);
    const [, base64 = '', count = ''] = /^(.*?)(-\d{1,5})?$/s.exec(String(value)) ?? [];
    found[name] = mayBeComposite ? checkedValue(name, base64) + count : checkedValue(name, String(value));
  }
  return found;
}

/** The name in a header such as `x-amz-checksum-sha256`. @throws {S3Error} NotImplemented */
export function checksumName(header: string): ChecksumName {
  const name = header.slice(headerPrefix.length);
  if (!header.startsWith(headerPrefix) || !Object.hasOwn(lengths, name))
    throw notImplemented(`the checksum ${header}`);
  return name as ChecksumName;
}

export function checksumHeaders(checksums: Checksums): Record<string, string> {
  return Object.fromEntries(
    Object.entries(checksums).map(([name, value]) => [`${headerPrefix}${name}`, value]),
  );
}

/** The value, after a check of its length and encoding. @throws {S3Error} InvalidRequest */
export function checkedValue(name: ChecksumName, value: string): string {
  const bytes = Buffer.from(value, 'base64');
  if (bytes.length !== lengths[name] || bytes.toString('base64') !== value) {
    throw new S3Error('InvalidRequest', `Value for ${headerPrefix}${name} header is invalid.`);
  }
  return value;
}

/** A CRC32 as its header has it. */
export function crc32Text(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes.toString('base64');
}

/** Hashes of a body while it is received: MD5 for the ETag, and the given checksums. */
export class BodyDigest {
  readonly #md5: ReturnType<typeof createHash> | undefined;
  readonly #hashes: ReadonlyMap<string, ReturnType<typeof createHash>>;
  readonly #withCrc32: boolean;
  #crc32 = 0;

  /** @param options.withMd5 false: the MD5 stays empty. It takes longer than all the rest. */
  constructor(names: ReadonlySet<ChecksumName>, { withMd5 = true }: { withMd5?: boolean } = {}) {
    this.#md5 = withMd5 ? createHash('md5') : undefined;
    this.#withCrc32 = names.has('crc32');
    this.#hashes = new Map(
      [...names].filter((name) => name !== 'crc32').map((name) => [name, createHash(name)] as const),
    );
  }

  update(chunk: Buffer): void {
    this.#md5?.update(chunk);
    for (const hash of this.#hashes.values()) hash.update(chunk);
    if (this.#withCrc32) this.#crc32 = crc32(chunk, this.#crc32);
  }

  /** Ends the hashing. May be called once. */
  finish(): { md5: Buffer; checksums: Checksums } {
    const checksums: Record<string, string> = {};
    for (const [name, hash] of this.#hashes) checksums[name] = hash.digest('base64');
    if (this.#withCrc32) checksums['crc32'] = crc32Text(this.#crc32);
    return { md5: this.#md5?.digest() ?? Buffer.alloc(0), checksums };
  }
}
