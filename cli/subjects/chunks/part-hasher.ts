import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { TransferError } from '../../transfer.ts';

export interface PartToHash {
  readonly startByte: number;
  readonly sizeBytes: number;
  /** SHA-256's state there. */
  readonly before: string;
  /** Of the file. */
  readonly isLast: boolean;
}

export interface HashedPart {
  /** SHA-256 of the part alone. */
  readonly oid: string;
  /** SHA-256's state after the part. After the last one, the digest of the file. */
  readonly after: string;
}

/** Hashes a file in a thread of its own: what's sent meanwhile never waits for it. */
export class PartHasher {
  readonly #thread: Worker;
  readonly #gone = new AbortController();

  constructor({ fd }: FileHandle) {
    this.#thread = startThread(fd);
    const ended = new TransferError('The thread that hashes the file ended.');
    // An error ends it, too.
    this.#thread.on('error', (error) => this.#gone.abort(error)).on('exit', () => this.#gone.abort(ended));
  }

  /**
   * One part after the other.
   *
   * @returns undefined if the file ends before the part does.
   * @throws what reading fails with, or whatever else the thread ended with: then it hashes nothing more.
   */
  async hash(part: PartToHash): Promise<HashedPart | undefined> {
    const { signal } = this.#gone;
    this.#thread.postMessage(part);
    const answered: Promise<(HashedPart | undefined)[]> = once(this.#thread, 'message', { signal });
    const [hashed] = await answered.catch(() => Promise.reject(signal.reason));
    return hashed;
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}

/** In a checkout, from its source. */
function startThread(fd: number): Worker {
  const isSource = import.meta.url.endsWith('.ts');
  const file = new URL(isSource ? './hash-thread.ts' : './hash-thread.js', import.meta.url);
  const options = { workerData: { fd } };
  if (!isSource) return new Worker(file, options);
  const [tsx, source] = [import.meta.resolve('tsx/esm/api'), file].map((each) => JSON.stringify(each));
  const code = `import(${tsx}).then(({ register }) => (register(), import(${source})))`;
  return new Worker(code, { ...options, eval: true });
}
