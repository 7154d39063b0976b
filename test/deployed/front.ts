import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { Emulator } from './emulator.ts';

/**
 * A proxy that makes an emulated API reachable for clients. The emulator identifies an API by a host name that no
 * resolver knows. This proxy listens on loopback, forwards each request under that name, and replaces the name with its
 * own address in answers. It changes nothing else.
 */
export class Front {
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** @param input.apiUrl the API's address in the emulator: `https://abc.execute-api.localhost:4566` */
  static start(input: { apiUrl: string; emulator: Emulator }): Promise<Front> {
    const ca = readFileSync(input.emulator.certificateFile);
    return new Promise((resolve, reject) => {
      const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
        pass(incoming, { ...input, ca, ownUrl: front?.url ?? '' })
          .then((answer) => respond(outgoing, answer))
          .catch((error: unknown) => outgoing.destroy(error instanceof Error ? error : undefined));
      });
      let front: Front | undefined;
      server.once('error', reject);
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        if (address === null || typeof address === 'string') return reject(new Error('no port'));
        front = new Front(server, address.port);
        resolve(front);
      });
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

interface Answer {
  readonly statusCode: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

function respond(outgoing: ServerResponse, { statusCode, headers, body }: Answer): void {
  const { connection, 'transfer-encoding': _, ...rest } = headers;
  outgoing.writeHead(statusCode, { ...rest, 'content-length': body.length });
  outgoing.end(body);
}

function pass(
  incoming: IncomingMessage,
  via: { apiUrl: string; emulator: Emulator; ca: Buffer; ownUrl: string },
): Promise<Answer> {
  const { host, hostname } = new URL(via.apiUrl);
  const emulator = new URL(via.emulator.endpoint);
  return new Promise((resolve, reject) => {
    const onward = request(
      {
        host: emulator.hostname,
        port: emulator.port,
        method: incoming.method,
        path: incoming.url,
        headers: { ...incoming.headers, host },
        // A connection of its own: the emulator closes idle ones, maybe just as a request is sent.
        agent: false,
        ca: via.ca,
        servername: 'localhost',
      },
      (answer) => {
        collect(answer).then((body) => {
          const { statusCode = 502, headers } = answer;
          resolve({ statusCode, headers, body: replaceHost(body, { hostname, ownUrl: via.ownUrl }) });
        }, reject);
      },
    );
    onward.once('error', reject);
    incoming.pipe(onward);
  });
}

function replaceHost(body: Buffer, names: { hostname: string; ownUrl: string }): Buffer {
  const named = new RegExp(`https?://${names.hostname.replaceAll('.', '\\.')}(?::\\d+)?`, 'g');
  // Byte for byte: a font, or what is compressed, is no UTF-8.
  return Buffer.from(body.toString('latin1').replace(named, names.ownUrl), 'latin1');
}

async function collect(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
