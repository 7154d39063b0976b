import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { publicAddress, type SenderOptions } from '../../../frame/net/public-address.ts';
import type { CopyMessage } from './messages.ts';

/** All that node:http exports would load much more: see lambda/core/store/http-exchange.ts. */
const { request: httpRequest } = process.getBuiltinModule('node:http');

/** For the name and the connection, and the longest pause within either stream. */
const idleMs = 30_000;

/** What came of one attempt. */
export type CopyOutcome =
  | { readonly kind: 'copied' }
  /** Another attempt would end the same. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

type CopyInput = Pick<CopyMessage, 'from' | 'to' | 'sizeBytes'> & { readonly stop: AbortSignal };

export type Copier = ReturnType<typeof createCopier>;

/**
 * Streams a signed GET into a signed PUT. The GET reaches nothing but the internet, as what is sent to webhooks: each
 * address of the name is public, the connection goes to one that was checked, and no redirect is followed. The PUT goes
 * to our own store, which takes no other bytes than those signed for.
 */
export function createCopier(options: SenderOptions = {}) {
  const { request = httpsRequest, timeoutMs: pauseMs = idleMs, ...resolving } = options;
  return {
    async copy({ from, to, sizeBytes, stop }: CopyInput): Promise<CopyOutcome> {
      const url = new URL(from);
      if (url.protocol !== 'https:' && !options.request) return refused('not-https');
      const timeout = AbortSignal.any([stop, AbortSignal.timeout(pauseMs)]);
      const address = await publicAddress(url.hostname, { ...resolving, timeout });
      if (typeof address !== 'string')
        return address.failure === 'address-not-public' ? refused(address.failure) : failed(address.failure);
      const asked = request({
        host: address,
        port: url.port || 443,
        servername: url.hostname,
        path: url.pathname + url.search,
        headers: { host: url.host, 'user-agent': 'lfs-quota', 'accept-encoding': 'identity' },
        agent: false,
        signal: stop,
      });
      try {
        asked.setTimeout(pauseMs, () => asked.destroy(new Error('silent')));
        asked.end();
        const source = await answerOf(asked);
        const refusal = refusalOf(source, sizeBytes);
        if (refusal) return refusal;
        return await put(source, { to, sizeBytes, stop, pauseMs });
      } catch {
        // What a connection says of itself may have an address.
        return stop.aborted ? refused('too-slow') : failed('connection');
      } finally {
        asked.destroy();
      }
    },
  };
}

const refused = (reason: string): CopyOutcome => ({ kind: 'refused', reason });
const failed = (reason: string): CopyOutcome => ({ kind: 'failed', reason });

/** What another status than 200 means. */
function notTaken(side: 'upstream' | 'store', status: number): CopyOutcome {
  const isForNow = status >= 500 || status === 429;
  return (isForNow ? failed : refused)(`${side}-${status}`);
}

function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.on('response', resolve);
    sent.on('error', reject);
    sent.on('close', () => reject(new Error('closed')));
  });
}

/** A stream whose length isn't told could end too early, and nobody would know. */
function refusalOf(source: IncomingMessage, sizeBytes: number): CopyOutcome | undefined {
  const { statusCode = 0, headers } = source;
  if (statusCode !== 200) return notTaken('upstream', statusCode);
  return Number(headers['content-length'] ?? Number.NaN) === sizeBytes
    ? undefined
    : refused('upstream-length');
}

async function put(
  source: IncomingMessage,
  { to, sizeBytes, stop, pauseMs }: Omit<CopyInput, 'from'> & { pauseMs: number },
): Promise<CopyOutcome> {
  const url = new URL(to.href);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const headers = { ...to.header, 'content-length': sizeBytes };
  const sent = send(url, { method: 'PUT', headers, agent: false, signal: stop });
  try {
    sent.setTimeout(pauseMs, () => sent.destroy(new Error('silent')));
    // A store that refuses may answer before it has read all.
    const [{ statusCode = 0 }] = await Promise.all([answerOf(sent), pipeline(source, sent)]);
    return statusCode === 200 ? { kind: 'copied' } : notTaken('store', statusCode);
  } finally {
    sent.destroy();
  }
}
