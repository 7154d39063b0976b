import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { SignedRequest } from '../../core/store/rules/store.ts';
import {
  answer,
  credential,
  header,
  lfsMediaType,
  type Refusal,
  type Response,
  type Saying,
  verifyTokenHeader,
} from '../../frame/api/http.ts';
import { authenticationRequired, repoNotFound } from './messages.ts';

/** An answer of the LFS API. */
export function lfs<Status extends number, Body>(statusCode: Status, body: Body): Saying<Status, Body> {
  return answer(statusCode, lfsMediaType, body) as Saying<Status, Body>;
}

/**
 * An error of the LFS API (git-lfs docs/api/batch.md, Response Errors). The client prints nothing but the
 * message, so all that a person must know stands in it.
 */
export function lfsError(
  input: { statusCode: number; message: string; requestId: string },
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  const { statusCode, message, requestId } = input;
  return answer(statusCode, lfsMediaType, { message, request_id: requestId }, headers) as Refusal;
}

/** An unexpected error, as `guard` has the API word it. */
export function respondLfsError(statusCode: number, message: string, requestId: string): Response {
  return lfsError({ statusCode, message, requestId });
}

/**
 * 429, always with Retry-After: without it git-lfs does not retry, and the push fails.
 * @param input.seconds until it is worth trying again, 1 or more.
 */
export function lfsRetryLater(input: { seconds: number; message: string; requestId: string }): Refusal {
  const { seconds, message, requestId } = input;
  return lfsError(
    { statusCode: 429, message, requestId },
    { 'retry-after': String(Math.max(1, Math.ceil(seconds))) },
  );
}

/** 401 of the LFS API. git-lfs reads its own header, other clients that of HTTP (RFC 9110, 15.5.2). */
export function lfsUnauthorized(requestId: string, message = authenticationRequired([])): Refusal {
  return lfsError(
    { statusCode: 401, message, requestId },
    { 'lfs-authenticate': challenge, 'www-authenticate': challenge },
  );
}

const challenge = 'Basic realm="lfs-quota"';

/** What a client is to send, from a signed request. */
export function wireAction(signed: SignedRequest, expiresInMs: number) {
  return {
    href: signed.href,
    header: signed.header,
    expires_in: Math.max(0, Math.floor(expiresInMs / 1000)),
  };
}

/** The one answer for a tenant that is absent, another's, or has a name that no tenant can have. */
export function lfsNotFound(requestId: string): Refusal {
  return lfsError({ statusCode: 404, message: repoNotFound, requestId });
}

/** The token of a verify request. `Authorization` had it in actions that were handed out before this header. */
export function verifyToken(event: APIGatewayProxyEventV2): string | undefined {
  return header(event, verifyTokenHeader.toLowerCase()) ?? credential(event);
}
