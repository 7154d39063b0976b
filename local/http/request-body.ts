import type { IncomingMessage } from 'node:http';

export type ReceivedBody =
  | { readonly kind: 'whole'; readonly body: Buffer }
  | { readonly kind: 'too-large' }
  /** The client went away, or was too slow. */
  | { readonly kind: 'aborted' };

/** A client that is told "too large" before it has sent its body would see a reset connection, not the answer. */
const drainMs = 2000;

/**
 * Reads a request's body of at most `bytesMax`. What exceeds it is read and dropped for two seconds at most,
 * then the answer goes out all the same.
 */
export function receiveBody(request: IncomingMessage, bytesMax: number): Promise<ReceivedBody> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let receivedBytes = 0;
    let drainTimer: NodeJS.Timeout | undefined;
    const finish = (received: ReceivedBody) => {
      clearTimeout(drainTimer);
      resolve(received);
    };
    const tooLarge = () => {
      chunks.length = 0;
      drainTimer ??= setTimeout(() => finish({ kind: 'too-large' }), drainMs);
    };
    if (Number(request.headers['content-length'] ?? 0) > bytesMax) tooLarge();
    request.on('data', (chunk: Buffer) => {
      receivedBytes += chunk.length;
      if (receivedBytes > bytesMax) tooLarge();
      if (drainTimer === undefined) chunks.push(chunk);
    });
    request.on('end', () => {
      finish(drainTimer ? { kind: 'too-large' } : { kind: 'whole', body: Buffer.concat(chunks) });
    });
    request.on('error', () => finish({ kind: 'aborted' }));
    request.on('close', () => finish({ kind: 'aborted' }));
  });
}
