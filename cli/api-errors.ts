import { z } from 'zod';
import { CliError } from './errors.ts';
import { printable } from './render.ts';

/** RFC 9457, as far as a person needs it. */
const problem = z.object({ title: z.string().optional(), detail: z.string().optional() });

/** What a status that is no success means at the terminal, and what to do next. */
export function describeRefusal(refusal: {
  status: number;
  body: unknown;
  request: { method: string; path: string };
  baseUrl: string;
}): CliError {
  const { status, request } = refusal;
  const parsed = problem.safeParse(refusal.body);
  const said = parsed.success ? (parsed.data.detail ?? parsed.data.title) : undefined;
  const asked = `${request.method} ${request.path}`;
  const message =
    said === undefined ? `${asked} was answered with ${status}.` : `${printable(said)} (${status})`;
  const hint = hintFor(status, { isProblem: said !== undefined, baseUrl: refusal.baseUrl });
  return new CliError(message, hint === undefined ? {} : { hint });
}

function hintFor(status: number, answer: { isProblem: boolean; baseUrl: string }): string | undefined {
  if (status === 401) {
    return 'The token was not taken. Set LFS_QUOTA_TOKEN (or --token) to the admin token; `npm start` shows it.';
  }
  if (status === 403) {
    return 'This token may not do that. Use the admin token in LFS_QUOTA_TOKEN or --token.';
  }
  if (status === 404 && answer.isProblem) {
    return 'It does not exist, or this token may not see it. With the admin token, `tenant list` shows all tenants, `repo list TENANT` and `token list TENANT` what one has.';
  }
  if (!answer.isProblem && status < 500) {
    return `Check that --url or LFS_QUOTA_URL names the lfs-quota API: ${answer.baseUrl} is asked now.`;
  }
  if (status === 409) return 'See what is there with `tenant show NAME`, or choose another name.';
  if (status === 422 || status === 400) return 'Nothing was changed. Correct it and try again.';
  if (status === 429) return 'Try again in a few seconds.';
  if (status >= 500) {
    return 'The server failed; its log says why. What was asked may have happened: look before you repeat it.';
  }
  return undefined;
}

/** Why no answer came at all. */
export function describeUnreachable(error: unknown, baseUrl: string): CliError {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new CliError(`${baseUrl} did not answer in time.`, {
      hint: 'What was asked may have happened: look before you repeat it.',
      cause: error,
    });
  }
  return new CliError(`No lfs-quota server answers at ${baseUrl}${reasonOf(error)}.`, {
    hint: 'Start it with `npm start`, or name another with --url or LFS_QUOTA_URL.',
    cause: error,
  });
}

/** fetch wraps what happened: the socket's error code is in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return ` (${cause.code})`;
  return cause instanceof Error ? ` (${cause.message})` : '';
}
