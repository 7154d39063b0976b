import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { request as secureRequest } from 'node:https';

export interface Sent {
  readonly method: string;
  readonly href: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Sends the body in chunks, without saying how long it is. */
  readonly chunked?: boolean;
  readonly ca?: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
}

/** Longer than any gateway waits: who has not been answered by then never will be. */
const hangMs = 35_000;

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

/**
 * One request as it is written: no library in between tidies up the path or adds a header.
 *
 * @throws where no answer comes.
 */
export function exchange(sent: Sent): Promise<Answer> {
  const { method, href, headers = {}, body, chunked = false, ca } = sent;
  const { origin, protocol } = new URL(href);
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const length = bytes && !chunked ? { 'content-length': String(bytes.length) } : {};
  const options = { method, path: href.slice(origin.length) || '/', headers: { ...length, ...headers } };
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    const onAnswer = (incoming: IncomingMessage) => {
      isAnswered = true;
      collect(incoming).then(resolve, reject);
    };
    const outgoing =
      protocol === 'https:'
        ? secureRequest(origin, { ...options, ...(ca && { ca }) }, onAnswer)
        : request(origin, { ...options, agent }, onAnswer);
    outgoing.setTimeout(hangMs, () => outgoing.destroy(new Error(`${method} ${href} was never answered.`)));
    // A store may cut the connection once it has answered; before that it is a failure.
    outgoing.on('error', (error) => {
      if (!isAnswered) reject(error);
    });
    if (bytes) outgoing.write(bytes);
    outgoing.end();
  });
}

async function collect(incoming: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    bytes,
    text: bytes.toString('utf8'),
  };
}
