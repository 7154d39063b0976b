import { createServer, type Server, type Socket } from 'node:net';
import { listen } from '../../../../support/serve.ts';

/** What a store does with one request: it writes bytes, waits, cuts. `connection` counts from 0. */
export type Conduct = (socket: Socket, request: { head: string; index: number; connection: number }) => void;

/**
 * A store that writes its answers byte by byte, so that it can send what no HTTP server sends: half a head, a wrong
 * length, a reset.
 */
export class RawStore {
  /** The head of each request. */
  readonly requests: string[] = [];
  connections = 0;
  readonly #server: Server;

  constructor(conduct: Conduct) {
    this.#server = createServer((socket) => {
      const connection = this.connections;
      this.connections += 1;
      socket.on('error', () => {});
      let text = '';
      socket.on('data', (piece) => {
        text += piece.toString();
        // Requests have no body, and a client sends the next one only after an answer.
        if (!text.endsWith('\r\n\r\n')) return;
        const head = text;
        text = '';
        this.requests.push(head);
        conduct(socket, { head, index: this.requests.length - 1, connection });
      });
    });
  }

  /** Until the test is over. @returns its URL. */
  async listen(): Promise<string> {
    return `http://127.0.0.1:${await listen(this.#server)}`;
  }
}

/** An answer as it goes over the wire. */
export function answerOf(status: number, body = '', headers: Readonly<Record<string, string>> = {}): string {
  const all = { 'Content-Length': String(Buffer.byteLength(body)), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n${body}`;
}

/** A page with one key. */
export const onePage =
  '<ListBucketResult><KeyCount>1</KeyCount><IsTruncated>false</IsTruncated>' +
  '<Contents><Key>k</Key><Size>7</Size></Contents></ListBucketResult>';
