import { lookup } from 'node:dns/promises';
import type { ClientRequest } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { WebhookFailure } from '../../domain/webhook.ts';
import type { WebhookSender } from '../../ports/webhooks.ts';
import { isPublicAddress } from './public-address.ts';

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
  const { resolve = addressesOf, isPublic = isPublicAddress, request = httpsRequest } = options;
  return {
    async post({ url, headers, body }) {
      const { hostname, pathname, search } = new URL(url);
      const timeout = AbortSignal.timeout(options.timeoutMs ?? answerMs);
      const address = await chosenAddress({ hostname, resolve, isPublic, timeout });
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

async function chosenAddress(input: {
  hostname: string;
  resolve: (hostname: string) => Promise<readonly string[]>;
  isPublic: (address: string) => boolean;
  timeout: AbortSignal;
}): Promise<string | Extract<Sent, { kind: 'failed' }>> {
  const { hostname, resolve, isPublic, timeout } = input;
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
