import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An object of the service, under the oid of its bytes unless it has another one. */
export interface FakeObject {
  readonly repo: string;
  readonly bytes: Buffer;
  readonly oid: string;
}

export function fakeObject(repo: string, bytes: Buffer): FakeObject {
  return { repo, bytes, oid: createHash('sha256').update(bytes).digest('hex') };
}

/** How the store answers a GET, if not as it should. */
type Oddity =
  | { readonly status: number; readonly body?: string }
  /** Only so many bytes; the connection is closed once they have arrived. */
  | { readonly cutAt: number; readonly hasArrived: () => boolean }
  | { readonly bytes: Buffer }
  | 'hang';

/** As much of the service as `export local` needs: the list of objects, batches, and the store behind signed URLs. */
export class FakeService {
  readonly objects: FakeObject[] = [];
  /** Objects that are listed and gone when they are asked for. */
  readonly gone = new Set<string>();
  readonly closedRepos = new Set<string>();
  token = 'tenant-token';
  tenant = 'acme';
  /** Statuses of the next batches. */
  readonly batchStatuses: number[] = [];
  /** What the store does with the n-th GET of an object, from 0. */
  onGet: (oid: string, times: number) => Oddity | undefined = () => undefined;
  /** GETs that were sent, each with the first byte that it asked for. */
  readonly gets: { readonly oid: string; readonly from: number }[] = [];
  /** Called at each batch. */
  onBatch: () => void = () => undefined;
  /** What the list says of a size, if it is not the truth. */
  sizeOf: (object: FakeObject) => number = ({ bytes }) => bytes.length;
  knowsRanges = true;
  /** What stands before the host of its URLs. */
  secretHost = '';
  batches = 0;
  lists = 0;
  #url = '';
  readonly #server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });

  get url(): string {
    return this.#url;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.#url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.closeAllConnections();
      this.#server.close(() => resolve());
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '', this.#url);
    const [, first = '', second = ''] = url.pathname.split('/');
    if (first === 'store') return this.#get(second, request, response);
    const json = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const isAdmin = request.headers.authorization === 'Bearer admin-token';
    const isTenant = request.headers.authorization === `Bearer ${this.token}`;
    if (url.pathname.startsWith('/v1/')) {
      if (!isAdmin && !isTenant) return json(401, { code: 'unauthorized', detail: 'No.' });
      const [, repo] = url.pathname.split(`/v1/tenants/${this.tenant}/repos/`);
      const isEmpty = { limitBytes: null, storedBytes: 0, objectCount: 0, scannedAt: '2026-11-21T05:00:00Z' };
      if (repo) return json(200, { repo, ...isEmpty });
      if (url.pathname !== `/v1/tenants/${this.tenant}/objects`)
        return json(404, { code: 'tenant-not-found', detail: 'There is no such tenant.' });
      return json(200, this.#page(url.searchParams));
    }
    this.batches += 1;
    this.onBatch();
    const status = this.batchStatuses.shift();
    if (status !== undefined) return json(status, { message: 'Try again.', request_id: '1' });
    if (!isTenant) return json(401, { message: 'Unknown credentials.', request_id: '1' });
    if (first !== this.tenant || this.closedRepos.has(second))
      return json(404, { message: 'There is no such repo.', request_id: '1' });
    json(200, this.#offers(second, JSON.parse(Buffer.concat(chunks).toString())));
  }

  #page(query: URLSearchParams) {
    this.lists += 1;
    const repo = query.get('repo');
    const all = this.objects
      .filter((object) => repo === null || object.repo === repo)
      .sort((a, b) => (`${a.repo}/${a.oid}` < `${b.repo}/${b.oid}` ? -1 : 1))
      .map((object) => ({
        repo: object.repo,
        oid: object.oid,
        sizeBytes: this.sizeOf(object),
        storedAt: null,
      }));
    // Small pages, so that there are several.
    const from = Number(query.get('cursor')?.slice(1) ?? 0);
    return {
      objects: all.slice(from, from + 7),
      others: [],
      nextCursor: all.length > from + 7 ? `c${from + 7}` : null,
    };
  }

  #offers(repo: string, { objects }: { objects: { oid: string; size: number }[] }) {
    return {
      transfer: 'basic',
      hash_algo: 'sha256',
      objects: objects.map(({ oid, size }) => {
        const found = this.objects.find((object) => object.oid === oid && object.repo === repo);
        if (!found || this.gone.has(oid))
          return { oid, size, error: { code: 404, message: 'The object is not stored here.' } };
        if (found.bytes.length !== size)
          return { oid, size, error: { code: 422, message: 'The object is stored with another size.' } };
        const href = `${this.#url}/store/${oid}`.replace('//', `//${this.secretHost}`);
        const download = { href, header: { 'x-signed': 'yes' }, expires_in: 1800 };
        return { oid, size, authenticated: true, actions: { download } };
      }),
    };
  }

  #get(oid: string, request: IncomingMessage, response: ServerResponse): void {
    const range = this.knowsRanges ? request.headers.range : undefined;
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    const times = this.gets.filter((get) => get.oid === oid).length;
    this.gets.push({ oid, from });
    const oddity = this.onGet(oid, times);
    if (oddity === 'hang') return;
    const object = this.objects.find((each) => each.oid === oid);
    if (!object || request.headers['x-signed'] !== 'yes') {
      response.writeHead(403).end();
      return;
    }
    if (oddity && 'status' in oddity) {
      response.writeHead(oddity.status).end(oddity.body);
      return;
    }
    const bytes = oddity && 'bytes' in oddity ? oddity.bytes : object.bytes;
    const last = bytes.length - 1;
    response.writeHead(range === undefined ? 200 : 206, {
      'content-length': bytes.length - from,
      ...(range !== undefined && {
        'content-range': `bytes ${from}-${last}/${bytes.length}`,
      }),
    });
    if (oddity && 'cutAt' in oddity) {
      response.write(bytes.subarray(from, oddity.cutAt));
      const timer = setInterval(() => {
        if (!oddity.hasArrived()) return;
        clearInterval(timer);
        response.destroy();
      }, 10);
    } else response.end(bytes.subarray(from));
  }
}
