import { randomBytes } from 'node:crypto';
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { request as secureRequest } from 'node:https';
import { expect } from 'vitest';
import { z } from 'zod';
import type { StandInHost } from '../support/git-host.ts';
import type { TestIssuer } from '../support/identity-issuer.ts';

/** A repo that the stack's setting has in the bucket where another server put it. */
export interface AdoptedRepo {
  readonly tenant: string;
  readonly repo: string;
  readonly path: string;
  readonly names: 'oid' | 'ab/cd/rest' | 'ab/cd/oid';
}

/** A stack that the black-box suite is run against, as its clients see it. */
export interface Target {
  /** Of the API, without a closing slash. */
  readonly url: string;
  readonly adminToken: string;
  /**
   * LIST requests below this tenant's path that the store has served so far. Omitted where nobody counts
   * them: what is said about them is skipped then.
   */
  readonly listRequests?: (tenant: string) => number;
  /** Puts an object into the store around the API. Omitted where nobody can: what needs it is skipped then. */
  readonly putObject?: (key: string, content: Buffer) => Promise<void>;
  /** The keys in the store that begin with this prefix. Omitted where nobody can list it. */
  readonly storedKeys?: (prefix: string) => Promise<readonly string[]>;
  /** What {@link adoptedReposOf} has, as a setting of the stack. Omitted where it has no adopted repos. */
  readonly adoptedRepos?: readonly AdoptedRepo[];
  /** Objects from which on a repo is counted by shards. Omitted where that takes too many: what needs it is skipped then. */
  readonly largeRepoObjects?: number;
  /** How long after the last verify usage may differ from what is stored; 30 s where it is omitted. */
  readonly scannedWithinMs?: number;
  /** Signs identity tokens that the stack takes. Omitted where it takes nobody's that we can sign. */
  readonly issuer?: TestIssuer;
  /** What the stack calls itself, where something before it has another address. */
  readonly ownUrl?: string;
  /** The stack's only git host, called `forge`. Omitted where it has none that we can speak for. */
  readonly gitHost?: StandInHost;
  /** Its people can sign in, too. */
  readonly signsIn?: true;
  /** For how long the stack keeps what a git host said. */
  readonly hostUserKeptMs?: number;
  /** Certificate authority of the API and the store, where it is none that Node knows. */
  readonly ca?: Buffer;
}

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

/** Who isn't answered by then never will be. On a busy machine, 50 functions that start at once take longer than a gateway waits. */
const hangMs = 180_000;

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

/**
 * One request as it is written: no library in between tidies up the path or adds a header.
 *
 * @throws where no answer comes.
 */
function exchange(sent: Sent): Promise<Answer> {
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

type ApiRequest = Omit<Sent, 'href' | 'ca'> & { readonly path: string };

export interface TestTenant {
  readonly tenant: string;
  readonly writeToken: string;
  readonly readToken: string;
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

export const basic = (token: string, user = 'any') => ({
  authorization: `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`,
});

export function jsonOf(answer: Answer): unknown {
  return JSON.parse(answer.text);
}

/** The API of a target. What holds for every answer, whatever was asked, is checked here. */
export class Api {
  readonly target: Target;

  constructor(target: Target) {
    this.target = target;
  }

  async send({ path, ...request }: ApiRequest): Promise<Answer> {
    const answer = await this.follow(`${this.target.url}${path}`, request);
    const asked = `${request.method} ${path}`;
    // 509 is an answer of the LFS API: the month's downloads are used up. And a git host may be down.
    const isExpected =
      answer.status === 509 || /Can't reach \S+ to check your token|"git-host-unavailable"/.test(answer.text);
    if (!isExpected) expect(answer.status, `${asked}: ${answer.text}`).toBeLessThan(500);
    // A client that knows no header of LFS logs in by it (RFC 9110, 15.5.2). Of the management API a browser asks nothing.
    const scheme = path.includes('/info/lfs/') ? 'Basic' : 'Bearer';
    const challenge = answer.status === 401 ? `${scheme} realm="lfs-quota"` : undefined;
    expect(answer.headers['www-authenticate'], asked).toBe(challenge);
    // A client that reads no status would take `hash_algo` or a page of HTML for objects.
    const isText = isPage(path) || path.endsWith('?format=csv');
    if (!isText) expect(answer.headers['content-type'] ?? 'application/json', asked).toMatch(/json/);
    for (const secret of presented(request.headers?.['authorization'])) {
      expect(answer.text, `${asked} echoes its credentials`).not.toContain(secret);
      expect(JSON.stringify(answer.headers), `${asked} echoes its credentials`).not.toContain(secret);
    }
    return answer;
  }

  /** A link that the API gave. */
  follow(href: string, request: Omit<Sent, 'href' | 'ca'>): Promise<Answer> {
    const { ca } = this.target;
    return exchange({ ...request, href, ...(ca && { ca }) });
  }

  /** A request with a body in JSON, or none, by whoever the headers say. */
  as(who: Record<string, string>, method: string, path: string, body?: unknown): Promise<Answer> {
    const headers = { 'content-type': 'application/json', ...who };
    return this.send({ method, path, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  }

  /** A request of the operator. */
  manage(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.as(bearer(this.target.adminToken), method, path, body);
  }

  /** A new tenant with a token of each scope. Its name is one that no other run uses. */
  async newTenant(account: { limitBytes?: number | null; plan?: string } = {}): Promise<TestTenant> {
    const tenant = newName();
    const created = await this.manage('POST', '/v1/tenants', { tenant, ...account });
    expect(created.status, created.text).toBe(201);
    const [write, read] = [
      await this.newToken(tenant, { scope: 'write' }),
      await this.newToken(tenant, { scope: 'read' }),
    ];
    return { tenant, writeToken: write.token, readToken: read.token };
  }

  /** Where a new tenant pushes to. */
  async newPlace(
    account: { limitBytes?: number | null; plan?: string } = {},
  ): Promise<TestTenant & { repo: string }> {
    return { ...(await this.newTenant(account)), repo: 'game' };
  }

  async newToken(tenant: string, body: object): Promise<{ tokenId: string; token: string }> {
    const created = await this.manage('POST', `/v1/tenants/${tenant}/tokens`, body);
    expect(created.status, created.text).toBe(201);
    return z.object({ tokenId: z.string(), token: z.string() }).parse(jsonOf(created));
  }
}

/** The console, which is for browsers. */
const isPage = (path: string) => /^\/(assets\/[^/]*|sign-in\/[^/]*)?(\?.*)?$/.test(path);

export function newName(): string {
  return `bb-${randomBytes(8).toString('hex')}`;
}

/** The secrets of an Authorization header, as they stand there and decoded. */
function presented(authorization = ''): string[] {
  const [scheme = '', text = ''] = authorization.split(' ');
  const decoded = scheme === 'Basic' ? Buffer.from(text, 'base64').toString('utf8') : '';
  const password = decoded.slice(decoded.indexOf(':') + 1);
  return [text, password].filter((secret) => secret.length >= 8);
}

const lfsType = 'application/vnd.git-lfs+json';

export function expectStatus(answer: Answer, status: number): void {
  expect(answer.status, answer.text).toBe(status);
}

/** What an answer of this status says. */
export function bodyOf<T>(answer: Answer, status: number, shape: z.ZodType<T>): T {
  expectStatus(answer, status);
  return shape.parse(jsonOf(answer));
}

/** An error of the LFS API: the message is all that a person sees of it. */
export function expectLfsError(answer: Answer, status: number, message?: RegExp): void {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers['content-type']).toBe(lfsType);
  expect(jsonOf(answer)).toEqual({
    message: message ? expect.stringMatching(message) : expect.stringMatching(/\w+ \w+/),
    request_id: expect.stringMatching(/./),
  });
  if (status === 401) expect(answer.headers['lfs-authenticate']).toBe('Basic realm="lfs-quota"');
}

/** An error of the management API (RFC 9457). */
export function expectProblem(answer: Answer, status: number, detail?: RegExp): void {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect(jsonOf(answer)).toEqual({
    type: expect.stringMatching(/^urn:lfs-quota:problem:[a-z-]+$/),
    code: expect.stringMatching(/^[a-z-]+$/),
    title: expect.stringMatching(/^[A-Z]/),
    status,
    detail: detail ? expect.stringMatching(detail) : expect.stringMatching(/\w+ \w+/),
  });
}

/** What two answers may not differ in, if nobody is to tell them apart. */
export function comparable(answer: Answer): unknown {
  // The length is the text's.
  const { date: _, 'apigw-requestid': __, 'content-length': ___, ...headers } = answer.headers;
  return {
    status: answer.status,
    headers,
    text: answer.text
      .replace(/"request_id":"[^"]*"/, '"request_id":"…"')
      // A repo as it was asked for.
      .replace(/lfs-quota connect \S+ \S+,/, 'lfs-quota connect …,'),
  };
}

/**
 * All that a list has, page by page, each asked for with the cursor of the one before.
 *
 * @param itemsOf what a page has. It may be no more than `pageMax`.
 */
export async function allPages<P extends { nextCursor?: string | null; next_cursor?: string | undefined }, T>(
  pageMax: number,
  pageAfter: (cursor: string | undefined) => Promise<P>,
  itemsOf: (page: P) => readonly T[],
): Promise<T[]> {
  const found: T[] = [];
  let cursor: string | undefined;
  for (let pages = 1; pages === 1 || cursor !== undefined; pages += 1) {
    expect(pages, 'pages that do not end').toBeLessThan(1000);
    const page: P = await pageAfter(cursor);
    expect(itemsOf(page).length).toBeLessThanOrEqual(pageMax);
    found.push(...itemsOf(page));
    cursor = page.nextCursor ?? page.next_cursor;
  }
  return found;
}

/** A query for a page of at most so many, after a cursor. */
export const pageQuery = (limit: number, cursor: string | undefined) =>
  `limit=${limit}${cursor === undefined ? '' : `&cursor=${cursor}`}`;

/** What several tests need, done for the first of them that asks: so they can run in any order, and alone. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}
