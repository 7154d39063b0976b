import type { WireChunkedUpload } from '../../../lambda/subjects/chunks/contract.ts';
import { chunksMax } from '../../../lambda/subjects/chunks/rules/sizes.ts';
import { chunkCountOf, initialState, sizeOfChunk } from '../../../lambda/subjects/chunks/rules/upload.ts';
import { blockBytes } from '../../../lambda/subjects/chunks/sha256.ts';
import { transferEach } from '../../at-once.ts';
import type { BatchAction, LfsObject } from '../../lfs-batch.ts';
import { type DownloadDeps, TransferError } from '../../transfer.ts';
import { ChunkClient, NotOpenError } from './client.ts';
import { changed, type FilePart, PushedFile, UploadError } from './pushed-file.ts';

/**
 * Uploads a large object in chunks. What is stored of it is known to the server alone, so an upload that broke off goes on
 * from any machine. Each chunk is reported with SHA-256's state before it: so workers can check the chunks apart from each
 * other, while others are still on their way.
 */

const chunksAtOnce = 8;
/** The server isn't asked again for an eighth of the time since it last did something, but for so long at least and at most. */
const pollMs = { min: 500, max: 5_000 };
/** Nothing happens for so long. Then it's asked what it lacks: a chunk, or a report that was lost. */
const quietMs = 60_000;
/**
 * Such minutes in a row: ten, and one for each 4 GiB, so that a store may copy 70 MB/s. A worker that died has the object for
 * 60 s, and is replaced within another 30 s.
 */
const vainMaxOf = (sizeBytes: number) => 10 + sizeBytes / 4 / 1024 ** 3;

export interface ChunkedUploadInput {
  readonly action: BatchAction;
  readonly object: LfsObject;
  readonly path: string;
  /** Called with the bytes that are stored; with fewer than none if they're sent again. */
  readonly onBytes: (bytes: number) => void;
}

/** @throws {UploadError} @throws {TransferError} what the last attempt failed with. */
export async function uploadInChunks(deps: DownloadDeps, input: ChunkedUploadInput): Promise<void> {
  const file = await PushedFile.open(input.path, input.object.sizeBytes);
  try {
    await new ChunksOnTheirWay(deps, input, file).bring();
  } finally {
    await file.close();
  }
}

interface HashedChunk extends FilePart {
  readonly chunk: number;
  readonly stateBefore: string;
  /** After the last chunk, the digest. */
  readonly after: string;
}

class ChunksOnTheirWay {
  readonly #deps: DownloadDeps;
  readonly #input: ChunkedUploadInput;
  readonly #file: PushedFile;
  readonly #client: ChunkClient;
  /** By their number. */
  readonly #hashed: (HashedChunk | undefined)[] = [];
  #shownBytes = 0;
  /** The chunks that were uploaded here. */
  readonly #sent = new Set<number>();
  #leastUnproven = Number.POSITIVE_INFINITY;

  constructor(deps: DownloadDeps, input: ChunkedUploadInput, file: PushedFile) {
    this.#deps = deps;
    this.#input = input;
    this.#file = file;
    this.#client = new ChunkClient(deps, input.action);
  }

  async bring(): Promise<void> {
    const vainMax = vainMaxOf(this.#input.object.sizeBytes);
    for (let vain = 0; vain < vainMax; vain += 1) {
      const status = await this.#client.status();
      if (isDone(status.state)) return this.#show(this.#input.object.sizeBytes);
      if (vain > 0 && status.failure !== null)
        throw new UploadError(`The server can't store this file: ${status.failure}. Ask its operator.`);
      const [sent, unproven] = [this.#sent.size, this.#leastUnproven];
      try {
        await this.#send(planOf(status, this.#input.object));
        if (await this.#isAssembled()) return this.#show(this.#input.object.sizeBytes);
      } catch (error) {
        if (!(error instanceof NotOpenError)) throw error;
      }
      // Either happens so many times at most, so a server that loses chunks again and again is left at last.
      if (this.#sent.size > sent || this.#leastUnproven < unproven) vain = -1;
    }
    throw new TransferError("The server doesn't put the chunks together.");
  }

  /** Uploads the chunks that aren't stored, and reports those that aren't proven. */
  async #send(plan: Plan): Promise<void> {
    this.#show([...plan.stored].reduce((sum, chunk) => sum + sizeOfChunk(plan, chunk), 0));
    await transferEach<HashedChunk>(this.#deps, {
      atOnce: chunksAtOnce,
      failuresMax: 1,
      nameOf: ({ chunk }) => `Chunk ${chunk}`,
      itemsOf: (stop) => this.#missing(plan, stop),
      transfer: async (hashed, stop) => {
        const { chunk, stateBefore } = hashed;
        if (!plan.stored.has(chunk)) {
          await this.#file.put({ ...this.#deps, stop }, hashed, {
            nextUpload: () => this.#client.urlOf({ chunk, sha256: hashed.oid }),
            onBytes: (bytes) => this.#show(this.#shownBytes + bytes),
          });
          this.#sent.add(chunk);
        }
        await this.#client.post({ stored: { chunk, stateBefore } });
      },
    });
  }

  /** In their order. The last chunk comes once the whole file has the right SHA-256. */
  async *#missing(plan: Plan, stop: AbortSignal): AsyncGenerator<HashedChunk> {
    const { stored, unproven, count, proven } = plan;
    const isMissing = (chunk: number) => !stored.has(chunk) || unproven.has(chunk);
    const wanted = Array.from({ length: count }, (_, chunk) => chunk).filter(isMissing);
    let before = proven.sha256State ?? initialState;
    for (let chunk = proven.chunks; chunk <= (wanted.at(-1) ?? -1); chunk += 1) {
      const hashed = this.#hashed[chunk] ?? (await this.#hash(plan, { chunk, before, stop }));
      if (chunk === count - 1 && hashed.after !== this.#input.object.oid) {
        // What is proven may be of a file that was damaged then. Chunk 0 can't have the whole file's SHA-256, so this ends the
        // upload, and the next push begins a new one: also if it's this file that is damaged.
        const wanted = { chunk: 0, sha256: this.#input.object.oid };
        if (proven.chunks > 0) await this.#client.post({ wanted });
        throw changed();
      }
      this.#hashed[chunk] = hashed;
      before = hashed.after;
      if (isMissing(chunk)) yield hashed;
    }
  }

  async #hash(
    plan: Plan,
    { chunk, before, stop }: { chunk: number; before: string; stop: AbortSignal },
  ): Promise<HashedChunk> {
    const [startByte, sizeBytes] = [chunk * plan.chunkBytes, sizeOfChunk(plan, chunk)];
    const isLast = chunk === plan.count - 1;
    const { oid, after } = await this.#file.hash({ startByte, sizeBytes, before, isLast });
    stop.throwIfAborted();
    // By their names: with `...`, V8 would keep a hidden class of each.
    return { startByte, sizeBytes, oid, chunk, stateBefore: before, after };
  }

  /** Waits while the server proves the chunks and puts them together. @returns false: nothing happened for a while. */
  async #isAssembled(): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < quietMs; ) {
      const { state, unproven } = await this.#client.post({});
      if (isDone(state)) return true;
      if (unproven < this.#leastUnproven) waitedMs = 0;
      this.#leastUnproven = Math.min(this.#leastUnproven, unproven);
      const pauseMs = Math.min(Math.max(waitedMs / 8, pollMs.min), pollMs.max);
      await this.#deps.sleep(pauseMs);
      this.#deps.stop.throwIfAborted();
      waitedMs += pauseMs;
    }
    return false;
  }

  #show(bytes: number): void {
    if (bytes !== this.#shownBytes) this.#input.onBytes(bytes - this.#shownBytes);
    this.#shownBytes = bytes;
  }
}

/** @throws {UploadError} if it never will be. */
function isDone(state: WireChunkedUpload['state']): boolean {
  if (state === 'wrong')
    throw new UploadError("The uploaded chunks aren't this file. Run git lfs fsck, then push again.");
  if (state === 'ended') throw new UploadError('This upload expired. Push again: it starts over.');
  return state === 'stored';
}

interface Plan {
  readonly sizeBytes: number;
  readonly chunkBytes: number;
  readonly count: number;
  readonly stored: ReadonlySet<number>;
  readonly unproven: ReadonlySet<number>;
  readonly proven: WireChunkedUpload['proven'];
}

/** @throws {UploadError} if it isn't one of this object. */
function planOf(status: WireChunkedUpload, { sizeBytes }: LfsObject): Plan {
  const { size, chunkBytes, proven } = status;
  const count = chunkCountOf({ sizeBytes, chunkBytes });
  const fits = (runs: WireChunkedUpload['stored']) =>
    runs.length <= count &&
    runs.every(([first, last], at) => (runs[at - 1]?.[1] ?? -1) < first && first <= last && last < count);
  if (
    size !== sizeBytes ||
    count > chunksMax ||
    chunkBytes < blockBytes ||
    chunkBytes % blockBytes !== 0 ||
    !(0 <= proven.chunks && proven.chunks <= count) ||
    (proven.sha256State === null) !== (proven.chunks === 0 || proven.chunks === count) ||
    !fits(status.stored) ||
    !fits(status.unproven)
  )
    throw new UploadError("The server's answer doesn't fit this file. Update lfs-quota, then push again.");
  const stored = numbersOf(status.stored);
  return { sizeBytes, chunkBytes, count, stored, unproven: numbersOf(status.unproven), proven };
}

const numbersOf = (runs: WireChunkedUpload['stored']) =>
  new Set(runs.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, at) => first + at)));
