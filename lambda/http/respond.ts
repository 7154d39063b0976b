import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { lfsMediaType } from './request.ts';

export type Response = APIGatewayProxyStructuredResultV2;

const headers = (contentType: string) => ({ 'content-type': contentType, 'cache-control': 'no-store' });

/** A JSON answer of the management API. */
export function json(statusCode: number, body: unknown): Response {
  return { statusCode, headers: headers('application/json'), body: JSON.stringify(body) };
}

export function noContent(): Response {
  return { statusCode: 204 };
}

/** An error of the management API as problem details (RFC 9457). */
export function problem(statusCode: number, title: string, detail: string): Response {
  return {
    statusCode,
    headers: headers('application/problem+json'),
    body: JSON.stringify({ type: 'about:blank', title, status: statusCode, detail }),
  };
}

/** An answer of the LFS API. */
export function lfs(statusCode: number, body: unknown): Response {
  return { statusCode, headers: headers(lfsMediaType), body: JSON.stringify(body) };
}

/**
 * An error of the LFS API (git-lfs docs/api/batch.md, Response Errors). The client prints nothing but the
 * message, so all that a person must know stands in it.
 */
export function lfsError(
  input: { statusCode: number; message: string; requestId: string },
  more: Record<string, string> = {},
): Response {
  const answer = lfs(input.statusCode, { message: input.message, request_id: input.requestId });
  return { ...answer, headers: { ...answer.headers, ...more } };
}

/** 401 of the LFS API: this header makes the client ask its credential helper, and browsers ask nothing. */
export function lfsUnauthorized(requestId: string): Response {
  return lfsError(
    {
      statusCode: 401,
      message: 'Credentials are needed: any user name, and an access token of this tenant as the password.',
      requestId,
    },
    { 'lfs-authenticate': 'Basic realm="lfs-quota"' },
  );
}

/** The one answer for a tenant that is absent, another's, or has a name that none can have. */
export function lfsNotFound(requestId: string): Response {
  return lfsError({ statusCode: 404, message: 'Repository not found.', requestId });
}

export function tenantNotFound(): Response {
  return problem(404, 'Not Found', 'There is no such tenant, or these credentials may not see it.');
}

/** @param who whose token is needed, with its article. */
export function unauthorized(who: 'a valid' | 'the admin' = 'a valid'): Response {
  const where = 'as a Bearer token or as the password of HTTP Basic';
  return problem(401, 'Unauthorized', `This needs ${who} token, ${where}.`);
}
