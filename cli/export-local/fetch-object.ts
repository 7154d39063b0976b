import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { StoredObject } from '../../lambda/domain/export/stored-object.ts';
import type { Offer } from './lfs-batch.ts';
import type { Attempt, Retries } from './retries.ts';
import { writeAt } from './tar-file.ts';

/** An attempt that gets nothing for so long is given up. */
const idleMs = 60_000;

/** What became of an object. */
export type Fetched =
  | { readonly kind: 'complete' }
  | { readonly kind: 'gone' }
  /** The store has it, but not with the bytes that its oid says, or does not give it. */
  | { readonly kind: 'broken'; readonly message: string };

export interface FetchDeps {
  readonly archive: FileHandle;
  readonly retries: Retries;
  readonly stop: AbortSignal;
  readonly nowMs: () => number;
  /** Asks anew where an object is downloaded. */
  readonly askAgain: (object: StoredObject) => Promise<Offer>;
  /** Called with bytes that were written; with fewer than none if they are of no use. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Downloads an object to its place in the archive, and checks its SHA-256. A transfer that breaks goes on where it was.
 *
 * @throws what the last attempt failed with, if the store does not answer. @throws {ArchiveWriteError}
 */
export async function fetchObject(
  deps: FetchDeps,
  { object, offer: first, startByte }: { object: StoredObject; offer: Offer; startByte: number },
): Promise<Fetched> {
  let offer: Offer | undefined = first;
  const arriving = new Arriving(deps, { object, startByte });
  return deps.retries.run<Fetched>(async () => {
    const isValid = offer?.kind !== 'offered' || offer.validUntilMs > deps.nowMs();
    const now: Offer = offer && isValid ? offer : await deps.askAgain(object);
    offer = undefined;
    if (now.kind === 'gone') return { kind: 'done', value: now };
    if (now.kind === 'refused') return { kind: 'done', value: { kind: 'broken', message: now.message } };
    return arriving.attempt(now);
  });
}

/** An object of which a part has arrived. */
class Arriving {
  readonly #deps: FetchDeps;
  readonly #object: StoredObject;
  readonly #startByte: number;
  #hash: Hash = createHash('sha256');
  #bytes = 0;
  #wrongHashes = 0;

  constructor(deps: FetchDeps, { object, startByte }: { object: StoredObject; startByte: number }) {
    this.#deps = deps;
    this.#object = object;
    this.#startByte = startByte;
  }

  /** One request for what is missing. */
  async attempt({ href, header }: Offer & { kind: 'offered' }): Promise<Attempt<Fetched>> {
    const { stop } = this.#deps;
    const before = this.#bytes;
    const idle = new AbortController();
    const timer = setTimeout(() => idle.abort(new Error(`Nothing arrived for ${idleMs / 1000} s.`)), idleMs);
    try {
      const range = before > 0 ? { range: `bytes=${before}-` } : {};
      const headers = { ...header, ...range, 'accept-encoding': 'identity' };
      const response = await fetch(href, { headers, signal: AbortSignal.any([stop, idle.signal]) });
      const failure = await this.#beginWith(response);
      if (failure) return failure;
      for await (const piece of response.body ?? []) {
        timer.refresh();
        await this.#append(piece);
      }
    } catch (error) {
      stop.throwIfAborted();
      if (error instanceof ArchiveWriteError) throw error;
      return { kind: 'failed', error: transferError(error), gotOn: this.#bytes > before };
    } finally {
      clearTimeout(timer);
    }
    return this.#judge(before);
  }

  async #beginWith(response: Response): Promise<Attempt<Fetched> | undefined> {
    const { sizeBytes } = this.#object;
    const expected = `bytes ${this.#bytes}-${sizeBytes - 1}/${sizeBytes}`;
    if (response.status === 206 && response.headers.get('content-range') === expected) return undefined;
    if (response.status === 200) {
      // A store that knows no ranges sends all of it.
      this.#restart();
      return undefined;
    }
    if (response.status === 404 && (await response.text()).includes('<Code>NoSuchKey</Code>'))
      return { kind: 'done', value: { kind: 'gone' } };
    await response.body?.cancel();
    // Its URL may have expired: the next one tells.
    return { kind: 'failed', error: new TransferError(`The store answered ${response.status}.`) };
  }

  async #append(piece: Uint8Array): Promise<void> {
    if (this.#bytes + piece.length > this.#object.sizeBytes) {
      this.#restart();
      throw new TransferError('The store sent more than the object has.');
    }
    this.#hash.update(piece);
    try {
      await writeAt(this.#deps.archive, piece, this.#startByte + this.#bytes);
    } catch (cause) {
      throw new ArchiveWriteError(cause);
    }
    this.#bytes += piece.length;
    this.#deps.onBytes(piece.length);
  }

  #judge(before: number): Attempt<Fetched> {
    if (this.#bytes < this.#object.sizeBytes)
      return {
        kind: 'failed',
        error: new TransferError('The transfer broke off.'),
        gotOn: this.#bytes > before,
      };
    if (this.#hash.digest('hex') === this.#object.oid) return { kind: 'done', value: { kind: 'complete' } };
    this.#restart();
    const message = 'Its bytes have another SHA-256.';
    // Bytes may change on the way, but not each time.
    this.#wrongHashes += 1;
    return this.#wrongHashes === 1
      ? { kind: 'failed', error: new TransferError(message) }
      : { kind: 'done', value: { kind: 'broken', message } };
  }

  #restart(): void {
    this.#deps.onBytes(-this.#bytes);
    this.#bytes = 0;
    this.#hash = createHash('sha256');
  }
}

/** The store did not give an object. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
}

/** `fetch` keeps what happened in the cause of its own error. */
function transferError(error: unknown): TransferError {
  if (error instanceof TransferError) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return new TransferError(cause instanceof Error ? cause.message : String(cause), { cause: error });
}

/** The disk did not take what arrived. */
export class ArchiveWriteError extends Error {
  override readonly name = 'ArchiveWriteError';

  constructor(cause: unknown) {
    super('What arrived could not be written.', { cause });
  }
}
