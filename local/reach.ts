import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, SocketAddress } from 'node:net';
import { pageAccess } from '../lambda/routes.ts';
import { StartupError } from './system/durable-file.ts';

/** Where clients reach this server, and whose word on them counts. */
export interface Reach {
  /** Decides host and scheme of links and cookies, whatever `Host` says. undefined: only this machine reaches it. */
  readonly publicUrl?: URL | undefined;
  /** Proxies whose `X-Forwarded-For` is believed. Default: none. */
  readonly trusts?: BlockList | undefined;
  /** Origins whose pages may call the API. Default: none but its own. */
  readonly pagesOf?: ReadonlySet<string> | undefined;
}

/** An origin, as a request's event has it. */
export interface Origin {
  readonly host: string;
  readonly port: string;
  readonly protocol: 'http' | 'https';
}

/** @param request.port on which it came, of no matter with a public URL. */
export function originOf({ publicUrl }: Reach, request: { host: string | undefined; port: number }): Origin {
  if (!publicUrl) {
    const host = loopbackHost(request.host) ?? `127.0.0.1:${request.port}`;
    return { host, port: String(request.port), protocol: 'http' };
  }
  const protocol = publicUrl.protocol === 'https:' ? 'https' : 'http';
  return { host: publicUrl.host, port: publicUrl.port || (protocol === 'https' ? '443' : '80'), protocol };
}

/**
 * The Host header if it names this machine, else undefined. Any other name comes from somebody's DNS, and links that
 * are built from it would lead there.
 */
function loopbackHost(host: string | undefined): string | undefined {
  return /^(127(?:\.\d{1,3}){3}|localhost|\[::1\])(:\d{1,5})?$/i.test(host ?? '') ? host : undefined;
}

/**
 * Who sent a request: read from the right, the first address that no trusted proxy has. What stands left of it, the client
 * wrote itself.
 *
 * @param request.remote of the connection. @param request.forwarded `X-Forwarded-For`.
 */
export function clientAddress(
  { trusts }: Reach,
  request: { remote: string; forwarded: string | undefined },
): string {
  let address = plainAddress(request.remote);
  const said = (request.forwarded ?? '').split(',').map((each) => plainAddress(each.trim()));
  while (isProxy({ trusts }, address)) {
    const before = said.pop();
    if (before === undefined || isIP(before) === 0) break;
    address = before;
  }
  return address;
}

/** Header of `/health`. */
export const arrivedHeader = 'lfs-quota-arrived';

/** Which headers a proxy passes on, for `check`. undefined: there is none. @param port on which the request came. */
export function arrivedText(
  { publicUrl, trusts }: Reach,
  port: number,
  { headers, socket }: IncomingMessage,
): string | undefined {
  if (!publicUrl || publicUrl.origin === `http://${publicUrl.hostname}:${port}`) return undefined;
  const isBelieved =
    headers['x-forwarded-for'] && isProxy({ trusts }, plainAddress(`${socket.remoteAddress}`));
  return [headers.authorization && 'authorization', isBelieved && 'x-forwarded-for'].filter(Boolean).join();
}

/** Without the port that some proxies add, and in one spelling. IPv4 as such, though a socket for both families shows it as IPv6. */
function plainAddress(text: string): string {
  const address = text.replace(/^(?:\[(.*)\]|([\d.]+))(?::\d+)?$/, '$1$2');
  if (isIP(address) !== 6) return address;
  return new SocketAddress({ address, family: 'ipv6' }).address.replace(/^::ffff:(?=\d+\.)/, '');
}

/** @param address without a port. */
function isProxy({ trusts }: Reach, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && trusts?.check(address, version === 6 ? 'ipv6' : 'ipv4') === true;
}

/** @param text such as `https://lfs.example.com`. @throws {StartupError} */
export function readPublicUrl(text: string): URL {
  if (text === '')
    throw new StartupError('Pass --public-url, the URL that clients use, such as https://lfs.example.com.');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin = url && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
  if (!isOrigin)
    throw new StartupError(
      `--public-url must be like https://lfs.example.com, without a path, not '${text}'.`,
    );
  if (url.protocol === 'http:' && loopbackHost(url.host) === undefined)
    throw new StartupError(
      `--public-url ${url.origin} must start with https://: tokens would be sent in the clear. Put a TLS proxy before lfs-quota.`,
    );
  return url;
}

/** @param text addresses and networks such as `127.0.0.1,10.0.0.0/8`. @throws {StartupError} */
export function readTrustedProxies(text: string): BlockList {
  const trusts = new BlockList();
  for (const each of text.split(',').map((part) => part.trim())) {
    const [address = '', prefix, ...rest] = each.split('/');
    const version = isIP(address);
    const bits = version === 6 ? 128 : 32;
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
    if (version === 0 || rest.length > 0 || !(length <= bits))
      throw new StartupError(
        `Trusted proxies must be addresses such as 127.0.0.1 or 10.0.0.0/8, not '${each}'.`,
      );
    trusts.addSubnet(address, length, version === 6 ? 'ipv6' : 'ipv4');
  }
  return trusts;
}

/** @param text origins with commas. @throws {StartupError} */
export function readCorsOrigins(text: string): ReadonlySet<string> {
  const origins = text.split(',').map((each) => each.trim());
  const wrong = origins.find((each) => !URL.canParse(each) || new URL(each).origin !== each);
  if (wrong === undefined) return new Set(origins);
  throw new StartupError(
    `--cors-origins takes origins with commas, such as https://app.example.com, not '${wrong}'.`,
  );
}

/** What an answer of the API says to a page. Empty: the page is of no origin that may call it, or of its own. */
export function pageHeaders(
  { pagesOf }: Reach,
  { headers, method }: IncomingMessage,
): Record<string, string> {
  const { origin } = headers;
  if (!origin || !pagesOf?.has(origin)) return {};
  const preflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
  return {
    vary: 'origin',
    'access-control-allow-origin': origin,
    ...(preflight
      ? {
          'access-control-allow-methods': pageAccess.methods.join(),
          'access-control-allow-headers': pageAccess.headers.join(),
          'access-control-max-age': String(pageAccess.maxAgeSeconds),
        }
      : { 'access-control-expose-headers': pageAccess.exposedHeaders.join() }),
  };
}
