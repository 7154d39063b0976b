import { type ProblemCode, problemTypes } from '../contract/problems.ts';
import { problemAnswer, type Refusal } from './http.ts';

/** Each 401 must have one (RFC 9110, 15.5.2). Not Basic: a browser would ask for a password. */
const challenge = { 'www-authenticate': 'Bearer realm="lfs-quota"' };

/** An error of the management API. */
export function problem(
  code: ProblemCode,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  const type = { code, ...problemTypes[code] };
  return problemAnswer(type, detail, type.status === 401 ? { ...challenge, ...headers } : headers);
}

/**
 * The one answer for a tenant that does not exist, and for one that these credentials may not see: nobody can tell
 * the two apart.
 */
export function tenantNotFound(): Refusal {
  return problem('tenant-not-found', "The tenant doesn't exist, or your token can't see it.");
}

/** The one answer for a repo that is not there, and for one that these credentials may not see. */
export function repoNotFound(tenant: string): Refusal {
  return problem('repo-not-found', `The tenant ${tenant} has no repo of that name with anything in it.`);
}

/** @param who whose token is needed, with its article. */
export function unauthorized(who: 'a valid' | 'the admin' = 'a valid'): Refusal {
  const how = 'as a Bearer token or as the password of HTTP Basic';
  return problem('unauthorized', `This needs ${who} token, ${how}.`);
}

const guarded = { 400: 'two-logins', 500: 'internal-error', 503: 'storage-unavailable' } as const;

/** An unexpected error, as `guard` has the API word it. */
export function respondProblem(statusCode: keyof typeof guarded, message: string): Refusal {
  return problem(guarded[statusCode], message);
}
