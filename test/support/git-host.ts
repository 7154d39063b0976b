import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { GitHost, GitHostKind } from '../../lambda/accounts/rules/git-hosts.ts';

/** Levels by which stand-ins of all kinds are told what somebody may do. */
type Level = 'none' | 'read' | 'write';

interface StandInRepository {
  id: number;
  isPrivate: boolean;
  /** Login → what they may do. */
  readonly people: Map<string, Level>;
}

/**
 * A stand-in for a host of git repositories: the two or three routes that are asked, as the documentation of each kind has
 * them, with people, their tokens and repositories that a test sets.
 */
export class StandInHost {
  readonly kind: GitHostKind;
  /** What it was asked: method, path, and whether with a known token. */
  readonly requests: string[] = [];
  /** `down`: every request is answered 503. `limited`: 429. */
  state: 'up' | 'down' | 'limited' = 'up';
  readonly #tokens = new Map<string, { id: number; login: string }>();
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

  repository(name: string, input: { id: number; isPrivate?: boolean; people: Record<string, Level> }): void {
    const { id, isPrivate = true, people } = input;
    this.#repositories.set(name, { id, isPrivate, people: new Map(Object.entries(people)) });
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const person = this.#tokens.get(token);
    this.requests.push(`${request.method} ${path}${person ? '' : ' (unknown token)'}`);
    const reply = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (this.state === 'down') return void reply(503, {});
    if (this.state === 'limited')
      return void response.writeHead(429, { 'retry-after': '7' }).end('slow down');
    if (!person) return void reply(401, { message: 'Bad credentials' });
    const base = { github: '', gitea: '/api/v1', gitlab: '/api/v4' }[this.kind];
    if (!path.startsWith(base)) return void reply(404, {});
    const rest = path.slice(base.length);
    if (rest === '/user') {
      const { id, login } = person;
      return void reply(
        200,
        this.kind === 'gitlab' ? { id, username: login, state: 'active' } : { id, login },
      );
    }
    const found = this.#find(rest);
    const level = found?.repository.people.get(person.login) ?? 'none';
    if (!found || (level === 'none' && found.repository.isPrivate))
      return void reply(404, { message: 'Not Found' });
    if (found.isMember)
      return void (level === 'none'
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

  #bodyOf({ id, isPrivate }: StandInRepository, level: Level): object {
    if (this.kind === 'gitlab') {
      const access =
        level === 'none' ? null : { access_level: level === 'write' ? 30 : 20, notification_level: 3 };
      return {
        id,
        visibility: isPrivate ? 'private' : 'public',
        archived: false,
        permissions: { project_access: access, group_access: null },
      };
    }
    const permissions = { admin: false, push: level === 'write', pull: true };
    return { id, private: isPrivate, archived: false, permissions };
  }
}

/**
 * A stand-in that listens on a port of this machine, and how a stack is told of it.
 *
 * @param tls for https: its key, and a certificate for 127.0.0.1 that the stack trusts.
 */
export async function startStandInHost(
  kind: GitHostKind = 'gitea',
  id = 'forge',
  tls?: { readonly key: Buffer; readonly cert: Buffer },
): Promise<{ host: StandInHost; setting: GitHost; close: () => Promise<void> }> {
  const host = new StandInHost(kind);
  const answer = (request: IncomingMessage, response: ServerResponse) => host.answer(request, response);
  const server = tls ? createSecureServer(tls, answer) : createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return { host, setting: { id, kind, url }, close };
}
