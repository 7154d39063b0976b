import http from 'node:http';
import https from 'node:https';
import { defaultSettings } from '../lambda/core/rules/settings.ts';
import type { BatchAction } from './lfs-batch.ts';

/** What a proxy before `serve` does to requests, and the settings that end it. */

const see = 'See docs/serve.md#behind-a-proxy';
const bodies = 'nginx: client_max_body_size 0; proxy_request_buffering off;';
export const credentialCure = `nginx: proxy_set_header Authorization $http_authorization; ${see}`;
export const addressWarning =
  'All clients share one rate limit. nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; serve: --trust-proxy';

/** Why a proxy isn't tested, and what might be wrong. @param links where links lead to. */
export const otherUrl = (asked: string, links: string) =>
  `not tested: links have ${links}. To use ${asked}, pass it to serve as --public-url. nginx: proxy_set_header Host $http_host;`;

/** What to do about a transfer that failed. @param error what it says. */
export function transferCure(error: string): string {
  if (error.includes(' 413')) return `A proxy limits bodies. ${bodies} ${see}`;
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
 * Begins the largest upload, with a wrong signature: the server refuses that at once, and stores nothing. `fetch` can't do
 * it: on Node 24, it sends on after the answer.
 *
 * @param upload by a URL of the server.
 */
export function uploadWarnings({ href, header }: BatchAction, stop: AbortSignal): Promise<string[]> {
  const url = new URL(href.replace(/(?<=X-Amz-Signature=)\w+/, '0'.repeat(64)));
  const open = url.protocol === 'https:' ? https.request : http.request;
  const headers = { ...header, 'content-length': defaultSettings.objectBytesMax };
  const late = AbortSignal.timeout(answerMs);
  return new Promise((resolve) => {
    const request = open(url, { method: 'PUT', headers, signal: AbortSignal.any([stop, late]) });
    const sending = setInterval(() => request.write(piece), nextPieceMs);
    request.once('close', () => clearInterval(sending)).write(piece);
    request.once('response', ({ statusCode }) => {
      resolve(statusCode === 413 ? [`A proxy limits uploads: 5 GiB got 413. ${bodies}`] : []);
      request.destroy();
    });
    // What else breaks it breaks the upload, which says so.
    const held = `A proxy stores uploads before it sends them on, so git-lfs might time out. ${bodies}`;
    request.on('error', () => resolve(late.aborted ? [held] : []));
  });
}
