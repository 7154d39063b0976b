import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { header } from '../request.ts';

/**
 * The cookie of a session. By its prefix, browsers take it over TLS alone, for this host and no other.
 *
 * `npm start` serves plain HTTP on loopback, where not every browser keeps such a cookie. There it has a name with the
 * port in it: a browser does not tell the ports of a host apart, and a second stack would overwrite the first one's.
 */
function cookieName(event: APIGatewayProxyEventV2): { name: string; isSecure: boolean } {
  const [, port] = /^(?:127\.[\d.]+|localhost|\[::1\]):(\d+)$/i.exec(event.requestContext.domainName) ?? [];
  const isPlain = header(event, 'x-forwarded-proto') === 'http' && port !== undefined;
  return isPlain ? { name: `lfsq-${port}`, isSecure: false } : { name: '__Host-lfsq', isSecure: true };
}

/** What the cookie of a request holds. undefined: it has none, or more than one. */
export function sessionCookie(event: APIGatewayProxyEventV2): string | undefined {
  const begin = `${cookieName(event).name}=`;
  // API Gateway takes them out of the headers; what stands in for it may not.
  const all = event.cookies ?? header(event, 'cookie')?.split(/; */) ?? [];
  const found = all.filter((cookie) => cookie.startsWith(begin));
  return found.length === 1 ? found[0]?.slice(begin.length) : undefined;
}

/** @param session its end; a cookie without a value is removed. */
export function setSessionCookie(
  event: APIGatewayProxyEventV2,
  session: { readonly value: string; readonly maxAgeMs: number },
): string {
  const { name, isSecure } = cookieName(event);
  const seconds = Math.max(0, Math.floor(session.maxAgeMs / 1000));
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${session.value}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Strict${secure}`;
}
