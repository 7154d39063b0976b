import type { ArchiveStore, MultipartUpload } from '../../lambda/core/store/rules/archive-store.ts';
import { StoreUnavailableError } from '../../lambda/core/store/rules/store.ts';
import type { MemoryArchiveStore } from '../support/memory/archive-store.ts';
import type { Actor } from './actor.ts';
import { replacing } from './replacing.ts';

interface ArchivesWorld {
  readonly archives: MemoryArchiveStore;
  /** Whether the service's own files come back cut. */
  readonly areFilesLost: boolean;
  /** Runs something at a random moment within this time. */
  later(withinMs: number, run: () => void): void;
  /** A multipart upload was created. */
  onCreated(upload: MultipartUpload): void;
  /** An object was made of parts. */
  onMade(upload: MultipartUpload): Promise<void>;
  onAborted(upload: MultipartUpload): void;
  /** An object is deleted. */
  remove(key: string): void;
  /** Ends the run at the next step. */
  fail(error: unknown): void;
}

/** How long after nobody waits for it any more a request may still take effect. */
const landsWithinMs = 2 * 60_000;

/**
 * Files and objects of parts as one function sees them. What changes something may happen although its answer was lost, a
 * while after its answer was lost, or twice, as when the SDK tries again.
 */
export function archivesOf(actor: Actor, world: ArchivesWorld): ArchiveStore {
  const { archives } = world;
  const read = <T>(apply: () => Promise<T>) => actor.operation('store', apply);
  const write = <T>(apply: () => Promise<T>) =>
    actor.operation('store', async () => {
      if (actor.isUnlucky('late')) {
        world.later(landsWithinMs, () => void apply().catch(noteViolation));
        throw new StoreUnavailableError('It did not answer in time.');
      }
      const answer = await apply();
      if (actor.isUnlucky('lostAnswer')) throw new StoreUnavailableError('The answer was lost.');
      return actor.isUnlucky('twice') ? await apply() : answer;
    });
  // Nobody learns of the others.
  const noteViolation = (error: unknown) => {
    if (error instanceof Error && error.name === 'Violation') world.fail(error);
  };
  async function* pages<T>(all: AsyncIterable<T>): AsyncGenerator<T> {
    const iterator = all[Symbol.asyncIterator]();
    for (;;) {
      const page = await read(() => iterator.next());
      if (page.done) return;
      yield page.value;
    }
  }
  return replacing<ArchiveStore>(archives, {
    put: (key, bytes) => actor.operation('file', () => archives.put(key, bytes)),
    get: (key) =>
      actor.operation('file', async () => {
        const bytes = await archives.get(key);
        return world.areFilesLost ? bytes?.subarray(0, bytes.length / 2) : bytes;
      }),
    delete: (keys) =>
      actor.operation('file', async () => {
        // One by one, so it may be half done.
        for (const key of keys) {
          if (actor.isUnlucky('fail')) throw new StoreUnavailableError('Of all keys, not this one.');
          world.remove(key);
        }
        if (actor.isUnlucky('lostAnswer')) throw new StoreUnavailableError('The answer was lost.');
      }),
    head: (key) => read(() => archives.head(key)),
    list: (prefix) => pages(archives.list(prefix)),
    readInto: (...args) => read(() => archives.readInto(...args)),
    createUpload: (...args) =>
      write(async () => {
        const upload = await archives.createUpload(...args);
        world.onCreated(upload);
        return upload;
      }),
    uploads: (prefix) => pages(archives.uploads(prefix)),
    parts: (...args) => pages(archives.parts(...args)),
    copyPart: (...args) => write(() => archives.copyPart(...args)),
    complete: (upload, ...args) =>
      write(async () => {
        const answer = await archives.complete(upload, ...args);
        await world.onMade(upload);
        return answer;
      }),
    abort: (upload) =>
      write(async () => {
        await archives.abort(upload);
        world.onAborted(upload);
      }),
  });
}
