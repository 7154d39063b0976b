import { lookup } from 'node:dns/promises';
import type { ClientRequest } from 'node:http';
import type { RequestOptions } from 'node:https';
import { BlockList, isIP } from 'node:net';

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

async function addressesOf(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, order: 'ipv4first' });
  return found.map(({ address }) => address);
}

/** What stands in for the internet. */
export interface SenderOptions {
  /** Replaces the resolver of this machine. @returns all addresses of a name. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
  /** Replaces what tells public addresses. */
  readonly isPublic?: (address: string) => boolean;
  /** Replaces HTTPS on port 443. */
  readonly request?: (options: RequestOptions) => ClientRequest;
  readonly timeoutMs?: number;
}

/** Why there is no address to connect to. */
export type AddressFailure = 'timeout' | 'name-not-found' | 'address-not-public';

/** An address of a name, if all of its addresses are public. */
export async function publicAddress(
  hostname: string,
  options: Pick<SenderOptions, 'resolve' | 'isPublic'> & { readonly timeout: AbortSignal },
): Promise<string | { readonly kind: 'failed'; readonly failure: AddressFailure }> {
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

const failed = (failure: AddressFailure) => ({ kind: 'failed', failure }) as const;
