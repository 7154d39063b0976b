import http from 'node:http';
import https from 'node:https';
import { formatBytes } from '../lambda/core/rules/sizes.ts';
import type { BatchAction } from './lfs-batch.ts';

/** What a proxy before `serve` does to requests, and the settings that end it. */

const see = 'See docs/serve.md#behind-a-proxy';
const bodies = 'nginx: client_max_body_size 0; proxy_request_buffering off;';
const around = "If you can't change that: docs/proxies.md#below-a-proxys-limit";
export const credentialCure = `nginx: proxy_set_header Authorization $http_authorization; ${see}`;
export const addressWarning =
  'All clients share one rate limit. nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; serve: --trust-proxy';

/** Why a proxy isn't tested, and what might be wrong. @param links where links lead to. */
export const otherUrl = (asked: string, links: string) =>
  `not tested: links have ${links}. To use ${asked}, pass it to serve as --public-url. nginx: proxy_set_header Host $http_host;`;

/** What to do about a transfer that failed. @param error what it says. @param host another name than the API's. */
export function transferCure(error: string, host?: string): string {
  if (error.includes(' 413')) return `A proxy limits bodies. ${bodies} ${around}`;
  if (host)
    return `Does ${host}, of --objects-url, lead to this server, with path, headers and body unchanged?`;
  if (!/ 4\d\d\b/.test(error)) return `Read the logs of the proxy and the server. ${see}`;
  return `Does a proxy change path, headers or body? nginx: proxy_pass without a path. ${see}`;
}

/** More than a proxy keeps back that passes on what comes. */
const piece = Buffer.alloc(64 * 1024);
/** Some pass on an answer with the next piece only. */
const nextPieceMs = 250;
/** What gets to the server is answered within milliseconds. */
const answerMs = 10_000;

/**
 * Begins an upload of that size, with a wrong signature: the server refuses that at once, and stores nothing. `fetch` can't do
 * it: on Node 24, it sends on after the answer.
 *
 * @param upload by a URL of the server. @param sizeBytes the largest that it offers.
 */
export function uploadWarnings(
  { href, header }: BatchAction,
  { sizeBytes, stop }: { sizeBytes: number; stop: AbortSignal },
): Promise<string[]> {
  const url = new URL(href.replace(/(?<=X-Amz-Signature=)\w+/, '0'.repeat(64)));
  const open = url.protocol === 'https:' ? https.request : http.request;
  const headers = { ...header, 'content-length': sizeBytes };
  const late = AbortSignal.timeout(answerMs);
  return new Promise((resolve) => {
    const request = open(url, { method: 'PUT', headers, signal: AbortSignal.any([stop, late]) });
    const sending = setInterval(() => request.write(piece), nextPieceMs);
    request.once('close', () => clearInterval(sending)).write(piece);
    request.once('response', ({ statusCode }) => {
      resolve(
        statusCode === 413
          ? [`A proxy limits uploads: ${formatBytes(sizeBytes)} got 413. ${bodies} ${around}`]
          : [],
      );
      request.destroy();
    });
    // What else breaks it breaks the upload, which says so.
    const held = `A proxy stores uploads before it sends them on, so git-lfs might time out. ${bodies}`;
    request.on('error', () => resolve(late.aborted ? [held] : []));
  });
}
