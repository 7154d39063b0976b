import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { xmlDeclaration } from './xml.ts';

export interface StoreReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
}

/** How much of a refused body is read, and for how long, so that the client sees the response. */
const drainBytesMax = 64 * 1024 * 1024;
const drainMsMax = 5_000;

export function xmlReply(
  xml: string,
  options: { status?: number; headers?: Readonly<Record<string, string>> } = {},
) {
  const body = xmlDeclaration + xml;
  return {
    status: options.status ?? 200,
    headers: {
      'content-type': 'application/xml',
      'content-length': String(Buffer.byteLength(body)),
      ...options.headers,
    },
    body,
  } satisfies StoreReply;
}

/**
 * Sends the response. If the request's body was not read to its end, the rest is read and dropped, within limits, and
 * the connection is closed. Closing it immediately would cut off a client that is still sending, often before it has
 * seen the response.
 */
export async function sendReply(
  reply: StoreReply,
  {
    message,
    response,
    awaitsContinue,
  }: { message: IncomingMessage; response: ServerResponse; awaitsContinue: boolean },
): Promise<void> {
  const hasUnreadBody = !message.complete;
  response.writeHead(reply.status, { ...reply.headers, ...(hasUnreadBody && { connection: 'close' }) });
  if (typeof reply.body === 'object') {
    await pipeline(reply.body, response);
    return;
  }
  if (hasUnreadBody && !awaitsContinue) {
    if (message.method !== 'HEAD' && reply.body !== undefined) response.write(reply.body);
    await drain(message);
    response.end();
    return;
  }
  response.end(message.method === 'HEAD' ? undefined : reply.body);
}

function drain(message: IncomingMessage): Promise<void> {
  if (message.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let drainedBytes = 0;
    const timer = setTimeout(resolve, drainMsMax);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    message.on('data', (chunk: Buffer) => {
      drainedBytes += chunk.length;
      if (drainedBytes > drainBytesMax) done();
    });
    message.once('end', done);
    message.once('close', done);
    message.once('error', done);
  });
}
