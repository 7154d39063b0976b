import type { IncomingMessage } from 'node:http';

type ReceivedBody =
  | { readonly kind: 'whole'; readonly body: Buffer }
  /** The rest of the body is read and dropped until `drained` resolves. Answer now, and close the connection then. */
  | { readonly kind: 'too-large'; readonly drained: Promise<void> }
  /** The client has gone, was too slow, or had to make room. */
  | { readonly kind: 'aborted' };

/** From the headers of a request to the end of its body. */
const bodyMsMax = 60_000;
/** How long the rest of a body that is too large is read. Without that, the client sees a reset, not the 413. */
const drainMs = 2000;
/** Of all bodies together that aren't whole yet: many addresses of one stranger can't fill the memory. */
const heldBytesMaxDefault = 64 * 1024 * 1024;
const firstBytes = 4096;

/** The bodies of requests that are still coming, which nobody has shown a credential for. */
export class Bodies {
  readonly #heldBytesMax: number;
  /** What ends each. The oldest come first. */
  readonly #coming = new Map<IncomingMessage, () => void>();
  #heldBytes = 0;

  constructor(heldBytesMax = heldBytesMaxDefault) {
    this.#heldBytesMax = heldBytesMax;
  }

  /** Reads a request's body of at most `bytesMax`. Keeps nothing of a larger one, and resolves before it has ended. */
  receive(request: IncomingMessage, bytesMax: number): Promise<ReceivedBody> {
    if (Number(request.headers['content-length'] ?? 0) > bytesMax)
      return Promise.resolve({ kind: 'too-large', drained: drain(request) });
    return new Promise((resolve) => {
      // One buffer that grows: a list of pieces, each of one byte, would take hundreds of times as much.
      let held = Buffer.alloc(0);
      let receivedBytes = 0;
      const end = (received: ReceivedBody) => {
        if (!this.#coming.delete(request)) return;
        this.#heldBytes -= held.length;
        held = Buffer.alloc(0);
        clearTimeout(late);
        request.off('data', onData);
        resolve(received);
      };
      const abort = () => end({ kind: 'aborted' });
      const onData = (piece: Buffer) => {
        const sizeBytes = receivedBytes + piece.length;
        if (sizeBytes > bytesMax) return end({ kind: 'too-large', drained: drain(request) });
        if (sizeBytes > held.length) {
          const larger = Buffer.allocUnsafeSlow(Math.min(bytesMax, Math.max(firstBytes, 2 * sizeBytes)));
          held.copy(larger, 0, 0, receivedBytes);
          this.#heldBytes += larger.length - held.length;
          held = larger;
        }
        piece.copy(held, receivedBytes);
        receivedBytes = sizeBytes;
        if (this.#heldBytes > this.#heldBytesMax) this.#coming.values().next().value?.();
      };
      const late = setTimeout(abort, bodyMsMax);
      this.#coming.set(request, abort);
      request.on('data', onData);
      request.on('end', () => end({ kind: 'whole', body: held.subarray(0, receivedBytes) }));
      request.on('error', abort);
      request.on('close', abort);
    });
  }
}

/** Reads and drops what still comes of a body, for a while. */
export function drain(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, drainMs);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    for (const event of ['end', 'close', 'error']) request.once(event, done);
    request.resume();
  });
}
