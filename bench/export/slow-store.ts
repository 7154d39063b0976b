import { setTimeout as sleep } from 'node:timers/promises';
import type { ArchiveStore } from '../../lambda/ports/archive-store.ts';

/** Bytes in one direction, one call after the other. */
class Bandwidth {
  readonly #bytesPerMs: number;
  #freeAtMs = 0;

  constructor(bytesPerSecond: number) {
    this.#bytesPerMs = bytesPerSecond / 1000;
  }

  /** Waits until the bytes have passed, behind those that came before. */
  async pass(bytes: number): Promise<void> {
    const nowMs = performance.now();
    this.#freeAtMs = Math.max(nowMs, this.#freeAtMs) + bytes / this.#bytesPerMs;
    await sleep(this.#freeAtMs - nowMs);
  }
}

/** What a worker's way to the store does. */
export interface Network {
  /** In each direction. */
  readonly bytesPerSecond: number;
  readonly requestMs: number;
}

/**
 * A store that is far away: each request, or page, takes a while, and bytes pass at a limited speed in each direction.
 * What the store itself takes comes on top.
 */
export function slowStore(store: ArchiveStore, { bytesPerSecond, requestMs }: Network): ArchiveStore {
  const down = new Bandwidth(bytesPerSecond);
  const up = new Bandwidth(bytesPerSecond);
  async function after<T>(call: Promise<T>): Promise<T> {
    const [answer] = await Promise.all([call, sleep(requestMs)]);
    return answer;
  }
  async function* paged<T>(pages: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const page of pages) {
      await sleep(requestMs);
      yield page;
    }
  }
  return {
    put: async (key, bytes) => {
      await up.pass(bytes.length);
      await after(store.put(key, bytes));
    },
    putSource: async (key, bytes) => {
      await up.pass(bytes.length);
      return after(store.putSource(key, bytes));
    },
    get: async (key) => {
      const bytes = await after(store.get(key));
      await down.pass(bytes?.length ?? 0);
      return bytes;
    },
    readInto: async (source, range, into) => {
      await after(store.readInto(source, range, into));
      await down.pass(into.length);
    },
    head: (key) => after(store.head(key)),
    delete: (keys) => after(store.delete(keys)),
    list: (prefix) => paged(store.list(prefix)),
    createUpload: (key, options) => after(store.createUpload(key, options)),
    uploads: (prefix) => paged(store.uploads(prefix)),
    parts: (upload, options) => paged(store.parts(upload, options)),
    uploadPart: async (upload, part) => {
      await up.pass(part.bytes.length);
      return after(store.uploadPart(upload, part));
    },
    copyPart: (upload, part) => after(store.copyPart(upload, part)),
    complete: (upload, parts) => after(store.complete(upload, parts)),
    abort: (upload) => after(store.abort(upload)),
  };
}
