import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Settings } from '../../rules/settings.ts';
import type { SignedRequest } from '../../store/rules/store.ts';
import {
  accepts,
  answer,
  bodyText,
  credential,
  header,
  lfsMediaType,
  type Response,
  verifyTokenHeader,
} from '../http.ts';
import { authenticationRequired, invalid, repoNotFound } from './messages.ts';

/** An answer of the LFS API. */
export function lfs(statusCode: number, body: unknown): Response {
  return answer(statusCode, lfsMediaType, body);
}

/**
 * An error of the LFS API (git-lfs docs/api/batch.md, Response Errors). The client prints nothing but the
 * message, so all that a person must know stands in it.
 */
export function lfsError(
  input: { statusCode: number; message: string; requestId: string },
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { statusCode, message, requestId } = input;
  return answer(statusCode, lfsMediaType, { message, request_id: requestId }, headers);
}

/** An unexpected error, as `guard` has the API word it. */
export function respondLfsError(statusCode: number, message: string, requestId: string): Response {
  return lfsError({ statusCode, message, requestId });
}

/**
 * 429, always with Retry-After: without it git-lfs does not retry, and the push fails.
 * @param input.seconds until it is worth trying again, 1 or more.
 */
export function lfsRetryLater(input: { seconds: number; message: string; requestId: string }): Response {
  const { seconds, message, requestId } = input;
  return lfsError(
    { statusCode: 429, message, requestId },
    { 'retry-after': String(Math.max(1, Math.ceil(seconds))) },
  );
}

/** 401 of the LFS API. git-lfs reads its own header, other clients that of HTTP (RFC 9110, 15.5.2). */
export function lfsUnauthorized(requestId: string, message = authenticationRequired([])): Response {
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
export function lfsNotFound(requestId: string): Response {
  return lfsError({ statusCode: 404, message: repoNotFound, requestId });
}

/** The answer to a client that does not take the media type of the LFS API. undefined: it does. */
export function lfsNotAccepted(event: APIGatewayProxyEventV2): Response | undefined {
  if (accepts(event, lfsMediaType)) return undefined;
  const { requestId } = event.requestContext;
  return lfsError({ statusCode: 406, message: invalid.accept(lfsMediaType), requestId });
}

/** The body of an LFS request. It's JSON, whatever type it has: a browser's `fetch` says `text/plain`. */
export function lfsBody(
  settings: Settings,
  event: APIGatewayProxyEventV2,
): { ok: true; body: string } | { ok: false; response: Response } {
  const { requestId } = event.requestContext;
  const refuse = (statusCode: number, message: string) => ({
    ok: false as const,
    response: lfsError({ statusCode, message, requestId }),
  });
  const notAccepted = lfsNotAccepted(event);
  if (notAccepted) return { ok: false, response: notAccepted };
  // A browser adds a login that it knows to what another site's page sends as text, without a preflight.
  if (header(event, 'sec-fetch-site') === 'cross-site') return refuse(403, invalid.otherSite);
  const body = bodyText(event, settings.bodyBytesMax);
  if (body === undefined) {
    return refuse(413, invalid.bodyTooLarge(settings.bodyBytesMax));
  }
  return { ok: true, body };
}

/** The token of a verify request. `Authorization` had it in actions that were handed out before this header. */
export function verifyToken(event: APIGatewayProxyEventV2): string | undefined {
  return header(event, verifyTokenHeader.toLowerCase()) ?? credential(event);
}
