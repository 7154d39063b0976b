import { createHash } from 'node:crypto';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

interface Reply {
  readonly status: number;
  readonly text: string;
}

/** What a batch says of an object that is to be uploaded. */
export interface Upload {
  readonly href: string;
  readonly header?: Record<string, string>;
}

/** What a batch says of an object, in the order that was asked. */
interface BatchObject {
  readonly content: string;
  readonly oid: string;
  readonly actions?: Partial<Record<'upload' | 'download' | 'verify', Upload>>;
  readonly error?: { readonly code: number; readonly message: string };
}

export const oidOf = (content: string) => createHash('sha256').update(content).digest('hex');

const lfsType = 'application/vnd.git-lfs+json';

/** A repo, and who uses it. */
export interface Repo {
  readonly tenant: string;
  readonly repo: string;
  readonly token: string;
}

/** Many clients of a server, on connections that they keep. Not `fetch`, which takes as much of the machine as the server. */
export class LoadClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 48 });
  readonly #url: string;
  readonly #adminToken: string;
  /** Requests that were answered. */
  answers = 0;

  constructor(server: { url: string; adminToken: string }) {
    this.#url = server.url;
    this.#adminToken = server.adminToken;
  }

  /** @throws if there is no whole answer. */
  async send(
    method: string,
    href: string,
    { headers = {}, body = '' }: { headers?: Record<string, string>; body?: string } = {},
  ): Promise<Reply> {
    const url = href.startsWith('/') ? `${this.#url}${href}` : href;
    const length = method === 'GET' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { method, headers: { ...length, ...headers }, agent: this.#agent };
      request(url, options, resolve).on('error', reject).end(body);
    });
    const reply = { status: answer.statusCode ?? 0, text: await text(answer) };
    this.answers += 1;
    return reply;
  }

  /** The operator's. */
  manage(method: string, path: string, body?: object): Promise<Reply> {
    const headers = { authorization: `Bearer ${this.#adminToken}`, 'content-type': 'application/json' };
    return this.send(method, `/v1/tenants${path}`, { headers, body: body ? JSON.stringify(body) : '' });
  }

  /** What git-lfs asks of a repo. */
  lfs({ tenant, repo, token }: Repo, method: string, path: string, body: object = {}): Promise<Reply> {
    const authorization = `Basic ${Buffer.from(`any:${token}`).toString('base64')}`;
    const headers = { authorization, accept: lfsType, 'content-type': lfsType };
    const href = `/${tenant}/${repo}.git/info/lfs${path}`;
    return this.send(method, href, { headers, body: method === 'GET' ? '' : JSON.stringify(body) });
  }

  /** What may be done with each of some objects. @throws if the batch is refused. */
  async batch(
    repo: Repo,
    operation: 'upload' | 'download',
    contents: readonly string[],
  ): Promise<BatchObject[]> {
    const wanted = contents.map((content) => ({ oid: oidOf(content), size: Buffer.byteLength(content) }));
    const body = { operation, transfers: ['basic'], ref: { name: 'refs/heads/main' }, objects: wanted };
    const { status, text: answered } = await this.lfs(repo, 'POST', '/objects/batch', body);
    if (status !== 200) throw new Error(`batch: ${status} ${answered}`);
    const { objects } = JSON.parse(answered) as { objects: Omit<BatchObject, 'content'>[] };
    return objects.map((object, index) => ({ ...object, content: contents[index] ?? '' }));
  }

  close(): void {
    this.#agent.destroy();
  }
}
