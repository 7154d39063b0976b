import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  chunkCountOf,
  initialState,
  provenRun,
  runsOf,
} from '../../../../../lambda/subjects/chunks/rules/upload.ts';
import { Sha256 } from '../../../../../lambda/subjects/chunks/sha256.ts';

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** What a request is answered instead: with a status, with half an answer, or not at all. */
export type Lie =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | 'half'
  | 'break off';

interface Posted {
  readonly stored: readonly { readonly chunk: number; readonly stateBefore: string }[];
  readonly wanted: readonly { readonly chunk: number; readonly sha256: string }[];
}

/** The server and the store of one object that is uploaded in chunks, with a worker that proves them at once. */
export class FakeChunks {
  readonly upload = 'a'.repeat(32);
  readonly token = 'secret-of-the-upload';
  state: 'open' | 'stored' | 'wrong' | 'ended' = 'open';
  object: Buffer | undefined;
  readonly chunks = new Map<number, Buffer>();
  readonly proofs = new Map<number, { before: string; after: string }>();
  /** The first SHA-256 that each chunk was asked for with. */
  readonly sha256s = new Map<number, string>();
  /** Called with each request, such as `PUT 3`, before it's answered. What it returns is answered instead. */
  onRequest: (what: string) => Lie | undefined = () => undefined;
  /** Called once a chunk is stored. */
  onStored: (chunk: number) => void = () => undefined;
  /** What a URL is changed to. */
  urlOf = (href: string): string | undefined => href;
  /** Reports that it loses, by their chunks. */
  readonly lostReports = new Set<number>();
  /** Why it fails, as an older server doesn't say. */
  failure: string | null | undefined;
  readonly requests: string[] = [];
  puttingAtOnce = 0;
  mostAtOnce = 0;
  readonly #oid: string;
  readonly #size: number;
  readonly #chunkBytes: number;
  readonly #server = createServer(
    { keepAliveTimeout: 60_000 },
    (request, response) => void this.#answer(request, response),
  );

  constructor({ oid, size, chunkBytes }: { oid: string; size: number; chunkBytes: number }) {
    this.#oid = oid;
    this.#size = size;
    this.#chunkBytes = chunkBytes;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get action() {
    const href = `${this.url}/acme/game.git/info/lfs/chunks/${this.#oid}/${this.upload}`;
    return { href, header: { 'Lfs-Quota-Upload': this.token } };
  }

  get puts(): number[] {
    return this.requests.flatMap((what) => (what.startsWith('PUT ') ? Number(what.slice(4)) : []));
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** A chunk as it's stored, with its proof if its state before is given. */
  async hold(chunk: number, bytes: Buffer, before?: string): Promise<string | undefined> {
    this.chunks.set(chunk, bytes);
    return before === undefined ? undefined : this.#prove(chunk, before);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const chunk = Number(/\/chunk\/(\d+)/.exec(url)?.[1]);
    const what = method === 'PUT' ? `PUT ${chunk}` : method;
    this.requests.push(what);
    const lie = this.onRequest(what);
    if (lie === 'break off') return void request.socket.destroy();
    if (method === 'PUT') {
      this.puttingAtOnce += 1;
      this.mostAtOnce = Math.max(this.mostAtOnce, this.puttingAtOnce);
      request.once('close', () => (this.puttingAtOnce -= 1));
    }
    const pieces: Buffer[] = [];
    try {
      for await (const piece of request) pieces.push(piece as Buffer);
    } catch {
      return;
    }
    if (lie && lie !== 'half') return void response.writeHead(lie.status, lie.headers).end('no');
    const body = Buffer.concat(pieces);
    if (method === 'PUT') return this.#put(response, { chunk, url, headers, body });
    if (new URL(this.action.href).pathname !== url || headers['lfs-quota-upload'] !== this.token)
      return void response.writeHead(404).end();
    const answer = method === 'GET' ? this.#status() : await this.#posted(JSON.parse(body.toString()));
    const text = JSON.stringify(answer);
    response.writeHead(200);
    response.end(lie === 'half' ? text.slice(0, text.length / 2) : text);
  }

  #put(
    response: ServerResponse,
    input: { chunk: number; url: string; headers: IncomingMessage['headers']; body: Buffer },
  ): void {
    const { chunk, url, headers, body } = input;
    const isRight =
      headers['content-length'] === String(body.length) &&
      headers['x-amz-checksum-sha256'] === sha256Of(body) &&
      new URL(url, this.url).searchParams.get('sha256') === sha256Of(body);
    if (!isRight) return void response.writeHead(400).end('<Code>BadDigest</Code>');
    this.chunks.set(chunk, body);
    this.proofs.delete(chunk);
    this.onStored(chunk);
    response.writeHead(200).end();
  }

  #status() {
    const { chunks, state } = provenRun(this.#plan, this.#known());
    const stored = [...this.chunks.keys()].sort((a, b) => a - b);
    const isEdge = chunks === 0 || chunks === chunkCountOf(this.#plan);
    return {
      state: this.state,
      size: this.#size,
      chunkBytes: this.#chunkBytes,
      stored: runsOf(stored),
      proven: { chunks, sha256State: isEdge ? null : state },
      unproven: runsOf(stored.filter((chunk) => !this.proofs.has(chunk))),
      ...(this.failure !== undefined && { failure: this.failure }),
    };
  }

  async #posted({ stored, wanted }: Posted) {
    for (const { chunk, sha256 } of wanted) {
      if (this.state === 'open' && (this.sha256s.get(chunk) ?? sha256) !== sha256) this.state = 'wrong';
      this.sha256s.set(chunk, this.sha256s.get(chunk) ?? sha256);
    }
    const urls = wanted.flatMap(({ chunk, sha256 }) => {
      const href = this.urlOf(`${this.url}/chunk/${chunk}?sha256=${sha256}&signature=secret`);
      const header = { 'x-amz-checksum-sha256': sha256 };
      return href === undefined ? [] : { chunk, href, header, expires_in: 900 };
    });
    for (const { chunk, stateBefore } of stored)
      if (!this.lostReports.delete(chunk)) await this.#prove(chunk, stateBefore);
    const unproven = chunkCountOf(this.#plan) - this.proofs.size;
    const answer = { state: this.state, urls, unproven };
    if (unproven === 0) this.#assemble();
    return answer;
  }

  async #prove(chunk: number, stateBefore: string): Promise<string | undefined> {
    const bytes = this.chunks.get(chunk);
    if (!bytes) return undefined;
    const before = chunk === 0 ? initialState : stateBefore;
    const hash = await Sha256.create({ state: before, bytes: chunk * this.#chunkBytes });
    hash.update(bytes);
    const after = chunk === chunkCountOf(this.#plan) - 1 ? hash.digest() : hash.state();
    this.proofs.set(chunk, { before, after });
    return after;
  }

  get #plan() {
    return { sizeBytes: this.#size, chunkBytes: this.#chunkBytes };
  }

  #known() {
    return [...this.proofs].map(([chunk, proof]) => ({
      ...proof,
      chunk,
      etag: '',
      sizeBytes: this.chunks.get(chunk)?.length ?? 0,
    }));
  }

  #assemble(): void {
    if (this.state !== 'open') return;
    const lost = [...this.proofs.keys()].filter((chunk) => !this.chunks.has(chunk));
    for (const chunk of lost) this.proofs.delete(chunk);
    if (lost.length > 0) return;
    const { chunks, state } = provenRun(this.#plan, this.#known());
    this.state = chunks === chunkCountOf(this.#plan) && state === this.#oid ? 'stored' : 'wrong';
    if (this.state === 'stored')
      this.object = Buffer.concat([...this.chunks].sort(([a], [b]) => a - b).map(([, bytes]) => bytes));
  }
}
