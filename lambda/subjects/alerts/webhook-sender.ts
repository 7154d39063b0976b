import type { ClientRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { publicAddress, type SenderOptions } from '../../frame/net/public-address.ts';
import type { WebhookFailure, WebhookSender } from './rules/webhook-delivery.ts';

/** For the name, the connection and the answer together. */
const answerMs = 5000;

type Sent = Awaited<ReturnType<WebhookSender['post']>>;

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
