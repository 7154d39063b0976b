import { routeProblems } from './route-problems.ts';

/**
 * Every error of the management API: code → status and title. The code is the stable part that a program may
 * rely on; the detail of an answer is for people and may change.
 */
export const problemTypes = {
  'invalid-json': { status: 400, title: "The body isn't valid JSON" },
  'invalid-idempotency-key': { status: 400, title: 'The Idempotency-Key header is invalid' },
  'two-logins': { status: 400, title: 'The request has two logins' },
  unauthorized: { status: 401, title: 'A valid token is needed' },
  'session-ended': { status: 401, title: 'The session has ended' },
  'scope-too-small': { status: 403, title: "The token's scope is too small" },
  'tenant-suspended': { status: 403, title: 'The tenant is suspended' },
  'sign-in-rejected': { status: 403, title: "You can't sign in" },
  'beyond-prefix': { status: 403, title: "The token's prefix is for other files" },
  'repo-required': { status: 403, title: 'This token needs a repo in the request' },
  'sign-in-again': { status: 403, title: 'Sign in again with your Git host' },
  'organization-not-yours': { status: 403, title: "You aren't in this organization" },
  'not-found': routeProblems['not-found'],
  'tenant-not-found': { status: 404, title: 'Tenant not found' },
  'repo-not-found': { status: 404, title: 'Repo not found' },
  'object-not-found': { status: 404, title: 'Object not found' },
  'file-not-found': { status: 404, title: 'File not found' },
  'file-not-stored': { status: 404, title: "The file isn't stored" },
  'upload-not-found': { status: 404, title: 'Upload not found' },
  'token-not-found': { status: 404, title: 'Token not found' },
  'tenant-not-linked': { status: 404, title: "The tenant isn't linked" },
  'rule-not-found': { status: 404, title: 'Rule not found' },
  'invitation-not-found': { status: 404, title: 'Invitation not found' },
  'device-not-found': { status: 404, title: 'No login waits with this code' },
  'organization-not-found': { status: 404, title: 'Organization not found' },
  'user-not-found': { status: 404, title: 'User not found' },
  'webhook-not-found': { status: 404, title: 'No webhook is set' },
  'email-not-found': { status: 404, title: 'E-mail address not found' },
  'link-not-found': { status: 404, title: 'The link is invalid or used' },
  'gc-not-found': { status: 404, title: 'No garbage collection is open' },
  'export-not-found': { status: 404, title: 'Export not found' },
  'method-not-allowed': routeProblems['method-not-allowed'],
  'tenant-exists': { status: 409, title: 'The tenant exists already' },
  'tenant-name-taken': { status: 409, title: 'The name belonged to a deleted tenant' },
  'tenant-name-reserved': { status: 409, title: 'The name is reserved for an adopted repo' },
  'tenant-has-adopted': { status: 409, title: 'The tenant has an adopted repo' },
  'tenant-closed': { status: 409, title: 'The tenant is being deleted' },
  'repo-exists': { status: 409, title: 'The repo exists already' },
  'wrong-kind': { status: 409, title: 'The repo is of another kind' },
  'store-cannot': { status: 409, title: "The object store can't have repos of kind files" },
  'repo-closed': { status: 409, title: 'The repo is being deleted' },
  'repos-full': { status: 409, title: 'The tenant has the maximum number of repos' },
  'parts-missing': { status: 409, title: "Parts of the file aren't stored" },
  'name-taken': { status: 409, title: 'Another file has the name' },
  'limits-full': { status: 409, title: 'The tenant has the maximum of repo limits' },
  'public-repos-full': { status: 409, title: 'The tenant has the maximum of public repos' },
  'linked-repos-full': { status: 409, title: 'The tenant has the maximum of linked repos' },
  'scan-not-finished': { status: 409, title: "The initial scan isn't finished" },
  'gc-ending': { status: 409, title: 'The last garbage collection is still ending' },
  'gc-too-early': { status: 409, title: "It's too early for a run" },
  'gc-running': { status: 409, title: 'Garbage collection is running' },
  'exports-off': { status: 409, title: 'Exports are disabled' },
  'exports-full': { status: 409, title: 'All export slots are in use' },
  'rules-full': { status: 409, title: 'The tenant has the maximum of rules' },
  'invitations-full': { status: 409, title: 'The tenant has the maximum of open invitations' },
  'organizations-full': { status: 409, title: 'The maximum of organizations is reached' },
  'emails-off': { status: 409, title: 'E-mail is disabled' },
  'emails-full': { status: 409, title: 'The tenant has the maximum of e-mail addresses' },
  'correction-exists': { status: 409, title: 'The hour has another correction of this number' },
  'token-revoked': { status: 409, title: 'The token was revoked' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'too-many-files': { status: 413, title: 'The request names too many files' },
  'unsupported-media-type': { status: 415, title: 'Unsupported media type' },
  'invalid-body': { status: 422, title: 'The body is invalid' },
  'invalid-query': { status: 422, title: 'The query is invalid' },
  'idempotency-key-reused': { status: 422, title: 'The idempotency key was used for another request' },
  'usage-checking': { status: 429, title: 'Usage is being checked' },
  'deletions-full': { status: 429, title: 'Too many pending deletions' },
  'exports-too-many': { status: 429, title: 'Too many exports within 24 hours' },
  'device-tries': { status: 429, title: 'Too many wrong codes' },
  'devices-full': { status: 429, title: 'Too many logins' },
  'test-too-soon': { status: 429, title: 'A test was just sent' },
  'emails-too-many': { status: 429, title: 'Too many confirmations within 24 hours' },
  'internal-error': { status: 500, title: 'Internal error' },
  'issuer-unavailable': { status: 503, title: "The identity's issuer doesn't respond" },
  'git-host-unavailable': { status: 503, title: "The Git host doesn't respond" },
  'storage-unavailable': { status: 503, title: "The table or object store doesn't respond" },
  'download-limit': { status: 509, title: 'The download limit is reached' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof problemTypes;

/** Problem details (RFC 9457), with the code as a member of its own so that nobody has to take the URN apart. */
export interface Problem {
  readonly type: string;
  readonly code: ProblemCode;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
}
