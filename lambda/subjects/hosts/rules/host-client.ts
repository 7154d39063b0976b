import { sha256Hex } from '../../../core/rules/hash.ts';
import type { HostUser } from '../../../frame/access/rules/host-user.ts';
import type { GitHost } from './git-hosts.ts';

/** What a host lets a person do with a repository. */
export type HostAccess = 'read' | 'write';

/** What a host said of a person's token and a repository. */
export interface HostGrant {
  readonly hostUser: HostUser;
  readonly access: HostAccess;
}

/**
 * Whether a password can be a user's token for a git host, and so be sent there. Ours never are: this service's tokens start
 * with `lfsq_` or the like, a session's value contains one, and a generated admin token has 43 letters and digits.
 */
export function mayBeHostToken(credential: string): boolean {
  return (
    /^[\x21-\x7e]{8,512}$/.test(credential) &&
    !/^lfs[a-z]_|lfs[a-z]_[0-9A-Za-z]{40}|^[0-9A-Za-z]{43}$/.test(credential)
  );
}

/**
 * By what a grant is kept: of the token only a hash, and of no use for another repo, nor for what the repo was linked to
 * before.
 */
export function grantKeyOf(of: {
  tenant: string;
  repo: string;
  host: string;
  name: string;
  sinceMs: number;
  credential: string;
}): string {
  const { tenant, repo, host, name, sinceMs, credential } = of;
  return sha256Hex(JSON.stringify([tenant, repo, host, name, sinceMs, credential]));
}

/** What came of asking a host. */
export type HostVerdict =
  | { readonly kind: 'granted'; readonly grant: HostGrant }
  /** The token is none, or its person has no business there. The reason is for the log. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Nothing is known: the host wants to be asked later. */
  | { readonly kind: 'limited'; readonly untilMs: number }
  /** Nothing is known: the host does not answer. */
  | { readonly kind: 'unavailable'; readonly untilMs: number };

/** Verdicts remembered. Beyond that the oldest are forgotten. */
export const verdictsMax = 5000;

function forgetOldest(all: Pick<Map<string, unknown>, 'size' | 'delete' | 'keys'>): void {
  const [oldest] = all.keys();
  if (all.size > verdictsMax && oldest !== undefined) all.delete(oldest);
}

/** What this process knows of people, by {@link grantKeyOf}. A client that repeats itself makes no host answer again. */
export class KnownHostUsers {
  /** The oldest first. */
  readonly #verdicts = new Map<string, { readonly verdict: HostVerdict; readonly untilMs: number }>();
  /** Keys that a host let in, the oldest first. Junk can't push these out: it never gets in. */
  readonly #letIn = new Set<string>();
  readonly #asking = new Map<string, Promise<HostVerdict>>();

  find(key: string, nowMs: number): HostVerdict | undefined {
    const known = this.#verdicts.get(key);
    if (known && nowMs < known.untilMs) return known.verdict;
    this.#verdicts.delete(key);
    return undefined;
  }

  keep(key: string, verdict: HostVerdict, untilMs: number): void {
    this.#verdicts.delete(key);
    this.#verdicts.set(key, { verdict, untilMs });
    forgetOldest(this.#verdicts);
    if (verdict.kind === 'refused') this.#letIn.delete(key);
    if (verdict.kind === 'granted') this.#letIn.add(key);
    forgetOldest(this.#letIn);
  }

  /** Whether the last word of a host on this was to let it in, even if that is over. */
  wasLetIn(key: string): boolean {
    return this.#letIn.has(key);
  }

  /** Asks, unless the same is being asked already: then its answer is that of both. */
  async askOnce(key: string, ask: () => Promise<HostVerdict>): Promise<HostVerdict> {
    const known = this.#asking.get(key);
    if (known) return known;
    const asking = ask().finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }
}

/** What a host answers. */
export type HostAnswer =
  | {
      readonly kind: 'granted';
      readonly grant: HostGrant;
      /** The repository's number there. */
      readonly linkedId: string;
      /** The number of the organization, user or group that it's of. */
      readonly organizationId: string;
      /** Whether anybody may read it there. */
      readonly isPublic: boolean;
    }
  /** The reason is for the log. Who asks must not learn it. */
  | { readonly kind: 'refused'; readonly reason: HostRefusal }
  /** It, or this process, is asked too much. */
  | { readonly kind: 'limited'; readonly retryAfterMs: number };

/**
 * - `token-rejected`: the host does not know the token, or no more.
 * - `token-too-small`: the token has not the scopes to ask with, or its organization has not authorized it.
 * - `no-access`: there is no such repository for this person.
 * - `not-a-member`: everybody may read the repository, and this person no more than that.
 * - `moved`: the repository has another name now.
 * - `too-many-new`: too many tokens that were never let in are being asked about.
 */
export type HostRefusal =
  | 'token-rejected'
  | 'token-too-small'
  | 'no-access'
  | 'not-a-member'
  | 'moved'
  | 'too-many-new';

/** Asks hosts what the person of a token may do. */
export interface HostClient {
  /**
   * Sends the token to the host, and to nobody else. Nothing is retried.
   *
   * @param input.name the repository's full name.
   * @param input.isKnown whether the host let this token in before. New tokens don't take all slots from those.
   * @throws {GitHostUnavailableError} it does not answer, or not as it should.
   */
  ask(input: { host: GitHost; name: string; token: string; isKnown: boolean }): Promise<HostAnswer>;
  /**
   * Looks at a repository as somebody without a token.
   *
   * @returns its number. null: it is not to be seen.
   * @throws {GitHostUnavailableError} it does not answer, or wants to be asked later.
   */
  look(input: { host: GitHost; name: string }): Promise<{ readonly linkedId: string | null }>;
}

/** A host cannot be asked now. Nothing is known of the token. */
export class GitHostUnavailableError extends Error {
  override readonly name = 'GitHostUnavailableError';
}
