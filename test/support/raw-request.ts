import { type IncomingHttpHeaders, request } from 'node:http';

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * Sends a request exactly as given: no library in between corrects it. A body without a Content-Length is sent chunked.
 *
 * @param input.between awaited when half of the body is sent.
 */
export function sendRaw(input: {
  href: string;
  method: string;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer;
  between?: () => Promise<unknown>;
}): Promise<RawAnswer> {
  const { href, method, headers = {}, body, between } = input;
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    // The path as written, because a URL object would resolve its dots.
    const path = href.slice(new URL(href).origin.length);
    const outgoing = request(href, { path, method, headers, agent: false }, (incoming) => {
      isAnswered = true;
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(chunks) });
      });
    });
    // A store may close the connection after its answer. Before it, that is an error.
    outgoing.on('error', (error) => {
      if (!isAnswered) reject(error);
    });
    if (body === undefined || !between) {
      if (body) outgoing.write(body);
      outgoing.end();
    } else {
      const half = Math.ceil(body.length / 2);
      outgoing.write(body.subarray(0, half), () => {
        between().then(() => outgoing.end(body.subarray(half)), reject);
      });
    }
  });
}
