import * as z from 'zod';
import { sameDigest, sha256Hex } from '../../core/rules/hash.ts';
import type { GitHost, GitHostKind } from './rules/git-hosts.ts';
import {
  GitHostUnavailableError,
  type HostAccess,
  type HostAnswer,
  type HostClient,
  type HostRefusal,
} from './rules/host-client.ts';

/** A number of a host, as text. */
export const numberId = z.int().min(1).transform(String);

/** What somebody is called: shown to others, so it has no line breaks and the like. */
export const login = z
  .string()
  .min(1)
  .transform((text) => [...text.replace(/[\p{C}\p{Z}]/gu, '')].slice(0, 100).join(''))
  .refine((text) => text !== '');

/** What GitHub and Gitea tell of a person. */
export const accountShape = z.object({ id: numberId, login });

/** What GitHub and Gitea tell of a repository. */
const repositoryShape = z.object({
  id: numberId,
  owner: z.object({ id: numberId }),
  private: z.boolean(),
  archived: z.boolean().default(false),
  /** Of the person who asks. Absent: they are nobody to it. */
  permissions: z
    .object({ pull: z.boolean(), push: z.boolean(), triage: z.boolean().optional() })
    .nullish()
    .transform((permissions) => permissions ?? { pull: false, push: false }),
});

/** For all that is asked about one token together. */
export const answerMs = 3_000;
/** GitHub tells some 7 kB of a repository, or three times that of a fork. */
const bodyBytesMax = 100_000;

/** One answer of a host. */
export interface Got {
  readonly status: number;
  readonly headers: Pick<Headers, 'get'>;
  /** Of a 200 alone: what its JSON says. */
  readonly body: unknown;
}

/** How a host is asked. */
interface Asking {
  /** Of the API, without a closing slash. */
  readonly url: string;
  readonly token: string;
  readonly signal: AbortSignal;
  /** What it answered when it was asked who it is. Without it, it's asked. */
  readonly user?: Promise<Got>;
}

/** What an API wants with each request. */
export const apiHeaders: Readonly<Record<GitHostKind, Readonly<Record<string, string>>>> = {
  github: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
  gitlab: {},
  gitea: {},
};

interface Sent {
  /** Escaped. */
  readonly url: string;
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | string;
  /** Of the answer. */
  readonly bytesMax?: number;
  readonly signal: AbortSignal;
}

/** Gets JSON of a kind's API with a person's token. */
function getJson({ url, token, signal }: Asking, kind: GitHostKind, path: string): Promise<Got> {
  const headers = { ...apiHeaders[kind], authorization: `Bearer ${token}` };
  return requestJson({ url: url + path, headers, signal });
}

/**
 * Sends one request to a host. It is not followed elsewhere: what it has is for this host alone.
 *
 * @throws {GitHostUnavailableError} there is no whole answer, or a 200 is not JSON.
 */
export async function requestJson(sent: Sent): Promise<Got> {
  const { url, method = 'GET', headers, body, bytesMax = bodyBytesMax, signal } = sent;
  try {
    const response = await fetch(url, {
      method,
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal,
      headers: {
        accept: 'application/json',
        'user-agent': 'lfs-quota',
        // What is compressed may be anything in size.
        'accept-encoding': 'identity',
        ...headers,
      },
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return { status: response.status, headers: response.headers, body: undefined };
    }
    return { status: 200, headers: response.headers, body: JSON.parse(await textOf(response, bytesMax)) };
  } catch (error) {
    throw new GitHostUnavailableError(`A git host returned an unexpected response: ${whyOf(error, signal)}.`);
  }
}

async function textOf(response: Response, bytesMax: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body ?? []) {
    length += piece.byteLength;
    if (length > bytesMax) throw new TooLongError(String(bytesMax));
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

class TooLongError extends Error {}

/** In our words: what `fetch` says may quote a header or an address. */
function whyOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'it takes too long';
  if (error instanceof TooLongError) return `it sent more than ${error.message} bytes`;
  if (error instanceof SyntaxError) return 'it sent no JSON';
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : 'the connection broke';
}

/** git-lfs gives up if it is to wait longer than this. */
const retryAfterMaxMs = 300_000;
const retryAfterMinMs = 1_000;

type Refusal = Exclude<HostAnswer, { kind: 'granted' }>;

/** What a host says of a token and a repository. */
type HostFindings =
  | {
      readonly kind: 'found';
      readonly userId: string;
      readonly login: string;
      readonly access: HostAccess;
      readonly linkedId: string;
      readonly organizationId: string;
      readonly isPublic: boolean;
    }
  | Refusal;

/**
 * What an answer other than 200 means. undefined: it is a 200.
 *
 * @throws {GitHostUnavailableError} the host is in trouble.
 */
export function refusalOf(got: Got, nowMs: number): Refusal | undefined {
  const { status, headers } = got;
  if (status === 200) return undefined;
  if (status === 429 || (status === 403 && isUsedUp(headers)))
    return { kind: 'limited', retryAfterMs: retryAfterOf(headers, nowMs) };
  if (status === 401) return { kind: 'refused', reason: 'token-rejected' };
  if (status === 403) return { kind: 'refused', reason: 'token-too-small' };
  if (status >= 300 && status < 400) return { kind: 'refused', reason: 'moved' };
  if (status >= 500 || status === 408)
    throw new GitHostUnavailableError(`A git host returned an unexpected response: ${status}.`);
  return { kind: 'refused', reason: 'no-access' };
}

/** A 403 says that the limit of requests is reached by these headers, and by others what it always says. */
function isUsedUp(headers: Got['headers']): boolean {
  return headers.get('retry-after') !== null || headers.get('x-ratelimit-remaining') === '0';
}

function retryAfterOf(headers: Got['headers'], nowMs: number): number {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const resetMs = 1000 * Number(headers.get('x-ratelimit-reset') ?? Number.NaN);
  const waitMs = Number.isFinite(seconds) ? 1000 * seconds : resetMs - nowMs;
  if (!Number.isFinite(waitMs)) return retryAfterMaxMs / 5;
  return Math.min(retryAfterMaxMs, Math.max(retryAfterMinMs, waitMs));
}

/** What a 200 says. @throws {GitHostUnavailableError} it is something else than this API answers. */
export function parsed<T>(schema: z.ZodType<T>, got: Got): T {
  const result = schema.safeParse(got.body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join('.') || 'the body';
  throw new GitHostUnavailableError(
    `A git host returned an unexpected response: ${where} isn't part of its API.`,
  );
}

/** What stands before the paths of each API. */
export const apiPaths: Readonly<Record<GitHostKind, string>> = {
  github: '',
  gitlab: '/api/v4',
  gitea: '/api/v1',
};

/** Asks who has the token. */
function repositoryPath(kind: GitHostKind, name: string): string {
  const escaped = name.split('/').map(encodeURIComponent).join('/');
  return kind === 'gitlab'
    ? `${apiPaths.gitlab}/projects/${encodeURIComponent(name)}`
    : `${apiPaths[kind]}/repos/${escaped}`;
}

export const getUser = (asking: Asking, kind: GitHostKind) => getJson(asking, kind, `${apiPaths[kind]}/user`);

/**
 * Asks an API of GitHub's form, as Gitea's is: who it is, and what they may do with the repository. Both tell what the
 * person may do, whatever the token may.
 *
 * Gitea 1.25.4 was tried: 404 without access, 403 without `read:repository`, 401 for an unknown token. A rename
 * redirects, and isn't followed. GitHub and GitLab are from their documentation only.
 */
async function askGitHubLike(
  asking: Asking,
  { kind, name, nowMs }: { kind: 'github' | 'gitea'; name: string; nowMs: () => number },
): Promise<HostFindings> {
  const [user, repository] = await Promise.all([
    asking.user ?? getUser(asking, kind),
    getJson(asking, kind, repositoryPath(kind, name)),
  ]);
  const refusal = refusalOf(user, nowMs()) ?? refusalOf(repository, nowMs());
  if (refusal) return refusal;
  const { id, login } = parsed(accountShape, user);
  const found = parsed(repositoryShape, repository);
  const access = accessOf(found);
  if (access !== 'read' && access !== 'write') return { kind: 'refused', reason: access };
  const { id: linkedId, owner, private: isPrivate } = found;
  return {
    kind: 'found',
    userId: id,
    login,
    access,
    linkedId,
    organizationId: owner.id,
    isPublic: !isPrivate,
  };
}

/** To pull from a repository that everybody can read makes nobody one of its people. */
function accessOf({
  private: isPrivate,
  archived,
  permissions,
}: z.output<typeof repositoryShape>): HostAccess | HostRefusal {
  const { pull, push, triage } = permissions;
  if (push) return archived ? 'read' : 'write';
  if (!pull) return 'no-access';
  return isPrivate || triage === true ? 'read' : 'not-a-member';
}

/** Levels of GitLab. @see https://docs.gitlab.com/api/members/#roles */
const levels = { reporter: 20, developer: 30 } as const;

const member = z.object({ access_level: z.int().min(0) });
export const userShape = z.object({ id: numberId, username: login });
const projectShape = z.object({
  id: numberId,
  namespace: z.object({ id: numberId }),
  archived: z.boolean().default(false),
  visibility: z.string().optional(),
  permissions: z
    .object({ project_access: member.nullish(), group_access: member.nullish() })
    .nullish()
    .transform((permissions) =>
      Math.max(permissions?.project_access?.access_level ?? 0, permissions?.group_access?.access_level ?? 0),
    ),
});

/**
 * Asks GitLab who it is, and which level they have in the project. A project that everybody can read makes nobody a
 * member. What somebody has by a group that was invited, the project does not tell: then the list of all members does.
 */
async function askGitLab(
  asking: Asking,
  { name, nowMs }: { name: string; nowMs: () => number },
): Promise<HostFindings> {
  const projectPath = repositoryPath('gitlab', name);
  const [user, project] = await Promise.all([
    asking.user ?? getUser(asking, 'gitlab'),
    getJson(asking, 'gitlab', projectPath),
  ]);
  const refusal = refusalOf(user, nowMs()) ?? refusalOf(project, nowMs());
  if (refusal) return refusal;
  const { id, username } = parsed(userShape, user);
  const found = parsed(projectShape, project);
  let level = found.permissions;
  if (level < levels.developer) {
    const asMember = await getJson(asking, 'gitlab', `${projectPath}/members/all/${id}`);
    const unknown = refusalOf(asMember, nowMs());
    if (unknown?.kind === 'limited') return unknown;
    // Who is no member is not found.
    if (!unknown) level = Math.max(level, levelOf(asMember));
  }
  if (level < levels.reporter) return { kind: 'refused', reason: 'not-a-member' };
  const access = level >= levels.developer && !found.archived ? 'write' : 'read';
  const { id: linkedId, namespace, visibility } = found;
  const isPublic = visibility === 'public';
  return {
    kind: 'found',
    userId: id,
    login: username,
    access,
    linkedId,
    organizationId: namespace.id,
    isPublic,
  };
}

/** One who is awaited, or whose time is over, is none. */
function levelOf(got: Got): number {
  const shape = member.extend({ state: z.string().optional() });
  const { access_level: level, state } = parsed(shape, got);
  return state === undefined || state === 'active' ? level : 0;
}

/** Tokens that one host is asked about at a time, by this process. */
const atOnceMax = 16;
/** So many of them are for tokens that the host let in before. */
const forKnown = 4;
/** A token waits so long for a slot. Only a process that serves many requests at a time ever fills them: not Lambda. */
const slotWaitMs = 2_000;
/** Then a known one can retry after this. */
const busyRetryAfterMs = 2_000;

interface HostClientOptions {
  /** For all that is asked about one token. */
  readonly timeoutMs?: number;
  readonly waitMs?: number;
  /** SHA-256 of a password that goes to no host: the admin token, where the process knows it. */
  readonly neverSha256?: string;
}

/** Asks hosts over HTTP. */
export function createHostClient(
  { nowMs }: { nowMs: () => number },
  { timeoutMs = answerMs, waitMs = slotWaitMs, neverSha256 }: HostClientOptions = {},
): HostClient {
  const slotsOf = new Map<string, Slots>();
  const slotsFor = ({ id }: Pick<GitHost, 'id'>) => {
    const slots = slotsOf.get(id) ?? new Slots();
    slotsOf.set(id, slots);
    return slots;
  };
  return {
    async ask({ host, name, token, isKnown }): Promise<HostAnswer> {
      if (neverSha256 !== undefined && sameDigest(sha256Hex(token), neverSha256))
        return { kind: 'refused', reason: 'token-rejected' };
      const slots = slotsFor(host);
      if (!(await slots.take({ isKnown, waitMs })))
        // To a new token the same as any refusal: nothing shows that the repo is linked.
        return isKnown
          ? { kind: 'limited', retryAfterMs: busyRetryAfterMs }
          : { kind: 'refused', reason: 'too-many-new' };
      try {
        const asking = { url: host.url, token, signal: AbortSignal.timeout(timeoutMs) };
        const findings = await askKind(host, { asking, name, nowMs });
        if (findings.kind !== 'found') return findings;
        const { userId, login, access, ...repository } = findings;
        const grant = { hostUser: { id: `${host.id}:${userId}`, login }, access };
        return { ...repository, kind: 'granted', grant };
      } finally {
        slots.give();
      }
    },
    async look({ host: { id, kind, url }, name }) {
      const slots = slotsFor({ id });
      if (!(await slots.take({ isKnown: false, waitMs })))
        throw new GitHostUnavailableError('A git host is asked too much.');
      try {
        const signal = AbortSignal.timeout(timeoutMs);
        const headers = apiHeaders[kind];
        const got = await requestJson({ url: url + repositoryPath(kind, name), headers, signal });
        const refusal = refusalOf(got, nowMs());
        if (refusal?.kind === 'limited') throw new GitHostUnavailableError('A git host limits requests.');
        return { linkedId: refusal ? null : parsed(z.object({ id: numberId }), got).id };
      } finally {
        slots.give();
      }
    },
  };
}

/** The questions that one host is asked at a time. Those that wait are as many as the process has connections. */
class Slots {
  #taken = 0;
  readonly #waiting = new Set<{ readonly isKnown: boolean; readonly start: () => void }>();

  /** @returns false if none became free in time. */
  take({ isKnown, waitMs }: { isKnown: boolean; waitMs: number }): Promise<boolean> {
    if (this.#isFree(isKnown)) {
      this.#taken += 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const waiter = {
        isKnown,
        start: () => {
          clearTimeout(timer);
          this.#waiting.delete(waiter);
          this.#taken += 1;
          resolve(true);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(waiter);
        resolve(false);
      }, waitMs);
      this.#waiting.add(waiter);
    });
  }

  /** Known tokens first: all others can be guesses. */
  give(): void {
    this.#taken -= 1;
    const next = this.#first(true) ?? this.#first(false);
    if (next && this.#isFree(next.isKnown)) next.start();
  }

  #isFree(isKnown: boolean): boolean {
    return this.#taken < (isKnown ? atOnceMax : atOnceMax - forKnown);
  }

  #first(isKnown: boolean) {
    for (const waiter of this.#waiting) if (waiter.isKnown === isKnown) return waiter;
    return undefined;
  }
}

/** What the person of a token may do with a repository. @throws {GitHostUnavailableError} */
export function askKind(
  { kind }: Pick<GitHost, 'kind'>,
  { asking, name, nowMs }: { asking: Asking; name: string; nowMs: () => number },
): Promise<HostFindings> {
  return kind === 'gitlab'
    ? askGitLab(asking, { name, nowMs })
    : askGitHubLike(asking, { kind, name, nowMs });
}
