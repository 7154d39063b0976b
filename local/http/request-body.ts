import type { IncomingMessage } from 'node:http';

export type ReceivedBody =
  | { readonly kind: 'whole'; readonly body: Buffer }
  | { readonly kind: 'too-large' }
  /** The client has gone, or was too slow. */
  | { readonly kind: 'aborted' };

/** How long the rest of a body that is too large is read. Without that, the client sees a reset, not the 413. */
const drainMs = 2000;

/**
 * Reads a request's body of at most `bytesMax`. The rest of a larger one is read and dropped, for at most two
 * seconds.
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
