import type { IncomingMessage } from 'node:http';

export type ReceivedBody =
  | { readonly kind: 'whole'; readonly body: Buffer }
  /** The rest of the body is read and dropped until `drained` resolves. Answer now, and close the connection then. */
  | { readonly kind: 'too-large'; readonly drained: Promise<void> }
  /** The client has gone, or was too slow. */
  | { readonly kind: 'aborted' };

/** How long the rest of a body that is too large is read. Without that, the client sees a reset, not the 413. */
const drainMs = 2000;

/** Reads a request's body of at most `bytesMax`. Keeps nothing of a larger one, and resolves before it has ended. */
export function receiveBody(request: IncomingMessage, bytesMax: number): Promise<ReceivedBody> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) {
    return Promise.resolve({ kind: 'too-large', drained: drain(request) });
  }
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let receivedBytes = 0;
    const onData = (chunk: Buffer) => {
      receivedBytes += chunk.length;
      if (receivedBytes <= bytesMax) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      request.off('data', onData);
      resolve({ kind: 'too-large', drained: drain(request) });
    };
    request.on('data', onData);
    request.on('end', () => resolve({ kind: 'whole', body: Buffer.concat(chunks) }));
    request.on('error', () => resolve({ kind: 'aborted' }));
    request.on('close', () => resolve({ kind: 'aborted' }));
  });
}

function drain(request: IncomingMessage): Promise<void> {
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
