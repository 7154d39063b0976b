import type * as z from 'zod';
import type { PersonAccess } from '../../domain/person.ts';
import { GitHostUnavailableError, type HostAnswer } from '../../ports/git-hosts.ts';
import type { Got } from './get-json.ts';

/** git-lfs gives up if it is to wait longer than this. */
const retryAfterMaxMs = 300_000;
const retryAfterMinMs = 1_000;

type Refusal = Exclude<HostAnswer, { kind: 'granted' }>;

/** What a host says of a token and a repository. */
export type HostFindings =
  | {
      readonly kind: 'found';
      readonly userId: string;
      readonly login: string;
      readonly access: PersonAccess;
      readonly hostedId: string;
    }
  | Refusal;

/**
 * What an answer other than 200 means. undefined: it is a 200.
 *
 * @throws {GitHostUnavailableError} the host is in trouble.
 */
export function refusalOf(got: Got, nowMs: number): Refusal | undefined {
  const { status, headers } = got;
  if (status === 200) return undefined;
  if (status === 429 || (status === 403 && isUsedUp(headers)))
    return { kind: 'limited', retryAfterMs: retryAfterOf(headers, nowMs) };
  if (status === 401) return { kind: 'refused', reason: 'token-rejected' };
  if (status === 403) return { kind: 'refused', reason: 'token-too-small' };
  if (status >= 300 && status < 400) return { kind: 'refused', reason: 'moved' };
  if (status >= 500 || status === 408)
    throw new GitHostUnavailableError(`A git host does not answer as it should: it answered ${status}.`);
  return { kind: 'refused', reason: 'no-access' };
}

/** A 403 says that the limit of requests is reached by these headers, and by others what it always says. */
function isUsedUp(headers: Got['headers']): boolean {
  return headers.get('retry-after') !== null || headers.get('x-ratelimit-remaining') === '0';
}

function retryAfterOf(headers: Got['headers'], nowMs: number): number {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const resetMs = 1000 * Number(headers.get('x-ratelimit-reset') ?? Number.NaN);
  const waitMs = Number.isFinite(seconds) ? 1000 * seconds : resetMs - nowMs;
  if (!Number.isFinite(waitMs)) return retryAfterMaxMs / 5;
  return Math.min(retryAfterMaxMs, Math.max(retryAfterMinMs, waitMs));
}

/** What a 200 says. @throws {GitHostUnavailableError} it is something else than this API answers. */
export function parsed<T>(schema: z.ZodType<T>, got: Got): T {
  const result = schema.safeParse(got.body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join('.') || 'the body';
  throw new GitHostUnavailableError(`A git host does not answer as it should: ${where} is none of its API.`);
}
