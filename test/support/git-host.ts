import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Levels by which stand-ins of all kinds are told what somebody may do. */
type Level = 'none' | 'read' | 'write';

interface StandInRepository {
  id: number;
  /** The number of whose it is. */
  readonly ownerId: number;
  isPrivate: boolean;
  /** Login → what they may do. */
  readonly people: Map<string, Level>;
}

interface StandInOrganization {
  readonly id: number;
  readonly name: string;
  /** Login → what they are to it. */
  readonly people: Readonly<Record<string, 'owner' | 'member'>>;
}

/** What a person has approved, until it is traded. */
interface StandInCode {
  readonly login: string;
  readonly challenge: string | null;
  readonly redirectUri: string;
}

type GitHostKind = 'github' | 'gitlab' | 'gitea';

/** As a setting of the stack. */
export interface GitHost {
  readonly id: string;
  readonly kind: GitHostKind;
  readonly url: string;
  readonly signIn?: { readonly clientId: string; readonly clientSecretArn: string };
}

/** The app of the deployment at a stand-in. */
export const standInApp = { clientId: 'lfs-quota-app', clientSecret: 'forge-token-of-the-app' };

/**
 * A stand-in for a host of git repositories: the routes that are asked, as the documentation of each kind has them, with
 * people, their tokens, organizations and repositories that a test sets.
 */
export class StandInHost {
  readonly kind: GitHostKind;
  /** Who uses the browser that comes to its pages. They approve at once. */
  browserUser: { id: number; login: string } | undefined;
  /** Tokens that were given for codes, and those of them that were revoked. */
  readonly given: string[] = [];
  readonly revoked: string[] = [];
  readonly #codes = new Map<string, StandInCode>();
  readonly #organizations = new Map<number, StandInOrganization>();
  /** What it was asked: method, path, and whether with a known token. */
  readonly requests: string[] = [];
  /** `down`: every request is answered 503. `limited`: 429. */
  state: 'up' | 'down' | 'limited' = 'up';
  /** oid → where its bytes are, of the objects that its repositories have. */
  readonly objects = new Map<string, { size: number; href: string }>();
  readonly #tokens = new Map<string, { id: number; login: string }>();
  readonly #people = new Map<string, number>();
  readonly #repositories = new Map<string, StandInRepository>();

  constructor(kind: GitHostKind) {
    this.kind = kind;
  }

  /** Gives somebody a token. */
  person(input: { id: number; login: string; token: string }): void {
    this.#tokens.set(input.token, { id: input.id, login: input.login });
  }

  revoke(token: string): void {
    this.#tokens.delete(token);
  }

  repository(
    name: string,
    input: { id: number; ownerId?: number; isPrivate?: boolean; people: Record<string, Level> },
  ): void {
    const { people, isPrivate = true, ownerId = 5000, ...rest } = input;
    this.#repositories.set(name, { ...rest, ownerId, isPrivate, people: new Map(Object.entries(people)) });
  }

  /** Creates or changes one. */
  organization(organization: StandInOrganization): void {
    this.#organizations.set(organization.id, organization);
  }

  /**
   * What a browser does at the page of a sign-in when somebody approves.
   *
   * @returns where it is sent back to.
   */
  approve(url: string, { id, login }: { id: number; login: string }): URL {
    const query = new URL(url).searchParams;
    if (query.get('client_id') !== standInApp.clientId || query.get('response_type') !== 'code')
      throw new Error(`The stand-in knows no app of ${url}.`);
    const code = `code-${randomBytes(16).toString('hex')}`;
    const redirectUri = query.get('redirect_uri') ?? '';
    this.#people.set(login, id);
    this.#codes.set(code, { login, challenge: query.get('code_challenge'), redirectUri });
    const back = new URL(redirectUri);
    back.searchParams.set('code', code);
    back.searchParams.set('state', query.get('state') ?? '');
    return back;
  }

  /** The answer to a code. GitHub says 200, whatever it is. */
  #trade(body: URLSearchParams): [number, object] {
    const code = body.get('code') ?? '';
    const found = this.#codes.get(code);
    this.#codes.delete(code);
    const challenge = createHash('sha256')
      .update(body.get('code_verifier') ?? '')
      .digest('base64url');
    const isRight =
      found !== undefined &&
      body.get('grant_type') === 'authorization_code' &&
      body.get('client_id') === standInApp.clientId &&
      body.get('client_secret') === standInApp.clientSecret &&
      body.get('redirect_uri') === found.redirectUri &&
      found.challenge === challenge;
    if (!isRight) return [this.kind === 'github' ? 200 : 400, { error: 'invalid_grant' }];
    const token = `forge-token-${randomBytes(16).toString('hex')}`;
    this.given.push(token);
    this.person({ id: this.#people.get(found.login) ?? 0, login: found.login, token });
    return [200, { access_token: token, token_type: 'bearer', refresh_token: 'never used' }];
  }

  #lists(path: string, login: string): object[] | undefined {
    const { pathname, searchParams: query } = new URL(path, 'http://host');
    const own = [...this.#organizations.values()].filter(({ people }) => people[login] !== undefined);
    const isOwner = (organization: StandInOrganization) => organization.people[login] === 'owner';
    if (this.kind === 'github' && pathname === '/user/memberships/orgs')
      return own.map((each) => ({
        state: 'active',
        role: isOwner(each) ? 'admin' : 'member',
        organization: { id: each.id, login: each.name },
      }));
    if (this.kind === 'gitea' && pathname === '/user/teams')
      return query.get('page') === '2'
        ? []
        : own.map((each) => ({
            permission: isOwner(each) ? 'owner' : 'write',
            organization: { id: each.id, name: each.name },
          }));
    if (this.kind === 'gitlab' && pathname === '/groups')
      return own
        .filter((each) => query.get('min_access_level') !== '50' || isOwner(each))
        .map((each) => ({ id: each.id, full_path: each.name }));
    return undefined;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const path = request.url ?? '';
    if (request.method === 'GET' && /^(\/login)?\/oauth\/authorize\?/.test(path) && this.browserUser) {
      const back = this.approve(`http://host${path}`, this.browserUser);
      return void response.writeHead(302, { location: back.href }).end();
    }
    if (request.method === 'POST' && /^\/(login\/oauth\/access_token|oauth\/token)$/.test(path)) {
      this.requests.push(`POST ${path}`);
      const [status, answer] = this.state === 'down' ? [503, {}] : this.#trade(new URLSearchParams(body));
      return void response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify(answer));
    }
    const ended =
      request.method === 'DELETE' && path === `/applications/${standInApp.clientId}/token`
        ? (JSON.parse(body) as { access_token: string }).access_token
        : request.method === 'POST' && path === '/oauth/revoke' && new URLSearchParams(body).get('token');
    if (ended) {
      this.revoked.push(ended);
      this.#tokens.delete(ended);
      return void response
        .writeHead(this.kind === 'github' ? 204 : 200)
        .end(this.kind === 'github' ? '' : '{}');
    }
    const [, lfs] = /^\/(.+)\.git\/info\/lfs\/objects\/batch$/.exec(path) ?? [];
    if (lfs !== undefined) return void this.#answerLfs(lfs, request, { body, response });
    this.#answerApi(request, response);
  }

  /** The LFS API takes Basic alone. */
  #answerLfs(
    name: string,
    { url, headers: { authorization = '' } }: IncomingMessage,
    { body, response }: { body: string; response: ServerResponse },
  ): void {
    const [scheme, value = ''] = authorization.split(' ');
    const login = Buffer.from(value, 'base64').toString('utf8');
    const person = scheme === 'Basic' ? this.#tokens.get(login.slice(login.indexOf(':') + 1)) : undefined;
    this.requests.push(`POST ${url}${person ? '' : ' (unknown token)'}`);
    const reply = (status: number, answer: object) =>
      void response
        .writeHead(status, { 'content-type': 'application/vnd.git-lfs+json' })
        .end(JSON.stringify(answer));
    if (this.state === 'down') return void reply(503, {});
    if (!person) return void reply(401, { message: 'Credentials needed' });
    if (!this.#repositories.get(name)?.people.has(person.login))
      return void reply(404, { message: 'Not Found' });
    const asked = JSON.parse(body) as { objects: { oid: string; size: number }[] };
    const objects = asked.objects.map(({ oid, size }) => {
      const found = this.objects.get(oid);
      return found?.size === size
        ? { oid, size, actions: { download: { href: found.href, expires_in: 600 } } }
        : { oid, size, error: { code: 404, message: 'Object does not exist' } };
    });
    reply(200, { transfer: 'basic', objects });
  }

  #answerApi(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const person = this.#tokens.get(token);
    this.requests.push(
      `${request.method} ${path}${person ? '' : request.headers.authorization === undefined ? ' (nobody)' : ' (unknown token)'}`,
    );
    const reply = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (this.state === 'down') return void reply(503, {});
    if (this.state === 'limited')
      return void response.writeHead(429, { 'retry-after': '7' }).end('slow down');
    const isNobody = request.headers.authorization === undefined;
    if (!person && !isNobody) return void reply(401, { message: 'Bad credentials' });
    const base = { github: '', gitea: '/api/v1', gitlab: '/api/v4' }[this.kind];
    if (!path.startsWith(base)) return void reply(404, {});
    const rest = path.slice(base.length);
    if (rest === '/user') {
      if (!person) return void reply(401, {});
      const { id, login } = person;
      return void reply(
        200,
        this.kind === 'gitlab' ? { id, username: login, state: 'active' } : { id, login },
      );
    }
    const list = person && this.#lists(rest, person.login);
    if (list) return void reply(200, list);
    const found = this.#find(rest);
    const level = found?.repository.people.get(person?.login ?? '') ?? 'none';
    if (!found || (level === 'none' && found.repository.isPrivate))
      return void reply(404, { message: 'Not Found' });
    if (found.isMember)
      return void (!person || level === 'none'
        ? reply(404, {})
        : reply(200, { id: person.id, access_level: level === 'write' ? 30 : 20, state: 'active' }));
    reply(200, this.#bodyOf(found.repository, level));
  }

  #find(rest: string): { repository: StandInRepository; isMember: boolean } | undefined {
    const [, escaped = '', member] =
      this.kind === 'gitlab'
        ? (/^\/projects\/([^/]+)(\/members\/all\/\d+)?$/.exec(rest) ?? [])
        : (/^\/repos\/([^/]+\/[^/]+)$/.exec(rest) ?? []);
    const repository = this.#repositories.get(decodeURIComponent(escaped));
    return repository && { repository, isMember: member !== undefined };
  }

  #bodyOf({ id, ownerId, isPrivate }: StandInRepository, level: Level): object {
    if (this.kind === 'gitlab') {
      const access =
        level === 'none' ? null : { access_level: level === 'write' ? 30 : 20, notification_level: 3 };
      return {
        id,
        namespace: { id: ownerId },
        visibility: isPrivate ? 'private' : 'public',
        archived: false,
        permissions: { project_access: access, group_access: null },
      };
    }
    const permissions = { admin: false, push: level === 'write', pull: true };
    return { id, owner: { id: ownerId }, private: isPrivate, archived: false, permissions };
  }
}

/**
 * A stand-in that listens on a port of this machine, and how a stack is told of it.
 *
 * @returns `withSignIn`: the setting by which its people can sign in, under `npm start`.
 * @param tls for https: its key, and a certificate for 127.0.0.1 that the stack trusts.
 */
export async function startStandInHost(
  kind: GitHostKind = 'gitea',
  id = 'forge',
  tls?: { readonly key: Buffer; readonly cert: Buffer },
): Promise<{ host: StandInHost; setting: GitHost; withSignIn: GitHost; close: () => Promise<void> }> {
  const host = new StandInHost(kind);
  const answer = (request: IncomingMessage, response: ServerResponse) => void host.answer(request, response);
  const server = tls
    ? createSecureServer({ ...tls, keepAliveTimeout: 60_000 }, answer)
    : createServer({ keepAliveTimeout: 60_000 }, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const folder = mkdtempSync(join(tmpdir(), 'stand-in-host-'));
  const clientSecretArn = join(folder, 'secret');
  writeFileSync(clientSecretArn, `${standInApp.clientSecret}\n`);
  const close = () =>
    new Promise<void>((resolve) => {
      rmSync(folder, { recursive: true });
      server.closeAllConnections();
      server.close(() => resolve());
    });
  const setting = { id, kind, url };
  const { clientId } = standInApp;
  return { host, setting, withSignIn: { ...setting, signIn: { clientId, clientSecretArn } }, close };
}
