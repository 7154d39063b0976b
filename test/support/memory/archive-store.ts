import { crc32 } from 'node:zlib';
import {
  type ArchiveStore,
  type MultipartUpload,
  ObjectExistsError,
  SourceGoneError,
  type SourceObject,
  type UploadedPart,
} from '../../../lambda/core/store/rules/archive-store.ts';
import { type StoreLimits, s3Limits } from '../../../lambda/core/store/rules/store-kind.ts';
import { etagOf, type HeldUpload, MemoryUploads, pagesOf, refused } from './multipart-uploads.ts';
import { MemoryObjectStore } from './object-store.ts';

/** One call of the store: a method, or a page of one that pages. */
export interface ArchiveCall {
  readonly name: keyof ArchiveStore;
  /** How many calls there have been, this one included. */
  readonly number: number;
}

interface Options {
  /** Holds what objects there are, so that they are listed there too. */
  readonly objects?: MemoryObjectStore;
  readonly limits?: Partial<StoreLimits>;
  /** Whether the answer to a copy of a whole object tells its CRC-32. */
  readonly tellsCrc32?: boolean;
  /** Uploads and parts of a page. */
  readonly pageSize?: number;
}

/**
 * A store with multipart uploads, in memory. It refuses what a real one refuses. Each call takes effect at once, between
 * {@link MemoryArchiveStore.before} and {@link MemoryArchiveStore.after}.
 */
export class MemoryArchiveStore implements ArchiveStore {
  readonly objects: MemoryObjectStore;
  readonly calls: ArchiveCall[] = [];
  /** Called before each call. What it throws fails the call, without an effect. */
  before: (call: ArchiveCall) => unknown = () => undefined;
  /** Called after each call. What it throws is what the caller gets instead of the answer. */
  after: (call: ArchiveCall) => unknown = () => undefined;
  readonly #bytes = new Map<string, { readonly etag: string; readonly bytes: Uint8Array }>();
  readonly #uploads: MemoryUploads;
  readonly #limits: StoreLimits;
  readonly #tellsCrc32: boolean;
  readonly #pageSize: number;

  constructor(options: Options = {}) {
    const { objects = new MemoryObjectStore(), limits, tellsCrc32 = true, pageSize = 1000 } = options;
    this.objects = objects;
    this.#limits = { ...s3Limits, ...limits };
    this.#uploads = new MemoryUploads(this.#limits);
    this.#tellsCrc32 = tellsCrc32;
    this.#pageSize = pageSize;
  }

  /** How often a method was called, or a page of it asked for. */
  count(name: keyof ArchiveStore): number {
    return this.calls.filter((call) => call.name === name).length;
  }

  /** The uploads that were neither completed nor aborted, and how many parts each has. */
  get openUploads(): (MultipartUpload & { readonly parts: number })[] {
    return this.#uploads.all().map(({ key, uploadId, parts }) => ({ key, uploadId, parts: parts.size }));
  }

  /** Has what another one has, from now on by itself. */
  takeFrom(other: MemoryArchiveStore): void {
    for (const [key, { etag, bytes }] of other.#bytes)
      if (other.objects.versionOf(key)?.etag === etag) this.#store(key, bytes, etag);
    this.#uploads.takeFrom(other.#uploads);
  }

  /** All that it has, as text: keys and ETags of objects, and of the parts of uploads. */
  inventory(): string[] {
    const objects = [...this.#bytes].map(([key, { etag }]) => `${key} ${etag}`);
    const uploads = this.#uploads.all().map(({ key, parts }) => {
      const held = [...parts.values()].sort((a, b) => a.number - b.number);
      return `${key}: ${held.map(({ number, etag }) => `${number} ${etag}`).join(', ')}`;
    });
    return [...objects.sort(), ...uploads];
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#call('put', () => this.#store(key, bytes, etagOf([bytes])));
  }

  async putSource(key: string, bytes: Uint8Array): Promise<SourceObject> {
    return await this.#call('putSource', () => {
      const etag = etagOf([bytes]);
      this.#store(key, bytes, etag);
      return { key, etag };
    });
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    return await this.#call('get', () => {
      const found = this.objects.versionOf(key);
      return found && Uint8Array.from(this.#bytesOf({ key, etag: found.etag }));
    });
  }

  async readInto(
    source: SourceObject,
    range: { startByte: number; endByte: number },
    into: Uint8Array,
  ): Promise<void> {
    await this.#call('readInto', () => {
      const bytes = cut(this.#bytesOf(source), range);
      if (bytes.length !== into.length) throw new RangeError('The buffer has not the length of the range.');
      into.set(bytes);
    });
  }

  async head(key: string): Promise<{ readonly sizeBytes: number; readonly etag: string } | undefined> {
    return await this.#call('head', () => this.objects.versionOf(key));
  }

  async delete(keys: readonly string[]): Promise<void> {
    await this.#call('delete', async () => {
      for (const key of keys) {
        this.#bytes.delete(key);
        await this.objects.delete([key]);
      }
    });
  }

  async *list(prefix: string): AsyncGenerator<readonly string[]> {
    let token: string | undefined;
    do {
      const page = await this.#call('list', () =>
        this.objects.listPage({ prefix, ...(token !== undefined && { continuationToken: token }) }),
      );
      yield Array.from({ length: page.keyCount }, (_, index) => page.keyAt(index));
      token = page.nextContinuationToken;
    } while (token !== undefined);
  }

  async createUpload(key: string, { withCrc32 = false } = {}): Promise<MultipartUpload> {
    return await this.#call('createUpload', () => this.#uploads.create(key, { withCrc32 }));
  }

  async *uploads(prefix: string): AsyncGenerator<readonly MultipartUpload[]> {
    const found = this.#uploads.all().filter(({ key }) => key.startsWith(prefix));
    for (const page of pagesOf(found, this.#pageSize)) {
      yield await this.#call('uploads', () => page.map(({ key, uploadId }) => ({ key, uploadId })));
    }
  }

  async *parts(upload: MultipartUpload, { after = 0 } = {}): AsyncGenerator<readonly UploadedPart[]> {
    const held = await this.#call('parts', () => [...this.#uploads.of(upload).parts.values()]);
    const parts = held.filter(({ number }) => number > after).sort((a, b) => a.number - b.number);
    for (const [index, page] of [...pagesOf(parts, this.#pageSize)].entries()) {
      const found = page.map(({ number, sizeBytes, etag }) => ({ number, sizeBytes, etag }));
      yield index === 0 ? found : await this.#call('parts', () => found);
    }
  }

  async uploadPart(upload: MultipartUpload, part: { number: number; bytes: Uint8Array }) {
    return await this.#call('uploadPart', () =>
      this.#uploads.putPart(upload, { number: part.number, bytes: Uint8Array.from(part.bytes) }),
    );
  }

  async copyPart(
    upload: MultipartUpload,
    part: {
      number: number;
      source: SourceObject;
      range?: { startByte: number; endByte: number } | undefined;
      sizeBytes: number;
    },
  ): Promise<UploadedPart & { readonly crc32?: number }> {
    return await this.#call('copyPart', () => {
      const { number, source, range, sizeBytes } = part;
      const { withCrc32 }: HeldUpload = this.#uploads.of(upload);
      const whole = this.#bytesOf(source);
      if (range && whole.length <= this.#limits.partBytesMin) throw refused('A range of a small object.');
      const bytes = range ? cut(whole, range) : whole;
      if (bytes.length !== sizeBytes) throw refused(`A copy of ${bytes.length} bytes, not ${sizeBytes}.`);
      const copied = this.#uploads.putPart(upload, { number, bytes });
      return withCrc32 && this.#tellsCrc32 && !range ? { ...copied, crc32: crc32(bytes) } : copied;
    });
  }

  async complete(
    upload: MultipartUpload,
    parts: readonly Pick<UploadedPart, 'number' | 'etag'>[],
    { ifAbsent = false, totalBytes }: { ifAbsent?: boolean; totalBytes?: number } = {},
  ): Promise<{ readonly etag: string }> {
    return await this.#call('complete', () => {
      if (ifAbsent && this.objects.versionOf(upload.key)) {
        this.#uploads.of(upload);
        throw new ObjectExistsError('There is an object at the key already.');
      }
      const { bytes, etag } = this.#uploads.finish(upload, parts, totalBytes);
      this.#store(upload.key, bytes, etag);
      return { etag };
    });
  }

  async abort(upload: MultipartUpload): Promise<void> {
    await this.#call('abort', () => this.#uploads.remove(upload));
  }

  async #call<T>(name: keyof ArchiveStore, effect: () => T | Promise<T>): Promise<T> {
    const call = { name, number: this.calls.length + 1 };
    this.calls.push(call);
    await this.before(call);
    const answer = await effect();
    await this.after(call);
    return answer;
  }

  #store(key: string, bytes: Uint8Array, etag: string): void {
    this.#bytes.set(key, { etag, bytes: Uint8Array.from(bytes) });
    this.objects.putVersion(key, { sizeBytes: bytes.length, etag });
  }

  #bytesOf({ key, etag }: SourceObject): Uint8Array {
    if (this.objects.versionOf(key)?.etag !== etag) throw new SourceGoneError({ key, etag });
    const held = this.#bytes.get(key);
    if (held?.etag !== etag) throw new Error(`The test put ${key} without bytes.`);
    return held.bytes;
  }
}

function cut(bytes: Uint8Array, { startByte, endByte }: { startByte: number; endByte: number }): Uint8Array {
  const isWithin = startByte >= 0 && startByte < endByte && endByte <= bytes.length;
  if (!isWithin) throw refused(`Bytes ${startByte} to ${endByte} of ${bytes.length}.`);
  return bytes.subarray(startByte, endByte);
}
