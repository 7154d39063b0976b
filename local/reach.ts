import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, SocketAddress } from 'node:net';
import { pageAccess } from '../lambda/routes.ts';
import { StartupError } from './system/durable-file.ts';

/** Where clients reach this server, and whose word on them counts. */
export interface Reach {
  /**
   * Decide host, scheme and path of links: by the one that `Host` names, or else the first. What `Host` says gets into no link. Absent:
   * only this machine reaches it.
   */
  readonly publicUrls?: readonly [URL, ...URL[]] | undefined;
  /** What URLs of objects begin with, whichever name was requested. Default: that name. */
  readonly objectsUrl?: string | undefined;
  /** The largest upload. Default: S3's. */
  readonly uploadBytesMax?: number | undefined;
  /** Proxies whose `X-Forwarded-For` is believed. Default: none. */
  readonly trusts?: BlockList | undefined;
  /** Origins whose pages may call the API. Default: none but its own. */
  readonly pagesOf?: ReadonlySet<string> | undefined;
}

/** The URL of this server that a request came by, as its event has it. */
export interface Origin {
  /** All of it, without a slash at its end. */
  readonly url: string;
  readonly host: string;
  readonly port: string;
  readonly protocol: 'http' | 'https';
  /** What its paths here follow, such as `/lfs`, or nothing. */
  readonly path: string;
}

/** @param request.port on which it came, of no matter with a public URL. @param request.target its path and query. */
export function originOf(
  { publicUrls }: Reach,
  request: { host: string | undefined; port: number; target?: string | undefined },
): Origin {
  if (!publicUrls) {
    const host = loopbackHost(request.host) ?? `127.0.0.1:${request.port}`;
    return { url: `http://${host}`, host, port: String(request.port), protocol: 'http', path: '' };
  }
  const named = publicUrls.map(partsOf).filter((url) => isNamed(url, request.host));
  const asked = named.find(({ path }) => below(path, request.target) !== undefined);
  return asked ?? named[0] ?? partsOf(publicUrls[0]);
}

function partsOf(url: URL): Origin {
  const protocol = url.protocol === 'https:' ? 'https' : 'http';
  const [port, path] = [url.port || (protocol === 'https' ? '443' : '80'), url.pathname.replace(/\/$/, '')];
  return { url: url.origin + path, host: url.host, port, protocol, path };
}

/** Whether a Host header names it. Some name the usual port, too. */
function isNamed({ protocol, host }: Origin, said = ''): boolean {
  const text = `${protocol}://${said}`;
  return URL.canParse(text) && new URL(text).host === host;
}

/** What follows a path in a request's target. undefined: it isn't below, as proxies ask for `/health`. */
export function below(path: string, target = '/'): string | undefined {
  const rest = target.slice(path.length);
  return target.startsWith(path) && /^([/?]|$)/.test(rest) ? rest : undefined;
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

/** Which headers a proxy passes on, and what it must, for `check`. undefined: there is none. @param port on which the request came. */
export function arrivedText(
  reach: Reach,
  port: number,
  { headers, socket }: IncomingMessage,
): string | undefined {
  const { protocol, port: askedPort } = originOf(reach, { host: headers.host, port });
  if (protocol === 'http' && askedPort === String(port)) return undefined;
  const isBelieved = headers['x-forwarded-for'] && isProxy(reach, plainAddress(`${socket.remoteAddress}`));
  const uploads = reach.uploadBytesMax && `uploads=${reach.uploadBytesMax}`;
  return [headers.authorization && 'authorization', isBelieved && 'x-forwarded-for', uploads]
    .filter(Boolean)
    .join();
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

/** @param text URLs with commas, such as `https://lfs.example.com,https://example.com/lfs`. @throws {StartupError} */
export function readPublicUrls(text: string): [URL, ...URL[]] {
  if (text === '')
    throw new StartupError('Pass --public-url, the URL that clients use, such as https://lfs.example.com.');
  const [first = '', ...others] = text.split(',').map((each) => each.trim());
  return [readPublicUrl(first), ...others.map((each) => readPublicUrl(each))];
}

/** @param text such as `https://objects.example.com`. @throws {StartupError} */
export function readObjectsUrl(text: string): string {
  const url = readPublicUrl(text, '--objects-url');
  if (url.pathname === '/') return url.origin;
  throw new StartupError(
    `--objects-url must be like https://objects.example.com, without a path, not '${text}'.`,
  );
}

/** @throws {StartupError} */
function readPublicUrl(text: string, option = '--public-url'): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:\/\/[^/?#@]+(\/[\w.~-]+)*\/?$/.test(url.href))
    throw new StartupError(
      `${option} must be like https://lfs.example.com, or https://example.com/lfs, not '${text}'.`,
    );
  if (url.protocol === 'http:' && loopbackHost(url.host) === undefined)
    throw new StartupError(
      `${option} ${url.origin} must start with https://: tokens would be sent in the clear. Put a TLS proxy before lfs-quota.`,
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
