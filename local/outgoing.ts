import { request } from 'node:http';
import { isLoopbackHost } from '../lambda/core/rules/text.ts';
import type { SenderOptions } from '../lambda/frame/net/public-address.ts';

/** For tests and development: what is on this machine is reached by plain HTTP, if it may be. All else as it always is. */
export function optionsFor(url: string, allowsLoopback: boolean | undefined): SenderOptions | undefined {
  const { protocol, hostname, port } = new URL(url);
  if (!allowsLoopback || protocol !== 'http:' || !isLoopbackHost(hostname)) return undefined;
  return {
    resolve: async () => [hostname.replace(/^\[|\]$/g, '')],
    isPublic: () => true,
    request: (options) => request({ ...options, port: port || 80 }),
  };
}
