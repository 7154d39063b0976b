import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { z } from 'zod';
import { type Answer, exchange, type Sent } from './exchange.ts';
import type { Target } from './target.ts';

export type ApiRequest = Omit<Sent, 'href' | 'ca'> & { readonly path: string };

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
    const isExpected = answer.status === 509 || /does not answer, so your token/.test(answer.text);
    if (!isExpected) expect(answer.status, `${asked}: ${answer.text}`).toBeLessThan(500);
    expect(answer.headers, asked).not.toHaveProperty('www-authenticate');
    // A client that reads no status would take `hash_algo` or a page of HTML for objects.
    if (!isPage(path)) expect(answer.headers['content-type'] ?? 'application/json', asked).toMatch(/json/);
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

  /** A request of the operator. */
  manage(method: string, path: string, body?: unknown): Promise<Answer> {
    const headers = { ...bearer(this.target.adminToken), 'content-type': 'application/json' };
    return this.send({ method, path, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
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

  async newToken(tenant: string, body: object): Promise<{ tokenId: string; token: string }> {
    const created = await this.manage('POST', `/v1/tenants/${tenant}/tokens`, body);
    expect(created.status, created.text).toBe(201);
    return z.object({ tokenId: z.string(), token: z.string() }).parse(jsonOf(created));
  }
}

/** The console, which is for browsers. */
const isPage = (path: string) => /^\/(assets\/[^/]*)?(\?.*)?$/.test(path);

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
