import { z } from 'zod';
import { printable } from './terminal.ts';

/** How a command ends, for scripts. The codes never change their meaning. */
export const exitCodes = {
  done: { code: 0, meaning: 'it is done' },
  failed: { code: 1, meaning: 'it failed, and the message says why' },
  usage: { code: 2, meaning: 'the command line is wrong, or there is no token; nothing was sent' },
  'not-found': { code: 3, meaning: 'there is no such thing, or the token may not know of it' },
  unauthorized: { code: 4, meaning: 'the token was rejected, or it may not do this' },
  refused: { code: 5, meaning: 'the service refused it as it was asked; nothing was changed' },
  unavailable: { code: 6, meaning: 'no answer, or too busy: the same may work later' },
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

  /** @param options.failure without it, that of the cause. */
  constructor(message: string, options: { hint: string; failure?: Failure; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.hint = options.hint;
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
}

/** The error for a response without a success status: what it means and what to do next. */
export function refusalError(refusal: Refusal): CliError {
  const { status, request } = refusal;
  const parsed = problem.safeParse(refusal.body);
  const reason = parsed.success ? (parsed.data.detail ?? parsed.data.title) : undefined;
  const message =
    reason === undefined
      ? `The answer to ${request.method} ${request.path} was ${status}.`
      : `${printable(reason)} (${status})`;
  const hint =
    (parsed.success ? hintOf(parsed.data.code) : undefined) ?? hintFor(refusal, reason !== undefined);
  return new CliError(message, { hint, failure: failureFor(status, reason !== undefined) });
}

/** @param isProblem it is lfs-quota that answered. */
function failureFor(status: number, isProblem: boolean): Failure {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 429 || (status >= 502 && status <= 504)) return 'unavailable';
  if (!isProblem || status < 400 || status >= 500) return 'failed';
  return status === 404 ? 'not-found' : 'refused';
}

const mayHaveHappened = 'The change may have been made: check before you repeat it.';
const whatExists =
  'It does not exist, or this token has no access to it. See what exists with `lfs-quota tenant list`, `lfs-quota repo list TENANT` and `lfs-quota token list TENANT`.';
const beingDeleted = 'See what is left with `lfs-quota tenant show TENANT` and `lfs-quota repo list TENANT`.';
const correct = 'Nothing was changed. Correct the value and try again.';
/** Where the admin token is. */
export const adminTokenPlace =
  '`npm start` shows the admin token or names its file; on AWS it is in the secret AdminSecretArn.';
const later = 'Try again in a few seconds.';
const otherVersion =
  'Nothing was changed. The service may be of another version: update the older of the two.';
const cleanupState = 'See where it stands with `lfs-quota gc status TENANT REPO`.';

/** What to do about problems of the API of which the status says too little. */
export const problemHints: Readonly<Record<string, string>> = {
  'invalid-json': otherVersion,
  'invalid-idempotency-key': otherVersion,
  'repo-required': 'This token is for some repos alone: name one with --repo.',
  'not-found': otherVersion,
  'tenant-not-found': whatExists,
  'repo-not-found': whatExists,
  'object-not-found': 'See what is stored with `lfs-quota object list TENANT --repo REPO`.',
  'token-not-found': 'See the ids with `lfs-quota token list TENANT`.',
  'rule-not-found': 'See the ids with `lfs-quota rule list TENANT`.',
  'webhook-not-found': 'Set one with `lfs-quota webhook set TENANT URL`.',
  'cleanup-not-found': 'Open one with `lfs-quota gc open TENANT REPO`.',
  'export-not-found': 'See what there is with `lfs-quota export list TENANT`.',
  'method-not-allowed': otherVersion,
  'tenant-exists': 'See it with `lfs-quota tenant show TENANT`, or choose another name.',
  'tenant-name-taken': 'Choose another name.',
  'tenant-name-reserved': 'Choose another name.',
  'tenant-has-adopted': 'Take the adopted repo out of the settings of the stage first.',
  'tenant-closed': beingDeleted,
  'repo-exists': 'See it with `lfs-quota repo show TENANT REPO`, or choose another name.',
  'repo-closed': beingDeleted,
  'repos-full': 'See them with `lfs-quota repo list TENANT`.',
  'limits-full': 'Lift one first: `lfs-quota repo limit TENANT REPO unlimited`.',
  'public-repos-full': 'Make another private first: `lfs-quota repo private TENANT REPO`.',
  'mapped-repos-full': 'Unmap another first: `lfs-quota repo unhost TENANT REPO`.',
  'count-not-ended': 'See how far it is with `lfs-quota count list TENANT`.',
  'cleanup-ending': `Try again in a minute. ${cleanupState}`,
  'cleanup-too-early': cleanupState,
  'cleanup-running': cleanupState,
  'exports-off': 'Whoever runs the stage can deploy it with another `exports.workers`.',
  'exports-full':
    'See them with `lfs-quota export list TENANT`, and end one with `lfs-quota export delete TENANT EXPORT`.',
  'rules-full': 'Delete one first: `lfs-quota rule delete TENANT RULE`.',
  'token-revoked': 'Create another: `lfs-quota token create TENANT --scope SCOPE`.',
  'body-too-large': 'Nothing was changed. Ask for less at a time.',
  'unsupported-media-type': otherVersion,
  'invalid-body': correct,
  'invalid-query': correct,
  'idempotency-key-reused': otherVersion,
  'deletions-full': 'See them with `lfs-quota deletion list TENANT`.',
  'test-too-soon': later,
  'issuer-unavailable': later,
};

function hintOf(code: string | undefined): string | undefined {
  return code !== undefined && Object.hasOwn(problemHints, code) ? problemHints[code] : undefined;
}

function hintFor({ status, baseUrl }: Refusal, isProblem: boolean): string {
  if (status === 401) {
    return `Set LFS_QUOTA_TOKEN (or --token) to a token that is valid for this. ${adminTokenPlace}`;
  }
  if (status === 403) {
    return `This token is valid, and may not do this. Set LFS_QUOTA_TOKEN (or --token) to another. ${adminTokenPlace}`;
  }
  if (status === 429) return later;
  if (status >= 500) return `The server failed; its log says why. ${mayHaveHappened}`;
  if (!isProblem) {
    return `Check that --url or LFS_QUOTA_URL is the address of an lfs-quota API. It is ${baseUrl} now.`;
  }
  if (status === 404) return whatExists;
  return status === 400 || status === 422 ? correct : otherVersion;
}

/** The error when no response arrived. */
export function unreachableError(error: unknown, baseUrl: string): CliError {
  const failure = 'unavailable';
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new CliError(`${baseUrl} did not answer in time.`, {
      hint: mayHaveHappened,
      failure,
      cause: error,
    });
  }
  return new CliError(`No lfs-quota server answers at ${baseUrl}${socketErrorOf(error)}.`, {
    hint: 'Start one with `npm start`, or set LFS_QUOTA_URL (or --url) to the address of another.',
    failure,
    cause: error,
  });
}

/** ` (ECONNREFUSED)`: the socket's error code, which `fetch` keeps in the cause of its own error; or nothing. */
function socketErrorOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return ` (${cause.code})`;
  return cause instanceof Error ? ` (${cause.message})` : '';
}
