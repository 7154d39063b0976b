import * as z from 'zod';
import type { RepoRecord } from '../../../core/ledger/rules/tenant.ts';
import type { Frozen } from '../../../core/rules/stored.ts';
import { parseJson } from '../../../core/rules/text.ts';
import { gitHostIdPattern } from '../../../frame/access/rules/host-user.ts';
import { isInForce, type RepoMark } from '../../../frame/access/rules/repo-mark.ts';

export const gitHostKinds = ['github', 'gitlab', 'gitea'] as const;
export type GitHostKind = (typeof gitHostKinds)[number];

export const gitHostSchema = z.object({
  /** What tenants call it, and what the ids of its people begin with. */
  id: z.string().regex(gitHostIdPattern),
  /** How its API is spoken to. */
  kind: z.enum(gitHostKinds),
  /** Of its API, without a closing slash: `https://api.github.com`, `https://gitlab.com`, `https://gitea.example.com`. */
  // An emulated stage has its hosts on this machine. The settings of a deployed one take https alone.
  url: z.string().refine((url) => isGitHostUrl(url, { allowsLoopback: true })),
  /** The app by which its users sign in to the console. Without it, they don't. */
  signIn: z
    .object({
      clientId: z.string(),
      /** Where its secret is: in Secrets Manager. Under `npm start`: a file. */
      clientSecretArn: z.string(),
    })
    .optional(),
});

/** A host of git repositories that a stage asks what a person may do. The operator's setting, never a tenant's. */
export type GitHost = Frozen<z.output<typeof gitHostSchema>>;

/** A host by which users sign in. */
export type SignInHost = GitHost & { readonly signIn: NonNullable<GitHost['signIn']> };

/** Those by which users sign in. */
export function signInHostsOf(hosts: readonly GitHost[]): readonly SignInHost[] {
  return hosts.filter((host): host is SignInHost => host.signIn !== undefined);
}

/** Of its pages, without a closing slash: GitHub's API has a URL of its own. */
export function webUrlOf({ kind, url }: Pick<GitHost, 'kind' | 'url'>): string {
  return kind === 'github' ? url.replace('://api.', '://').replace(/\/api\/v3$/, '') : url;
}

/** Hosts of a stage, at most. */
export const gitHostsMax = 8;

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
export const linkedNameCharactersMax = 255;
/** GitLab has groups in groups, up to twenty. */
const segmentsMax: Readonly<Record<GitHostKind, number>> = { github: 2, gitlab: 22, gitea: 2 };

/**
 * Whether a text can be the full name of a repository, such as `acme/game`. What it is put together from can lead to no
 * other address of the host's API.
 */
export function isLinkedName(text: string, kind: GitHostKind): boolean {
  const segments = text.split('/');
  if (text.length > linkedNameCharactersMax || segments.length < 2 || segments.length > segmentsMax[kind])
    return false;
  return segments.every(
    (segment) => /^[A-Za-z0-9._-]{1,100}$/.test(segment) && !/^\.+$|\.git$/.test(segment),
  );
}

/** That people who may use a repository of a host may use a repo, with their tokens for that host. */
export const linkedSchema = z.object({
  /** The id of the host. */
  host: z.string(),
  /** The repository's full name there. */
  name: z.string(),
  /** The repository's number there, which nobody can take over as they can a name. null: not known yet. */
  linkedId: z.string().nullable(),
  /** Whether its users download there what is missing here. */
  readThrough: z.boolean().optional(),
  sinceMs: z.number(),
});
export type LinkedRepo = RepoMark & Frozen<z.output<typeof linkedSchema>>;

/** Mapped repos of a tenant. They are read all at once. */
export const linkedReposMax = 1000;

/**
 * That each repo of a tenant is the repository of its name in an organization of a host, unless it is linked itself. What
 * follows from it for a repo is noted at the repository's first use: {@link PinnedRepo}.
 */
export const tenantLinkSchema = z.object({
  /** The id of the host. */
  host: z.string(),
  /** The organization, user or group there. */
  organization: z.string(),
  /**
   * The organization's number there, which nobody can take over as they can a name: of the repository that was used first.
   * null: not known yet.
   */
  organizationId: z.string().nullable().default(null),
  /** The ceiling of each repo whose repository anybody may read there. null: none of them is public here. */
  publicRead: z.object({ monthlyLimitBytes: z.number().nullable() }).nullable(),
  /** As of a linked repo, of each repo that isn't linked itself. */
  readThrough: z.boolean().optional(),
  /** When it was decided, but for the ceiling and that. */
  sinceMs: z.number(),
  /** Repositories that were used: up to {@link pinnedReposMax}. */
  pinnedCount: z.number(),
});
export type TenantLink = Frozen<z.output<typeof tenantLinkSchema>>;

/** A repository that was used by its tenant's link. */
export const pinnedSchema = z.object({
  /** The repository's number there. */
  linkedId: z.string(),
  /** Of the link. */
  linkSinceMs: z.number(),
  /** Whether anybody may read it there, as the host last said. */
  isPublic: z.boolean(),
  saidMs: z.number(),
  /** Before that it is not asked for those who have no token. */
  askAgainMs: z.number(),
  sinceMs: z.number(),
});
export type PinnedRepo = RepoMark & Frozen<z.output<typeof pinnedSchema>>;

/** Repositories of a tenant that are noted, as long as it lives: only those whom the host lets in add to them. */
export const pinnedReposMax = 100_000;

/** Whether what was noted of a repository holds for a repo, as for any {@link RepoMark}, and for the present link. */
export function isPinInForce(
  pin: PinnedRepo,
  { link, record }: { link: Pick<TenantLink, 'sinceMs'>; record: RepoRecord | undefined },
): boolean {
  return pin.linkSinceMs === link.sinceMs && isInForce(pin, record);
}

/**
 * The git hosts of a stage from JSON. Without it: none.
 *
 * @throws {Error} while the container starts: a stage must send tokens to no other hosts than its operator set.
 */
export function gitHostsFromJson(text: string | undefined): readonly GitHost[] {
  if (text === undefined) return [];
  const hosts = z.array(gitHostSchema).safeParse(parseJson(text));
  if (!hosts.success)
    throw new Error("The git hosts aren't a list, or one lacks id, kind or url. Deploy again.");
  return hosts.data;
}

/** For {@link gitHostsFromJson}. undefined: there are none. */
export function gitHostsToJson(hosts: readonly GitHost[]): string | undefined {
  return hosts.length === 0 ? undefined : JSON.stringify(hosts);
}
