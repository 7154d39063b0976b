import { z } from 'zod';
import { CliError } from './errors.ts';
import { printable } from './printable.ts';

/** The fields of an RFC 9457 problem that a person needs. */
const problem = z.object({
  code: z.string().optional(),
  title: z.string().optional(),
  detail: z.string().optional(),
});

/** The error for a response without a success status: what it means and what to do next. */
export function refusalError(refusal: {
  status: number;
  body: unknown;
  request: { method: string; path: string };
  baseUrl: string;
}): CliError {
  const { status, request } = refusal;
  const parsed = problem.safeParse(refusal.body);
  const reason = parsed.success ? (parsed.data.detail ?? parsed.data.title) : undefined;
  const message =
    reason === undefined
      ? `The answer to ${request.method} ${request.path} was ${status}.`
      : `${printable(reason)} (${status})`;
  const code = parsed.success ? parsed.data.code : undefined;
  const hint = hintOf(code) ?? hintFor(status, { isProblem: reason !== undefined, baseUrl: refusal.baseUrl });
  return new CliError(message, hint === undefined ? {} : { hint });
}

const mayHaveHappened = 'The change may have been made: check before you repeat it.';

/** What to do about problems of which the status says too little. */
function hintOf(code: string | undefined): string | undefined {
  if (code === 'exports-full')
    return 'See them with `lfs-quota export list TENANT`, and end one with `lfs-quota export delete TENANT EXPORT`.';
  if (code === 'exports-off') return 'Whoever runs the stage can deploy it with another `exports.workers`.';
  if (code === 'export-not-found') return 'See what there is with `lfs-quota export list TENANT`.';
  return undefined;
}

function hintFor(status: number, answer: { isProblem: boolean; baseUrl: string }): string | undefined {
  if (status === 401) {
    return 'The token was rejected. Set LFS_QUOTA_TOKEN (or --token) to the admin token; `npm start` prints it.';
  }
  if (status === 403) {
    return 'This needs the admin token. Set LFS_QUOTA_TOKEN (or --token) to it; `npm start` prints it.';
  }
  if (status === 404 && answer.isProblem) {
    return 'It does not exist, or this token has no access to it. See what exists with `lfs-quota tenant list`, `lfs-quota repo list TENANT` and `lfs-quota token list TENANT`.';
  }
  if (!answer.isProblem && status < 500) {
    return `Check that --url or LFS_QUOTA_URL is the address of an lfs-quota API. It is ${answer.baseUrl} now.`;
  }
  if (status === 409) return 'See what exists with `lfs-quota tenant show NAME`, or choose another name.';
  if (status === 422 || status === 400) return 'Nothing was changed. Correct the value and try again.';
  if (status === 429) return 'Try again in a few seconds.';
  if (status >= 500) {
    return `The server failed; its log says why. ${mayHaveHappened}`;
  }
  return undefined;
}

/** The error when no response arrived. */
export function unreachableError(error: unknown, baseUrl: string): CliError {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new CliError(`${baseUrl} did not answer in time.`, {
      hint: mayHaveHappened,
      cause: error,
    });
  }
  return new CliError(`No lfs-quota server answers at ${baseUrl}${socketErrorOf(error)}.`, {
    hint: 'Start one with `npm start`, or set LFS_QUOTA_URL (or --url) to the address of another.',
    cause: error,
  });
}

/** ` (ECONNREFUSED)`: the socket's error code, which `fetch` keeps in the cause of its own error; or nothing. */
function socketErrorOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return ` (${cause.code})`;
  return cause instanceof Error ? ` (${cause.message})` : '';
}
