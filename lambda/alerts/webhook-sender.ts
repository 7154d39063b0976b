import { lookup } from 'node:dns/promises';
import type { ClientRequest } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { BlockList, isIP } from 'node:net';
import type { WebhookFailure, WebhookSender } from './rules/webhook-delivery.ts';

/**
 * What is not public of IPv4, as IANA's registry of special purposes has it: this network, private, shared (CGNAT),
 * loopback, link-local (where clouds answer with credentials), protocol assignments, documentation, the relay of 6to4,
 * benchmarks, multicast and reserved.
 */
const notPublicV4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;

/** All that is public of IPv6 so far. Mapped IPv4, NAT64, unique local, link-local and multicast are outside of it. */
const publicV6 = ['2000::', 3] as const;

/** Within it: protocol assignments with Teredo, documentation, and 6to4, which can stand for any IPv4 address. */
const notPublicV6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const;

const blockedV4 = new BlockList();
for (const [net, prefix] of notPublicV4) blockedV4.addSubnet(net, prefix, 'ipv4');
const allowedV6 = new BlockList();
allowedV6.addSubnet(...publicV6, 'ipv6');
const blockedV6 = new BlockList();
for (const [net, prefix] of notPublicV6) blockedV6.addSubnet(net, prefix, 'ipv6');

/** Whether anybody on the internet can have this address. @param address as a resolver answers it. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !blockedV4.check(address, 'ipv4');
    case 6:
      // With a zone it is an address of this machine's network.
      return !address.includes('%') && allowedV6.check(address, 'ipv6') && !blockedV6.check(address, 'ipv6');
    default:
      return false;
  }
}

/** For the name, the connection and the answer together. */
const answerMs = 5000;

type Sent = Awaited<ReturnType<WebhookSender['post']>>;

export interface SenderOptions {
  /** Replaces the resolver of this machine. @returns all addresses of a name. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
  /** Replaces what tells public addresses. */
  readonly isPublic?: (address: string) => boolean;
  /** Replaces HTTPS on port 443. */
  readonly request?: (options: RequestOptions) => ClientRequest;
  readonly timeoutMs?: number;
}

/**
 * Sends to receivers that tenants name. Nothing but the internet can be reached: each address of the name has to be public,
 * and the connection goes to one that was checked, not to the name, so that a second answer of the resolver changes
 * nothing. The certificate has to be that of the name. No redirect is followed.
 */
export function createWebhookSender(options: SenderOptions = {}): WebhookSender {
  const { request = httpsRequest } = options;
  return {
    async post({ url, headers, body }) {
      const { hostname, pathname, search } = new URL(url);
      const timeout = AbortSignal.timeout(options.timeoutMs ?? answerMs);
      const address = await publicAddress(hostname, { ...options, timeout });
      if (typeof address !== 'string') return address;
      return answerTo(
        request({
          method: 'POST',
          host: address,
          port: 443,
          servername: hostname,
          path: pathname + search,
          headers: {
            ...headers,
            host: hostname,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            'user-agent': 'lfs-quota',
          },
          // A connection of its own, closed with the answer.
          agent: false,
          signal: timeout,
        }),
        { body, timeout },
      );
    },
  };
}

async function addressesOf(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, order: 'ipv4first' });
  return found.map(({ address }) => address);
}

/** An address of a name, if all of its addresses are public. */
export async function publicAddress(
  hostname: string,
  options: Pick<SenderOptions, 'resolve' | 'isPublic'> & { readonly timeout: AbortSignal },
): Promise<string | Extract<Sent, { kind: 'failed' }>> {
  const { resolve = addressesOf, isPublic = isPublicAddress, timeout } = options;
  let addresses: readonly string[] = [];
  try {
    addresses = await orAborted(resolve(hostname), timeout);
  } catch {
    return failed(timeout.aborted ? 'timeout' : 'name-not-found');
  }
  const [first] = addresses;
  if (first === undefined) return failed('name-not-found');
  return addresses.every(isPublic) ? first : failed('address-not-public');
}

/** A resolver cannot be aborted: its answer is then not waited for. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

function answerTo(
  sent: ClientRequest,
  { body, timeout }: { body: string; timeout: AbortSignal },
): Promise<Sent> {
  return new Promise((resolve) => {
    sent.on('response', (response) => {
      const { statusCode: status = 0 } = response;
      // Whatever else it says is not read.
      response.on('error', () => undefined);
      response.destroy();
      resolve(status >= 300 && status < 400 ? failed('redirect') : { kind: 'answered', status });
    });
    sent.on('error', (error) => resolve(failed(timeout.aborted ? 'timeout' : failureOf(error))));
    sent.on('close', () => resolve(failed('not-reachable')));
    sent.end(body);
  });
}

/** Codes of OpenSSL and of Node for a certificate that is not that of the name, or that nobody vouches for. */
const certificateError = /CERT|ALTNAME|SELF_SIGNED|ISSUER|SSL|TLS/;

function failureOf(error: Error): WebhookFailure {
  return 'code' in error && certificateError.test(String(error.code)) ? 'certificate' : 'not-reachable';
}

function failed(failure: WebhookFailure): Extract<Sent, { kind: 'failed' }> {
  return { kind: 'failed', failure };
}
