import type { IncomingMessage, ServerResponse } from 'node:http';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createCopier } from '../../../../../lambda/subjects/downloads/lfs/copier.ts';
import { serve } from '../../../../support/serve.ts';

const bytes = Buffer.alloc(3_000_000, 'lfs');

/** A store that keeps what it gets, or answers like this. */
async function storeOf(answer?: (request: IncomingMessage, response: ServerResponse) => void) {
  const got: { method?: string | undefined; headers: IncomingMessage['headers']; body: Buffer }[] = [];
  const url = await serve(async (sent, response) => {
    if (answer) return answer(sent, response);
    const pieces: Buffer[] = [];
    try {
      for await (const piece of sent) pieces.push(piece as Buffer);
    } catch {
      return;
    }
    got.push({ method: sent.method, headers: sent.headers, body: Buffer.concat(pieces) });
    response.end();
  });
  return { got, url };
}

const never = new AbortController().signal;

/** Copies from a host on this machine, which stands for one on the internet. */
async function copy(
  source: (request: IncomingMessage, response: ServerResponse) => void,
  {
    store,
    stop = never,
    timeoutMs,
    isPublic = true,
  }: { store?: string; stop?: AbortSignal; timeoutMs?: number; isPublic?: boolean } = {},
) {
  const asked: IncomingMessage['headers'][] = [];
  const host = new URL(
    await serve((sent, response) => {
      asked.push(sent.headers);
      source(sent, response);
    }),
  );
  const own = await storeOf();
  const outcome = await createCopier({
    resolve: async () => ['127.0.0.1'],
    isPublic: () => isPublic,
    request: (options) => request({ ...options, port: host.port }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  }).copy({
    from: `http://store.example.com/signed?signature=secret`,
    to: { href: `${store ?? own.url}/key?signature=ours`, header: { 'x-amz-checksum-sha256': 'abc' } },
    sizeBytes: bytes.length,
    stop,
  });
  return { outcome, asked, got: own.got };
}

const whole = (_: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(200, { 'content-length': bytes.length }).end(bytes);

describe('a copy', () => {
  it('streams what the host has to the store, with what was signed', async () => {
    const { outcome, asked, got } = await copy(whole);
    expect(outcome).toEqual({ kind: 'copied' });
    expect(asked).toMatchObject([{ host: 'store.example.com', 'accept-encoding': 'identity' }]);
    expect(asked[0]).not.toHaveProperty('authorization');
    expect(got).toMatchObject([
      { method: 'PUT', headers: { 'content-length': '3000000', 'x-amz-checksum-sha256': 'abc' } },
    ]);
    expect(got[0]?.body.equals(bytes)).toBe(true);
  });

  it.each([
    ['a redirect', 302, 'refused', 'upstream-302'],
    ['a URL that has expired', 403, 'refused', 'upstream-403'],
    ['a piece', 206, 'refused', 'upstream-206'],
    ['its own trouble', 503, 'failed', 'upstream-503'],
    ['too many requests', 429, 'failed', 'upstream-429'],
  ])('of what the host answers with %s is none', async (_what, status, kind, reason) => {
    const answer = (_: IncomingMessage, response: ServerResponse) =>
      void response.writeHead(status, { location: 'https://elsewhere.example', 'content-length': 0 }).end();
    const { outcome, got } = await copy(answer);
    expect(outcome).toEqual({ kind, reason });
    expect(got).toEqual([]);
  });

  it.each<[string, (request: IncomingMessage, response: ServerResponse) => void]>([
    ['another length', (_, response) => void response.writeHead(200, { 'content-length': 2 }).end('ab')],
    ['no length', (_, response) => void response.writeHead(200).end(bytes)],
  ])('is not begun with %s', async (_what, answer) => {
    const { outcome, got } = await copy(answer);
    expect(outcome).toEqual({ kind: 'refused', reason: 'upstream-length' });
    expect(got).toEqual([]);
  });

  it('that breaks off stores nothing, and may be tried again', async () => {
    const { outcome, got } = await copy((_, response) => {
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, 1_000_000), () => response.destroy());
    });
    expect(outcome).toEqual({ kind: 'failed', reason: 'connection' });
    expect(got).toEqual([]);
  });

  it.each([
    ['refuses the bytes', 400, { kind: 'refused', reason: 'store-400' }],
    ['is busy', 503, { kind: 'failed', reason: 'store-503' }],
  ])('to a store that %s ends with that', async (_what, status, expected) => {
    const { url } = await storeOf((sent, response) => {
      sent.resume().on('end', () => response.writeHead(status).end());
    });
    expect((await copy(whole, { store: url })).outcome).toEqual(expected);
  });

  it('ends if either side says nothing', async () => {
    const failed = { kind: 'failed', reason: 'connection' };
    expect((await copy(() => undefined, { timeoutMs: 100 })).outcome).toEqual(failed);
    const { url } = await storeOf(() => undefined);
    expect((await copy(whole, { store: url, timeoutMs: 200 })).outcome).toEqual(failed);
  });

  it("that takes longer than a run has isn't tried again", async () => {
    const controller = new AbortController();
    const { outcome } = await copy(() => controller.abort(), { stop: controller.signal });
    expect(outcome).toEqual({ kind: 'refused', reason: 'too-slow' });
  });

  it('reaches no address of ours, and nothing by plain HTTP', async () => {
    const { outcome, asked } = await copy(whole, { isPublic: false });
    expect(outcome).toEqual({ kind: 'refused', reason: 'address-not-public' });
    expect(asked).toEqual([]);
    const input = { to: { href: 'https://store.example.com/', header: {} }, sizeBytes: 1, stop: never };
    const plain = createCopier({ resolve: async () => ['127.0.0.1'] });
    expect(await plain.copy({ ...input, from: 'https://169.254.169.254/latest' })).toEqual({
      kind: 'refused',
      reason: 'address-not-public',
    });
    expect(await plain.copy({ ...input, from: 'http://store.example.com/' })).toEqual({
      kind: 'refused',
      reason: 'not-https',
    });
  });

  it('of a host whose name nobody knows fails', async () => {
    const copier = createCopier({ resolve: async () => [] });
    const input = { to: { href: 'https://store.example.com/', header: {} }, sizeBytes: 1, stop: never };
    expect(await copier.copy({ ...input, from: 'https://absent.example.com/' })).toEqual({
      kind: 'failed',
      reason: 'name-not-found',
    });
  });
});
