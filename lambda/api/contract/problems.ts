/**
 * Every error of the management API: code → status and title. The code is the stable part that a program may
 * rely on; the detail of an answer is for people and may change.
 */
export const problemTypes = {
  'invalid-json': { status: 400, title: 'The body is not valid JSON' },
  'invalid-idempotency-key': { status: 400, title: 'The Idempotency-Key header is not valid' },
  unauthorized: { status: 401, title: 'A valid token is needed' },
  'scope-too-small': { status: 403, title: 'The token may not do this' },
  'repo-required': { status: 403, title: 'The token is for some repos: name one' },
  'not-found': { status: 404, title: 'Resource not found' },
  'tenant-not-found': { status: 404, title: 'Tenant not found' },
  'repo-not-found': { status: 404, title: 'Repo not found' },
  'object-not-found': { status: 404, title: 'Object not found' },
  'token-not-found': { status: 404, title: 'Token not found' },
  'rule-not-found': { status: 404, title: 'Rule not found' },
  'webhook-not-found': { status: 404, title: 'There is no webhook' },
  'cleanup-not-found': { status: 404, title: 'No clean-up is open' },
  'export-not-found': { status: 404, title: 'Export not found' },
  'method-not-allowed': { status: 405, title: 'The method is not allowed here' },
  'tenant-exists': { status: 409, title: 'The tenant exists already' },
  'tenant-name-taken': { status: 409, title: 'The name of a deleted tenant stays taken' },
  'tenant-name-reserved': { status: 409, title: 'The name would lead into an adopted repo' },
  'tenant-has-adopted': { status: 409, title: 'The tenant has an adopted repo' },
  'tenant-closed': { status: 409, title: 'The tenant is being deleted' },
  'repo-exists': { status: 409, title: 'The repo exists already' },
  'repo-closed': { status: 409, title: 'The repo is being deleted' },
  'repos-full': { status: 409, title: 'The tenant has the maximum number of repos' },
  'limits-full': { status: 409, title: 'There are as many limits of repos as a tenant may have' },
  'public-repos-full': { status: 409, title: 'There are as many public repos as a tenant may have' },
  'mapped-repos-full': { status: 409, title: 'There are as many mapped repos as a tenant may have' },
  'count-not-ended': { status: 409, title: 'The first count has not ended' },
  'cleanup-ending': { status: 409, title: 'The last clean-up is being ended' },
  'cleanup-too-early': { status: 409, title: 'The clean-up was opened too short a time ago' },
  'cleanup-running': { status: 409, title: 'The clean-up is running' },
  'exports-off': { status: 409, title: 'This stage makes no exports' },
  'exports-full': { status: 409, title: 'All places for exports are taken' },
  'rules-full': { status: 409, title: 'There are as many rules as a tenant may have' },
  'token-revoked': { status: 409, title: 'The token was revoked' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media-type': { status: 415, title: 'The media type is not supported' },
  'invalid-body': { status: 422, title: 'The body is not valid' },
  'invalid-query': { status: 422, title: 'The query is not valid' },
  'idempotency-key-reused': { status: 422, title: 'The idempotency key belongs to another request' },
  'deletions-full': { status: 429, title: 'Too many deletions wait' },
  'exports-too-many': { status: 429, title: 'Too many exports within 24 hours' },
  'test-too-soon': { status: 429, title: 'A test was sent just now' },
  'internal-error': { status: 500, title: 'Internal error' },
  'issuer-unavailable': { status: 503, title: 'The issuer of the identity does not answer' },
  'storage-unavailable': { status: 503, title: 'The storage does not answer' },
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
