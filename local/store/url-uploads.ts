import { setTimeout as sleep } from 'node:timers/promises';
import { S3Error } from './protocol.ts';
import { BodyWait } from './signed-request.ts';

/**
 * Uploads of a key at a time by presigned URLs, whose bytes fill the disk before anybody counts them. The second one is of
 * a client whose first has lost its connection.
 */
const urlUploadsMax = 2;
/** One that has sent nothing for so long gives way to the next. If none has, that one is told to retry. */
const stalledMs = 5_000;
const lookEveryMs = 100;

/** The uploads by presigned URLs that are in progress. */
export class UrlUploads {
  readonly #byKey = new Map<string, Set<BodyWait>>();

  /** Runs an upload once there is a place for it. @throws {S3Error} SlowDown */
  async during<T>(key: string, upload: (wait: BodyWait) => Promise<T>): Promise<T> {
    const giveUpMs = performance.now() + stalledMs;
    while ((this.#byKey.get(key)?.size ?? 0) >= urlUploadsMax) {
      const waits = [...(this.#byKey.get(key) ?? [])].sort((a, b) => a.sinceMs - b.sinceMs);
      if (performance.now() - (waits[0]?.sinceMs ?? 0) > stalledMs) waits[0]?.end(slowDown());
      else if (performance.now() > giveUpMs) throw slowDown();
      await sleep(lookEveryMs);
    }
    const wait = new BodyWait();
    const running = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, running.add(wait));
    try {
      return await upload(wait);
    } finally {
      running.delete(wait);
      if (running.size === 0) this.#byKey.delete(key);
    }
  }
}

const slowDown = () => new S3Error('SlowDown', 'Other uploads of this object are in progress. Retry later.');
