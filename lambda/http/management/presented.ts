import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { credential, header } from '../request.ts';
import { sessionCookie } from './session-cookie.ts';

/** What a request shows to be let in. */
export interface Presented {
  readonly kind: 'token' | 'session';
  readonly secret: string;
}

/** The console sends it with each request. A page of another origin cannot, without a preflight that is refused. */
const consoleHeader = 'lfs-quota-console';

/**
 * The token of a request, or the session of the console.
 *
 * Browsers send a cookie also for pages of others: those on another port of the same machine are of the same site. So it
 * counts only with a header that such a page cannot send, and where the browser says that the page is our own.
 */
export function presentedBy(event: APIGatewayProxyEventV2): Presented | undefined {
  if (header(event, 'authorization') !== undefined) {
    const secret = credential(event);
    return secret === undefined ? undefined : { kind: 'token', secret };
  }
  if (header(event, consoleHeader) !== '1') return undefined;
  const site = header(event, 'sec-fetch-site');
  if (site !== undefined && site !== 'same-origin') return undefined;
  const secret = sessionCookie(event);
  return secret === undefined ? undefined : { kind: 'session', secret };
}
