/** Somebody whom a git host vouches for. */
export interface HostUser {
  /** `github:1234`: the host's id, and their number there, which nobody can take over as they can a name. */
  readonly id: string;
  /** What they are called there, for people to read. They may change it. */
  readonly login: string;
}

export const gitHostIdPattern = /^[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?$/;

/** The id of the host that vouches for somebody. */
export const hostOf = ({ id }: Pick<HostUser, 'id'>) => id.slice(0, id.indexOf(':'));

/** Whom others are shown: `ada (github)`. */
export function nameOfHostUser(user: HostUser): string {
  return `${user.login} (${hostOf(user)})`;
}
