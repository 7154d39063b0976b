import { isIPv6 } from 'node:net';

/** What one client has: an address of IPv4, or the first groups of one of IPv6, which have 64 bits. */
export function networkOf(address: string, groupCount = 4): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? [];
  const groups = head === '' ? [] : head.split(':');
  const rest = tail ? tail.split(':').length : 0;
  const zeros = tail === undefined ? 0 : 8 - groups.length - rest;
  const whole = [...groups, ...Array<string>(Math.max(0, zeros)).fill('0'), ...(tail?.split(':') ?? [])];
  return whole
    .slice(0, groupCount)
    .map((group) => Number.parseInt(group || '0', 16).toString(16))
    .join(':');
}
