import { sha256Hex } from '../rules/hash.ts';

/** Somebody whom a git host vouches for. */
export interface Person {
  /** `github:1234`: the host's id, and their number there, which nobody can take over as they can a name. */
  readonly id: string;
  /** What they are called there, for people to read. They may change it. */
  readonly login: string;
}

/** Whom others are shown: `ada (github)`. */
export function nameOfPerson({ id, login }: Person): string {
  return `${login} (${id.slice(0, id.indexOf(':'))})`;
}

/** What a host lets a person do with a repository. */
export type PersonAccess = 'read' | 'write';

/** What a host said of a person's token and a repository. */
export interface PersonGrant {
  readonly person: Person;
  readonly access: PersonAccess;
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
 * By what a grant is kept: of the token only a hash, and of no use for another repo, nor for what the repo was mapped to
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
