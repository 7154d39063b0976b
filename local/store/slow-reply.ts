import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { StoreReply } from './reply.ts';
import { xmlDeclaration } from './xml.ts';

type XmlReply = StoreReply & { readonly body: string };

/** The client gets a byte within this time, before it or the store takes the connection for dead. */
const spaceEveryMs = 15_000;

/**
 * The response of work that may take minutes. If it is not done in time, the response begins without it, as on S3: with
 * status 200 and spaces, until there is a result or an error to follow them.
 *
 * @param options.everyMs between two spaces.
 */
export async function replyInTime(
  work: Promise<XmlReply>,
  errorReply: (thrown: unknown) => XmlReply,
  { everyMs = spaceEveryMs }: { everyMs?: number } = {},
): Promise<StoreReply> {
  const early = await within(work, everyMs);
  if (early !== undefined) return early;
  const replied = work.catch(errorReply);
  return {
    status: 200,
    headers: { 'content-type': 'application/xml' },
    body: Readable.from(spaces(replied, everyMs)),
  };
}

async function* spaces(replied: Promise<XmlReply>, everyMs: number): AsyncGenerator<string> {
  yield xmlDeclaration;
  while (true) {
    const reply = await within(replied, everyMs);
    if (reply !== undefined) {
      yield reply.body.slice(xmlDeclaration.length);
      return;
    }
    yield ' ';
  }
}

async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const stop = new AbortController();
  try {
    return await Promise.race([work, pause(ms, undefined, { signal: stop.signal, ref: false })]);
  } finally {
    stop.abort();
  }
}
