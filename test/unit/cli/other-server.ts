import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const oidOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

interface BatchBody {
  readonly operation: 'upload' | 'download';
  readonly objects: readonly { readonly oid: string; readonly size: number }[];
}

/** Another LFS server, with one repository at `/acme/game.git`. It checks nothing of what it gets. */
export class OtherServer {
  readonly objects = new Map<string, Buffer>();
  /** `user:password` that it asks for, if it asks. */
  login: string | undefined;
  /** What it sends instead of an object, by its oid. `undefined` within: it breaks the connection off after some bytes. */
  readonly lies = new Map<string, Buffer | undefined>();
  /** What a download needs beside its URL. */
  downloadHeader: Readonly<Record<string, string>> | undefined;
  /** Oids whose downloads are elsewhere on it. */
  readonly redirected = new Set<string>();
  /** Of what downloaded, each. */
  readonly downloads: { readonly oid: string; readonly headers: IncomingMessage['headers'] }[] = [];
  /** Answers of the next batches, before it does what it is asked. */
  readonly batchAnswers: ({ status: number; headers?: Record<string, string> } | 'breaks off')[] = [];
  /** What it answers to a batch instead of these. */
  batchOf: (answers: readonly object[]) => unknown = (objects) => ({ transfer: 'basic', objects });
  /** Called with each request, before it is answered. */
  onRequest: (what: string) => void = () => undefined;
  readonly verified: string[] = [];
  /** Requests whose bodies came in pieces, without a length. */
  piecemeal = 0;
  readonly #server = createServer(
    { keepAliveTimeout: 60_000 },
    (request, response) => void this.#answer(request, response),
  );

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  store(...bytes: readonly Buffer[]): string[] {
    return bytes.map((each) => {
      this.objects.set(oidOf(each), each);
      return oidOf(each);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    this.onRequest(`${method} ${url.split('/').slice(0, 2).join('/')}`);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks);
    const [, kind = '', oid = ''] = url.split(/[/?]/);
    if (url === '/acme/game.git/info/lfs/objects/batch')
      return this.#batch(response, JSON.parse(body.toString()), headers.authorization);
    if (kind === 'store' && method === 'GET') {
      this.downloads.push({ oid, headers });
      const needed = Object.entries(this.downloadHeader ?? {});
      if (needed.some(([name, value]) => headers[name] !== value)) return void response.writeHead(403).end();
      if (this.redirected.has(oid) && !url.endsWith('&moved'))
        return void response.writeHead(302, { location: `${url}&moved` }).end();
      return this.#send(response, oid);
    }
    if (kind === 'store' && method === 'PUT') {
      if (headers['content-length'] === undefined) this.piecemeal += 1;
      this.objects.set(oid, body);
      response.writeHead(201).end();
    } else if (kind === 'verify') {
      this.verified.push(JSON.parse(body.toString()).oid);
      response.writeHead(200).end('{}');
    } else response.writeHead(404).end();
  }

  #batch(response: ServerResponse, { operation, objects }: BatchBody, authorization?: string): void {
    const forced = this.batchAnswers.shift();
    if (forced === 'breaks off') return void response.destroy();
    if (forced) return void response.writeHead(forced.status, forced.headers ?? {}).end();
    if (this.login && authorization !== `Basic ${Buffer.from(this.login).toString('base64')}`)
      return void response.writeHead(401).end('{"message":"Credentials needed"}');
    const answers = objects.map(({ oid, size }) => {
      const isHere = this.objects.has(oid);
      const href = `${this.url}/store/${oid}?signature=secret`;
      if (operation === 'download')
        return isHere
          ? { oid, size, actions: { download: { href, header: this.downloadHeader, expires_in: 600 } } }
          : { oid, size, error: { code: 404, message: 'Not here' } };
      const header = { 'Transfer-Encoding': 'chunked' };
      const actions = { upload: { href, header }, verify: { href: `${this.url}/verify` } };
      return isHere ? { oid, size } : { oid, size, actions };
    });
    response.writeHead(200, { 'content-type': 'application/vnd.git-lfs+json' });
    response.end(JSON.stringify(this.batchOf(answers)));
  }

  #send(response: ServerResponse, oid: string): void {
    const bytes = this.objects.get(oid);
    if (!bytes) return void response.writeHead(404).end();
    const send = (sent: Buffer) => response.writeHead(200, { 'content-length': sent.length }).end(sent);
    if (!this.lies.has(oid)) return void send(bytes);
    const lie = this.lies.get(oid);
    if (lie) return void send(lie);
    response.writeHead(200, { 'content-length': bytes.length });
    response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
  }
}
