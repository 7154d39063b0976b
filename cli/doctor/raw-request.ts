import {
  type Agent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { answerBytesMax, idleMsMax } from './limits.ts';

export interface RawRequest {
  readonly href: string;
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Without a Content-Length among the headers it is sent chunked. */
  readonly body?: Buffer | Readable;
  /** The connection is cut after these bytes of the body. */
  readonly cutAfterBytes?: number;
  readonly agent?: Agent;
  /** Without any traffic, or without the answer's end, for this long it is given up. A minute by default. */
  readonly idleMs?: number;
  readonly signal?: AbortSignal;
}

export type RawOutcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      /** Up to 64 KiB of it. */
      readonly body: Buffer;
    }
  /** The connection ended without a whole answer. */
  | { readonly kind: 'cut'; readonly reason: string };

/**
 * Sends a request exactly as given: no library in between corrects a wrong length or a missing header.
 *
 * @throws the signal's reason, when it aborts.
 */
export function sendRaw(input: RawRequest): Promise<RawOutcome> {
  const {
    href,
    method,
    headers = {},
    body,
    cutAfterBytes,
    agent = false,
    idleMs = idleMsMax,
    signal,
  } = input;
  const { origin, protocol } = new URL(href);
  const open = protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    const cut = (error: NodeJS.ErrnoException) => {
      if (signal?.aborted) reject(signal.reason);
      else resolve({ kind: 'cut', reason: error.code ?? error.message });
    };
    // The path as written, because a URL object would resolve its dots.
    const path = href.slice(origin.length);
    const outgoing = open(href, { path, method, headers, agent, signal, timeout: idleMs }, (incoming) => {
      isAnswered = true;
      // An answer that drips without end is traffic, too.
      const slow = setTimeout(() => incoming.destroy(new Error(`no end for ${idleMs / 1000} s`)), idleMs);
      readBody(incoming)
        .finally(() => clearTimeout(slow))
        .then((bytes) => {
          // What is left of the body is not wanted any more.
          if (!outgoing.writableFinished) outgoing.destroy();
          resolve({
            kind: 'answer',
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            body: bytes,
          });
        }, cut);
    });
    // Once there's an answer, its body tells.
    outgoing.on('error', (error) => isAnswered || cut(error));
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no traffic for ${idleMs / 1000} s`)));
    if (cutAfterBytes !== undefined && Buffer.isBuffer(body)) {
      outgoing.write(body.subarray(0, cutAfterBytes), () => outgoing.destroy(new Error('cut on purpose')));
    } else if (body === undefined || Buffer.isBuffer(body)) {
      if (body !== undefined) outgoing.write(body);
      outgoing.end();
    } else {
      body.on('error', (error) => outgoing.destroy(error));
      body.pipe(outgoing);
      outgoing.on('close', () => body.destroy());
    }
  });
}

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size >= answerBytesMax) break;
  }
  return Buffer.concat(chunks).subarray(0, answerBytesMax);
}

/** An outcome in a few words: `403 SignatureDoesNotMatch`, or why there was no answer. */
export function describeOutcome(outcome: RawOutcome): string {
  if (outcome.kind === 'cut') return `no answer (${outcome.reason})`;
  const text = outcome.body.toString();
  const [, code] = /<Code>([^<]{1,100})<\/Code>/.exec(text) ?? [];
  return code === undefined ? `${outcome.status}` : `${outcome.status} ${code}`;
}

/** The message of an error document, without control characters; empty without one. */
export function messageOf(outcome: RawOutcome): string {
  if (outcome.kind === 'cut') return '';
  const [, message = ''] = /<Message>([^<]{1,300})<\/Message>/.exec(outcome.body.toString()) ?? [];
  return message.replace(/\p{Cc}/gu, ' ');
}

/** True for a 2xx. */
export function isAccepted(outcome: RawOutcome): boolean {
  return outcome.kind === 'answer' && outcome.status >= 200 && outcome.status < 300;
}
