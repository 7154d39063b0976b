/** Somebody whom a git host vouches for. */
export interface HostUser {
  /** `github:1234`: the host's id, and their number there, which nobody can take over as they can a name. */
  readonly id: string;
  /** What they are called there, for people to read. They may change it. */
  readonly login: string;
}

/** What somebody is to the organization by which they sign in. */
export type HostRole = 'owner' | 'member' | 'collaborator';

/** An organization of a host: GitLab calls it a group. */
export interface HostOrganization {
  /** The id of the host. */
  readonly host: string;
  /** Its number there, which nobody can take over as they can a name. */
  readonly organizationId: string;
  /** What it was called when it was last seen, for people to read. */
  readonly name: string;
}

/** By what somebody may sign in. */
export interface Allowance {
  /** The number of the organization at their host. */
  readonly organizationId: string;
  readonly role: HostRole;
  /** When the organization was allowed. It's worth nothing once that has ended or changed. */
  readonly sinceMs: number;
}

/** The id of a host. */
export const gitHostIdPattern = /^[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?$/;

/** The id of the host that vouches for somebody. */
export const hostOf = ({ id }: Pick<HostUser, 'id'>) => id.slice(0, id.indexOf(':'));

/** Whom others are shown: `ada (github)`. */
export function nameOfHostUser(user: HostUser): string {
  return `${user.login} (${hostOf(user)})`;
}
