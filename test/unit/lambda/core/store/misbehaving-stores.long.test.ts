import { describe, expect, it } from 'vitest';
import { ScanListing } from '../../../../../lambda/core/scan/list-objects.ts';
import type { S3Settings } from '../../../../../lambda/core/store/bucket-client.ts';
import { createObjectStore, objectLimits } from '../../../../../lambda/core/store/object-store.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { bucketAt } from '../../../../support/serve.ts';
import { answerOf, type Conduct, onePage, RawStore } from './raw-store.ts';

/** A store that behaves like this, and the adapters on it, which retry without pauses. */
async function open(conduct: Conduct, overrides: Partial<S3Settings> = {}) {
  const raw = new RawStore(conduct);
  const client = bucketAt(await raw.listen(), overrides);
  const store = createObjectStore({ client, clock: { nowMs: Date.now } });
  const listing = new ScanListing({ client });
  return { raw, store, listing };
}

type Opened = Awaited<ReturnType<typeof open>>;
const soon = () => ({ deadlineMs: Date.now() + 10_000 });

const good: Conduct = (socket, { head }) => {
  if (head.startsWith('HEAD')) socket.write(answerOf(200, '', { 'Content-Length': '7' }));
  else socket.write(head.startsWith('DELETE') ? answerOf(204) : answerOf(200, onePage));
};

/** The first request goes wrong, later ones do not. */
const wrongOnce =
  (wrong: Conduct): Conduct =>
  (socket, request) =>
    request.index === 0 ? wrong(socket, request) : good(socket, request);

const reads = [
  { way: 'head', ask: async ({ store }: Opened) => (await store.head('k'))?.sizeBytes },
  {
    way: 'listPage',
    ask: async ({ listing }: Opened) => (await listing.listPage({ prefix: '' })).totalBytes,
  },
  {
    way: 'listFolders',
    ask: async ({ listing }: Opened) => (await listing.listFolders({ prefix: '' })).keys[0]?.sizeBytes,
  },
];

/** What may happen to any answer, once. */
const accidents: [string, Conduct][] = [
  ['a reset', (socket) => socket.resetAndDestroy()],
  ['a closed connection', (socket) => socket.end()],
  ['half a head', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Le')],
  ['no HTTP', (socket) => socket.end('nonsense\r\n\r\n')],
  ['SlowDown', (socket) => socket.write(answerOf(503, '<Error><Code>SlowDown</Code></Error>'))],
  [
    'an error of 400 that passes',
    // It says that it closes: else the second request may still be sent on this connection, and be lost.
    (socket) =>
      socket.end(answerOf(408, '<Error><Code>RequestTimeout</Code></Error>', { Connection: 'close' })),
  ],
];

describe.each(reads)('$way', ({ way, ask }) => {
  it.each(accidents)('is sent again after %s', async (_what, accident) => {
    // An answer to HEAD has no body, whatever its length says.
    const conduct: Conduct = (socket, request) =>
      way === 'head' && _what.startsWith('SlowDown')
        ? socket.write(answerOf(503))
        : accident(socket, request);
    const to = await open(wrongOnce(way === 'head' ? conduct : accident));
    expect(await ask(to)).toBe(7);
    expect(to.raw.requests).toHaveLength(2);
  });

  it('is sent again on another connection if the store closed the first between two requests', async () => {
    const to = await open((socket, request) => {
      good(socket, request);
      if (request.index === 0) setTimeout(() => socket.destroy(), 5);
    });
    expect(await ask(to)).toBe(7);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await ask(to)).toBe(7);
    expect(to.raw.connections).toBe(2);
  });

  it('is sent again if the store closes the connection while the request is on its way', async () => {
    const to = await open((socket, request) =>
      request.index === 1 ? socket.destroy() : good(socket, request),
    );
    expect([await ask(to), await ask(to)]).toEqual([7, 7]);
    expect(to.raw.requests).toHaveLength(3);
  });

  it('uses one connection for requests one after the other', async () => {
    const to = await open(good);
    for (let turn = 0; turn < 5; turn += 1) await ask(to);
    expect(to.raw.connections).toBe(1);
  });

  it('is not sent elsewhere by a redirect, which says where the bucket is', async () => {
    const headers = { 'x-amz-bucket-region': 'eu-west-1', Location: 'http://127.0.0.1:1/' };
    for (const status of [301, 307]) {
      const to = await open((socket) => socket.write(answerOf(status, '', headers)));
      const asked = ask(to);
      await expect(asked).rejects.toThrow(
        `The store rejected ${way === 'head' ? 'HEAD' : 'LIST'} with ${status} Unknown: check bucket name, region`,
      );
      await expect(asked).rejects.toMatchObject({ cause: { bucketRegion: 'eu-west-1' } });
      expect(to.raw.requests).toHaveLength(1);
    }
  });

  it('waits as long as the store asks for', async () => {
    const to = await open(wrongOnce((socket) => socket.write(answerOf(503, '', { 'Retry-After': '1' }))));
    const startMs = performance.now();
    expect(await ask(to)).toBe(7);
    expect(performance.now() - startMs).toBeGreaterThan(990);
  });
});

describe('head and folders, which somebody waits for', () => {
  const awaited = reads.filter(({ way }) => way !== 'listPage');
  const hasty = { timeoutFactor: 0.05 };
  const { answerMs } = objectLimits(hasty.timeoutFactor);
  const slow: [string, Conduct][] = [
    ['never answers', () => {}],
    ['sends a head that never ends', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nX-Slow: ', 'a')],
  ];

  it.each(slow)('give up a store that %s, after four attempts', async (_what, conduct) => {
    for (const { ask } of awaited) {
      const to = await open(conduct, hasty);
      const startMs = performance.now();
      const error = await ask(to).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(String(error)).toContain('TimeoutError');
      expect(performance.now() - startMs).toBeGreaterThan(4 * answerMs - 20);
      expect(to.raw.requests).toHaveLength(4);
    }
  });

  it('give up a body that stops, and read it again', async () => {
    const part = answerOf(200, onePage).slice(0, -30);
    const to = await open(
      wrongOnce((socket) => socket.write(part)),
      hasty,
    );
    expect((await to.listing.listFolders({ prefix: '' })).keys).toHaveLength(1);
    expect(to.raw.connections).toBe(2);
  });

  it('of HEAD believe no length that is not one', async () => {
    for (const length of ['', '9007199254740993']) {
      const to = await open((socket) => socket.write(answerOf(200, '', { 'Content-Length': length })));
      await expect(to.store.head('k')).rejects.toThrow(StoreUnavailableError);
    }
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    const to = await open((socket) => socket.write(chunked));
    await expect(to.store.head('k')).rejects.toThrow(StoreUnavailableError);
  });
});

describe('a body that is not what it says', () => {
  const bodies: [string, string][] = [
    ['shorter than its length', answerOf(200, onePage, { 'Content-Length': '9999' })],
    ['longer than its length', answerOf(200, onePage, { 'Content-Length': '60' })],
    ['chunked, and cut', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n${onePage}`],
    ['an error with status 200', answerOf(200, '<Error><Code>InternalError</Code></Error>')],
    ['without KeyCount', answerOf(200, onePage.replace(/<KeyCount>.*<\/KeyCount>/, ''))],
    ['another status', answerOf(206, onePage)],
  ];
  it.each(bodies)('is never a page: %s', async (_what, answer) => {
    for (const { ask } of reads.filter(({ way }) => way !== 'head')) {
      const to = await open((socket) => socket.end(answer));
      await expect(ask(to)).rejects.toThrow();
    }
  });

  it('an error without an end is not read to it', async () => {
    const to = await open((socket) => {
      socket.write('HTTP/1.1 403 Status\r\nTransfer-Encoding: chunked\r\n\r\n');
      drip(socket, '<Error><Code>AccessDenied</Code>', 'a'.repeat(4_000), true);
    });
    await expect(to.listing.listPage({ prefix: '' })).rejects.toThrow('403 AccessDenied');
  });
});

describe('delete', () => {
  it.each(accidents)('is not sent again after %s', async (_what, accident) => {
    const to = await open(wrongOnce(accident));
    expect([...(await to.store.delete(['k'], soon())).values()]).toEqual([expect.any(StoreUnavailableError)]);
    expect(to.raw.requests).toHaveLength(1);
  });

  it('believes no success that says that it failed', async () => {
    const answer = answerOf(200, '<Error><Code>InternalError</Code></Error>');
    const to = await open((socket) => socket.write(answer));
    expect(String((await to.store.delete(['k'], soon())).get('k'))).toContain('503 InternalError');
  });
});

describe('a client that follows redirects', () => {
  it('goes on in the region that the store names, with all requests on their way', async () => {
    const elsewhere = answerOf(301, '', { 'x-amz-bucket-region': 'eu-west-1' });
    const to = await open(
      (socket, request) =>
        request.head.includes('/eu-west-1/s3/') ? good(socket, request) : socket.write(elsewhere),
      { followsRegion: true },
    );
    const pages = Array.from({ length: 8 }, () => to.listing.listPage({ prefix: '' }));
    expect((await Promise.all(pages)).map(({ totalBytes }) => totalBytes)).toEqual(Array(8).fill(7));
    expect(to.raw.requests).toHaveLength(16);
    await to.listing.listPage({ prefix: '' });
    expect(to.raw.requests).toHaveLength(17);
  });

  it('does not go in circles', async () => {
    const to = await open(
      (socket, { index }) =>
        socket.write(answerOf(301, '', { 'x-amz-bucket-region': index % 2 ? 'us-east-1' : 'eu-west-1' })),
      { followsRegion: true },
    );
    await expect(to.listing.listPage({ prefix: '' })).rejects.toThrow('rejected LIST with 301');
    expect(to.raw.requests).toHaveLength(2);
  });
});

describe('a page with a deadline', () => {
  it('ends by it, whatever the store does, and sends nothing afterwards', async () => {
    const conducts: Conduct[] = [
      () => {},
      (socket) => socket.write(answerOf(503, '', { 'Retry-After': '5' })),
      (socket) => drip(socket, 'HTTP/1.1 200 OK\r\n\r\n<ListBucketResult>', ' '),
    ];
    for (const conduct of conducts) {
      const to = await open(conduct);
      const page = to.listing.listPage({ prefix: '', deadlineMs: Date.now() + 200 });
      await expect(page).rejects.toThrow('did not serve LIST within the deadline');
      const sent = to.raw.requests.length;
      expect(sent).toBe(1);
    }
  });

  it('is not sent if the deadline has passed', async () => {
    const to = await open(good);
    await expect(to.listing.listPage({ prefix: '', deadlineMs: Date.now() - 1 })).rejects.toThrow(
      StoreUnavailableError,
    );
    expect(to.raw.requests).toEqual([]);
  });
});

/** Sends a beginning, and then more of it without end. */
function drip(socket: Parameters<Conduct>[0], beginning: string, more: string, isChunked = false): void {
  const send = (text: string) =>
    socket.write(isChunked ? `${text.length.toString(16)}\r\n${text}\r\n` : text);
  send(beginning);
  const timer = setInterval(() => send(more), 20);
  socket.on('close', () => clearInterval(timer));
}
