import { type IncomingHttpHeaders, request } from 'node:http';

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * Sends a request as it is given, with no library in between that would mend it. Without a Content-Length
 * a body goes out chunked.
 */
export function sendRaw(input: {
  href: string;
  method: string;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer;
}): Promise<RawAnswer> {
  const { href, method, headers = {}, body } = input;
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    // The path as it is written: a URL object would resolve its dots.
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
    // A store may cut the connection once it has answered; before that it is a failure.
    outgoing.on('error', (error) => {
      if (!isAnswered) reject(error);
    });
    if (body === undefined) {
      outgoing.end();
    } else {
      outgoing.write(body);
      outgoing.end();
    }
  });
}
