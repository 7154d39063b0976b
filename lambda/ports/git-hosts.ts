import type { GitHost } from '../domain/git-host.ts';
import type { PersonGrant } from '../domain/person.ts';

/** What a host answers. */
export type HostAnswer =
  | {
      readonly kind: 'granted';
      readonly grant: PersonGrant;
      /** The repository's number there. */
      readonly hostedId: string;
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
}

/** A host cannot be asked now. Nothing is known of the token. */
export class GitHostUnavailableError extends Error {
  override readonly name = 'GitHostUnavailableError';
}
