import { z } from 'zod';

/** How a command ends, for scripts. The codes never change their meaning. */
export const exitCodes = {
  done: { code: 0, meaning: 'success' },
  failed: { code: 1, meaning: 'error' },
  usage: { code: 2, meaning: 'usage error: nothing was sent' },
  'not-found': { code: 3, meaning: 'not found, or not visible to your token' },
  unauthorized: { code: 4, meaning: 'unauthorized' },
  refused: { code: 5, meaning: 'rejected: nothing changed' },
  unavailable: { code: 6, meaning: 'unavailable: retry' },
  interrupted: { code: 130, meaning: 'stopped by Ctrl-C' },
} as const;

/** Of a command that ran, and was not done. */
export type Failure = Exclude<keyof typeof exitCodes, 'done' | 'usage'>;

/** The command failed for a reason that the person at the terminal can act on. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** What to do next, as a sentence. Commands in it are written as `lfs-quota …`. */
  readonly hint: string;
  /** By which the exit code is chosen. */
  readonly failure: Failure;
  /** Of the API's problem, if it is one. */
  readonly code: string | undefined;

  /** @param options.failure without it, that of the cause. */
  constructor(
    message: string,
    options: { hint: string; failure?: Failure; code?: string | undefined; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.hint = options.hint;
    this.code = options.code;
    this.failure = options.failure ?? (options.cause instanceof CliError ? options.cause.failure : 'failed');
  }
}

/** The command was called in a way that cannot work; nothing was sent. What it says is what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The fields of an RFC 9457 problem that a person needs. */
const problem = z.object({
  code: z.string().optional(),
  title: z.string().optional(),
  detail: z.string().optional(),
});

interface Refusal {
  readonly status: number;
  readonly body: unknown;
  readonly request: { readonly method: string; readonly path: string };
  readonly baseUrl: string;
  /** What the stored login that was sent is for: a tenant, or all of a server. undefined: none was. */
  readonly login?: string | undefined;
}

/** What is said of a stored login that the server doesn't take any more. */
export const endedText = (login: string) => `Your token for ${login} was revoked or expired.`;

/** The error for a response without a success status: what it means and what to do next. */
export function refusalError(refusal: Refusal): CliError {
  const { status, request, login } = refusal;
  const parsed = problem.safeParse(refusal.body);
  const reason = parsed.success ? (parsed.data.detail ?? parsed.data.title) : undefined;
  const code = parsed.success ? parsed.data.code : undefined;
  const isEnded = code === 'unauthorized' && login !== undefined && !reason?.includes('the admin token');
  const message = isEnded
    ? endedText(login)
    : reason === undefined
      ? `${request.method} ${request.path} returned ${status}.`
      : (notFoundText(code, request.path) ?? `${reason} (${status})`);
  const hint = hintOf(code) ?? hintFor(refusal, reason);
  return new CliError(message, {
    hint: withNames(hint, request.path),
    failure: failureFor(status, reason !== undefined),
    code,
  });
}

function namesIn(path: string): { tenant: string | undefined; repo: string | undefined } {
  const [, tenant, repo] = /^\/v1\/tenants\/([^/?]+)(?:\/repos\/([^/?]+))?/.exec(path) ?? [];
  return { tenant, repo };
}

/** A hint with the names of this request, so that its command can be pasted. */
function withNames(hint: string, path: string): string {
  const { tenant, repo } = namesIn(path);
  const withTenant = tenant === undefined ? hint : hint.replaceAll(/\bTENANT\b/g, tenant);
  return repo === undefined ? withTenant : withTenant.replaceAll(/\bREPO\b/g, repo);
}

function notFoundText(code: string | undefined, path: string): string | undefined {
  const { tenant, repo } = namesIn(path);
  if (code === 'tenant-not-found' && tenant !== undefined)
    return `Tenant "${tenant}" not found, or your token can't see it. (404)`;
  if (code === 'repo-not-found' && repo !== undefined)
    return `Repo "${tenant}/${repo}" not found, or your token can't see it. (404)`;
  return undefined;
}

/** @param isProblem it is lfs-quota that answered. */
function failureFor(status: number, isProblem: boolean): Failure {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 429 || (status >= 502 && status <= 504)) return 'unavailable';
  if (!isProblem || status < 400 || (status >= 500 && status !== 509)) return 'failed';
  return status === 404 ? 'not-found' : 'refused';
}

/** @param method undefined: nothing is changed. */
const afterNoAnswer = (method: string | undefined) =>
  method === undefined || method === 'GET'
    ? later
    : 'The change might have succeeded: check before retrying.';
const whatExists = 'See what your token is for: lfs-quota whoami';
const whichRepos = 'List them: lfs-quota repo list TENANT';
const beingDeleted = "See what's left: lfs-quota tenant show TENANT";
const correct = 'Nothing changed. Fix the value and retry.';
export const adminTokenPlace =
  "Operators: it's in the file admin-token of the data folder. On AWS it's in AdminSecretArn.";
export const later = 'Retry in a few seconds.';
const otherVersion = 'Nothing changed. The server might have another version: update the older one.';

/** What to do about problems of the API of which the status says too little. The program adds those of the subjects. */
export const problemHints: Record<string, string> = {
  'invalid-json': otherVersion,
  'invalid-idempotency-key': otherVersion,
  'repo-required': 'This token is for some repos only: pass --repo.',
  'not-found': otherVersion,
  'tenant-not-found': whatExists,
  'repo-not-found': whichRepos,
  'object-not-found': 'List its objects: lfs-quota files list --tenant TENANT --repo REPO',
  'token-not-found': 'List them: lfs-quota token list TENANT',
  'method-not-allowed': otherVersion,
  'tenant-exists': 'See it: lfs-quota tenant show TENANT. Or choose another name.',
  'tenant-name-taken': 'Choose another name.',
  'tenant-name-reserved': 'Choose another name.',
  'tenant-has-adopted': "Remove the adopted repo from the server's settings first.",
  'tenant-closed': beingDeleted,
  'tenant-suspended': 'Operators: lfs-quota tenant resume TENANT',
  'repo-exists': 'See it: lfs-quota repo show TENANT REPO. Or choose another name.',
  'repo-closed': beingDeleted,
  'repos-full': 'List them: lfs-quota repo list TENANT',
  'limits-full': 'Remove one first: lfs-quota repo limit TENANT REPO unlimited',
  'public-repos-full': 'Make another one private first: lfs-quota repo private TENANT REPO',
  'linked-repos-full': 'Unlink another one first: lfs-quota repo unlink TENANT REPO',
  'scan-not-finished': 'See its progress: lfs-quota scan list TENANT',
  'token-revoked': 'Create another: `lfs-quota token create TENANT --scope SCOPE`.',
  'body-too-large': 'Nothing changed. Send less in one request.',
  'unsupported-media-type': otherVersion,
  'invalid-body': correct,
  'invalid-query': correct,
  'idempotency-key-reused': otherVersion,
  'object-deleting': 'Retry the push in about an hour: git lfs push --object-id origin OID',
  'deletions-full': 'List them: lfs-quota files deletions --tenant TENANT',
};

function hintOf(code: string | undefined): string | undefined {
  return code !== undefined && Object.hasOwn(problemHints, code) ? problemHints[code] : undefined;
}

function hintFor({ status, baseUrl, request, login }: Refusal, reason: string | undefined): string {
  if (reason === undefined && (status === 502 || status === 504))
    return `A proxy answers, but not lfs-quota behind it. Is it running? ${afterNoAnswer(request.method)}`;
  if (reason === undefined && (status < 500 || status === 501) && status !== 429)
    return `Check that --url or LFS_QUOTA_URL is an lfs-quota server. It's ${baseUrl}.`;
  if (status === 401 || status === 403) {
    const command = `lfs-quota login ${baseUrl}`;
    if (reason?.includes('the admin token'))
      return `Log in with such a token: ${command}\n${adminTokenPlace}`;
    if (status === 403) return `See yours: lfs-quota whoami`;
    return `${login === undefined ? 'The token is incomplete, expired or revoked. ' : ''}Log in again: ${command}`;
  }
  if (status === 429) return later;
  if (status >= 500) return `Server error: see its log. ${afterNoAnswer(request.method)}`;
  if (status === 404) return whatExists;
  return status === 400 || status === 422 ? correct : otherVersion;
}

/** The error when no response arrived. */
export function unreachableError(error: unknown, baseUrl: string, method?: string): CliError {
  const failure = 'unavailable';
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new CliError(`${baseUrl} timed out.`, {
      hint: afterNoAnswer(method),
      failure,
      cause: error,
    });
  }
  const why = socketErrorOf(error);
  return new CliError(`Can't reach ${baseUrl}${why}.`, {
    hint: unreachableHint(baseUrl, why),
    failure,
    cause: error,
  });
}

function unreachableHint(baseUrl: string, why: string): string {
  const [scheme, rest = ''] = baseUrl.split('://');
  if (/SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/.test(why))
    return "Node.js doesn't know who signed its certificate: set NODE_EXTRA_CA_CERTS to that one's.";
  if (scheme === 'https' && /WRONG_VERSION_NUMBER|(PACKET|DATA)_LENGTH/.test(why))
    return `It speaks plain HTTP. Use http://${rest}`;
  if (scheme === 'http' && /HPE_|SOCKET|ECONNRESET/.test(why)) return `Does it use TLS? Try https://${rest}`;
  if (/^(127\.|localhost|\[::1\])/.test(rest))
    return 'Start a server: npm start, or lfs-quota serve. Or set LFS_QUOTA_URL (or --url).';
  return 'Check the URL, and your connection: --url, LFS_QUOTA_URL, or the URL that you logged in to.';
}

/** ` (ECONNREFUSED)`: the socket's error code, which `fetch` keeps in the cause of its own error; or nothing. */
function socketErrorOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return ` (${cause.code})`;
  return cause instanceof Error ? ` (${cause.message})` : '';
}
