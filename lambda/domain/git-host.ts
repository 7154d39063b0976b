import type { RepoMark } from './repo-mark.ts';

/** A host of git repositories that a stage asks what a person may do. The operator's setting, never a tenant's. */
export interface GitHost {
  /** What tenants call it, and what the ids of its people begin with. */
  readonly id: string;
  /** How its API is spoken to. */
  readonly kind: GitHostKind;
  /** Of its API, without a closing slash: `https://api.github.com`, `https://gitlab.com`, `https://gitea.example.com`. */
  readonly url: string;
}

export const gitHostKinds = ['github', 'gitlab', 'gitea'] as const;
export type GitHostKind = (typeof gitHostKinds)[number];

/** Hosts of a stage, at most. */
export const gitHostsMax = 8;

export const gitHostIdPattern = /^[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?$/;
/** An origin and perhaps a path. No user, query or fragment, no `..`, and no closing slash. */
const gitHostUrlPattern = /^https?:\/\/[A-Za-z0-9.\-[\]:]+(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const gitHostUrlCharactersMax = 200;

/** Whether a text is the address of a host. @param options.allowsLoopback plain HTTP to this machine, too. */
export function isGitHostUrl(text: string, options: { allowsLoopback?: boolean } = {}): boolean {
  if (text.length > gitHostUrlCharactersMax || !gitHostUrlPattern.test(text) || !URL.canParse(text))
    return false;
  const { protocol, hostname } = new URL(text);
  if (protocol === 'https:') return true;
  return options.allowsLoopback === true && ['127.0.0.1', 'localhost', '[::1]'].includes(hostname);
}

/** Characters of a repository's full name. */
export const hostedNameCharactersMax = 255;
/** GitLab has groups in groups, up to twenty. */
const segmentsMax: Readonly<Record<GitHostKind, number>> = { github: 2, gitlab: 22, gitea: 2 };

/**
 * Whether a text can be the full name of a repository, such as `acme/game`. What it is put together from can lead to no
 * other address of the host's API.
 */
export function isHostedName(text: string, kind: GitHostKind): boolean {
  const segments = text.split('/');
  if (text.length > hostedNameCharactersMax || segments.length < 2 || segments.length > segmentsMax[kind])
    return false;
  return segments.every(
    (segment) => /^[A-Za-z0-9._-]{1,100}$/.test(segment) && !/^\.+$|\.git$/.test(segment),
  );
}

/** That people who may use a repository of a host may use a repo, with their tokens for that host. */
export interface MappedRepo extends RepoMark {
  /** The id of the host. */
  readonly host: string;
  /** The repository's full name there. */
  readonly name: string;
  /** The repository's number there, which nobody can take over as they can a name. null: not known yet. */
  readonly hostedId: string | null;
}

/** Mapped repos of a tenant. They are read all at once. */
export const mappedReposMax = 1000;
