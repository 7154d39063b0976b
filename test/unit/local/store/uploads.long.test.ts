import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createUrlSigner } from '../../../../lambda/core/store/signing.ts';
import { ObjectUpload } from '../../../../local/store/files.ts';
import { startStore } from '../../../../local/store/start-store.ts';
import { syncFolder } from '../../../../local/system/durable-file.ts';
import { bucket, credentials, StoreFixture, signHeaders } from '../../../support/store-fixture.ts';

vi.mock('../../../../local/system/durable-file.ts', { spy: true });

let store: StoreFixture;

beforeEach(async () => {
  store = await StoreFixture.start();
});

afterEach(async () => {
  await store.stop();
});

/** The answer to half a request. It begins before all tests, so that its ten seconds pass while they run. */
let halfRequest: Promise<string>;
let patient: StoreFixture;

beforeAll(async () => {
  patient = await StoreFixture.start();
  const socket = connect(patient.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write('GET / HTTP/1.1\r\nHost: half');
  halfRequest = readAll(socket);
});

afterAll(() => patient.stop());

const body = Buffer.alloc(100_000, 'abc');

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('base64');

/** Opens a connection and sends the head of a signed PUT of `body`. */
async function beginPut(key: string, extra: Readonly<Record<string, string>> = {}): Promise<Socket> {
  const request = { method: 'PUT', path: `/${bucket}/${key}`, body };
  const { headers } = await signHeaders(store.url, { ...request, headers: extra });
  const socket = connect(store.port, '127.0.0.1');
  await once(socket, 'connect');
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`PUT ${request.path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return socket;
}

async function isThere(key: string): Promise<boolean> {
  return (await store.send({ method: 'HEAD', path: `/${bucket}/${key}` })).status === 200;
}

/** Waits until a condition holds. Fails after some seconds. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (await holds()) return;
    await pause(25);
  }
  throw new Error('It did not come to hold.');
}

async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe('an interrupted upload', () => {
  test.each([
    { name: 'with the connection reset', breakOff: (socket: Socket) => void socket.resetAndDestroy() },
    { name: 'with the connection closed', breakOff: (socket: Socket) => void socket.destroy() },
    { name: 'with its sending side ended', breakOff: (socket: Socket) => void socket.end() },
  ])('$name leaves nothing', async ({ breakOff }) => {
    const socket = await beginPut('broken');
    socket.on('error', () => {});
    socket.resume();
    socket.write(body.subarray(0, 50_000));
    await until(async () => (await store.uploadsLeft()).length === 1);
    expect(await isThere('broken')).toBe(false);
    breakOff(socket);
    await until(async () => (await store.uploadsLeft()).length === 0);
    expect(await isThere('broken')).toBe(false);
    expect(store.errors).toEqual([]);
  });

  test('leaves nothing when the store stops', async () => {
    const socket = await beginPut('broken');
    socket.on('error', () => {});
    socket.write(body.subarray(0, 50_000));
    await until(async () => (await store.uploadsLeft()).length === 1);
    await store.restart();
    expect(await store.uploadsLeft()).toEqual([]);
    expect(await isThere('broken')).toBe(false);
  });

  test('does not change the object that it was to replace', async () => {
    await store.send({ method: 'PUT', path: `/${bucket}/kept`, body: Buffer.from('before') });
    const socket = await beginPut('kept');
    socket.on('error', () => {});
    socket.write(body.subarray(0, 50_000));
    await until(async () => (await store.uploadsLeft()).length === 1);
    socket.destroy();
    await until(async () => (await store.uploadsLeft()).length === 0);
    expect((await store.send({ method: 'GET', path: `/${bucket}/kept` })).body.toString()).toBe('before');
  });
});

describe('a client that', () => {
  test('sends more than it declared is cut off, and no more than that is stored', async () => {
    const socket = await beginPut('longer');
    socket.write(body);
    socket.write('and something more that is no request\r\n\r\n');
    expect(await readAll(socket)).toContain('HTTP/1.1 400 ');
    const stored = await store.send({ method: 'GET', path: `/${bucket}/longer` });
    if (stored.status !== 404) expect(stored.body.equals(body)).toBe(true);
    await until(async () => (await store.uploadsLeft()).length === 0);
  });

  test('waits for 100 Continue gets it', async () => {
    const welcome = await beginPut('welcome', { expect: '100-continue', connection: 'close' });
    const [first] = (await once(welcome, 'data')) as [Buffer];
    expect(first.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    expect(await isThere('welcome')).toBe(false);
    welcome.write(body);
    expect(await readAll(welcome)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await isThere('welcome')).toBe(true);
  });

  test('is refused while it sends sees the reason', async () => {
    const socket = await beginPut('refused', { 'if-match': '*' });
    const big = Buffer.alloc(8_000_000);
    socket.write(big.subarray(0, body.length));
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 501 .*NotImplemented/s);
  });

  test('disconnects during a download does no harm', async () => {
    const big = Buffer.alloc(20_000_000, 'z');
    await store.send({ method: 'PUT', path: `/${bucket}/big`, body: big });
    const { headers } = await signHeaders(store.url, { method: 'GET', path: `/${bucket}/big` });
    for (let round = 0; round < 5; round += 1) {
      const socket = connect(store.port, '127.0.0.1');
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`GET /${bucket}/big HTTP/1.1\r\n${lines.join('')}\r\n`);
      await once(socket, 'data');
      socket.resetAndDestroy();
    }
    const answer = await store.send({ method: 'GET', path: `/${bucket}/big` });
    expect(answer.body.equals(big)).toBe(true);
    expect(store.errors).toEqual([]);
  });
});

test('no object is acknowledged before its new folder is on the disk, whoever made that', async () => {
  const folderOf = (key: string) => createHash('sha256').update(key).digest('hex').slice(0, 2);
  const keys = Array.from({ length: 2_000 }, (_, index) => `k${index}`);
  const [first = '', second = ''] = keys.filter((key) => folderOf(key) === folderOf('k0'));
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  vi.mocked(syncFolder)
    .mockClear()
    .mockImplementationOnce(() => released);
  const acknowledged: string[] = [];
  const put = async (key: string) => {
    expect((await store.send({ method: 'PUT', path: `/${bucket}/${key}`, body })).status).toBe(200);
    acknowledged.push(key);
  };
  const puts = [
    put(first),
    until(async () => vi.mocked(syncFolder).mock.calls.length > 0).then(() => put(second)),
  ];
  await pause(500);
  expect(acknowledged).toEqual([]);
  release();
  await Promise.all(puts);
  expect(acknowledged).toHaveLength(2);
});

/** The next sync of a folder waits until it is released, or fails. */
function holdNextSync(): { begun: () => Promise<void>; release: () => void; fail: (error: Error) => void } {
  let [release, fail] = [() => {}, (_error: Error) => {}];
  const held = new Promise<void>((resolve, reject) => {
    release = resolve;
    fail = reject;
  });
  vi.mocked(syncFolder)
    .mockClear()
    .mockImplementationOnce(() => held);
  return { begun: () => until(async () => vi.mocked(syncFolder).mock.calls.length > 0), release, fail };
}

describe('until it is on the disk', () => {
  beforeEach(async () => {
    // Its folder is there afterwards.
    await store.send({ method: 'PUT', path: `/${bucket}/new`, body });
    await store.send({ method: 'DELETE', path: `/${bucket}/new` });
  });

  test('nobody sees a new object', async () => {
    const { begun, release } = holdNextSync();
    const putting = store.send({ method: 'PUT', path: `/${bucket}/new`, body });
    await begun();
    const seen = [await isThere('new'), store.head('new')];
    release();
    expect((await putting).status).toBe(200);
    expect(seen).toEqual([false, undefined]);
    expect(await isThere('new')).toBe(true);
  });

  test('nobody is told that an object is deleted', async () => {
    await store.send({ method: 'PUT', path: `/${bucket}/new`, body });
    const { begun, release } = holdNextSync();
    const remove = () => store.send({ method: 'DELETE', path: `/${bucket}/new` });
    const first = remove();
    await begun();
    let isAnswered = false;
    const second = remove().then((answer) => {
      isAnswered = true;
      return answer;
    });
    await pause(300);
    const wasAnswered = isAnswered;
    release();
    expect([(await first).status, (await second).status, wasAnswered]).toEqual([204, 204, false]);
  });

  test('nobody is told so after a sync that failed, either', async () => {
    await store.send({ method: 'PUT', path: `/${bucket}/new`, body });
    const { begun, fail } = holdNextSync();
    const remove = () => store.send({ method: 'DELETE', path: `/${bucket}/new` });
    const first = remove();
    await begun();
    fail(new Error('EIO'));
    expect((await first).status).toBe(500);
    vi.mocked(syncFolder).mockClear();
    expect((await remove()).status).toBe(204);
    expect(syncFolder).toHaveBeenCalledOnce();
  });
});

describe('after a restart', () => {
  test('all objects are unchanged', async () => {
    const client = store.client();
    const keys = ['a', 'a/b', 'ä 😀', '\ufb01', 'A', '../up', 'x'.repeat(1024)];
    for (const [index, Key] of keys.entries()) {
      const Body = Buffer.alloc(index, 'y');
      await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body, ChecksumSHA256: sha256(Body) }));
    }
    await store.send({ method: 'PUT', path: `/${bucket}/gone`, body });
    await store.send({ method: 'DELETE', path: `/${bucket}/gone` });
    const look = async () => {
      const fresh = store.client();
      const heads = [];
      for (const Key of keys) {
        const head = await fresh.send(
          new HeadObjectCommand({ Bucket: bucket, Key, ChecksumMode: 'ENABLED' }),
        );
        const { $metadata, ...rest } = head;
        heads.push(rest);
      }
      const query = { 'list-type': '2', 'encoding-type': 'url' };
      const listing = await store.send({ method: 'GET', path: `/${bucket}`, query });
      fresh.destroy();
      return { heads, listing: listing.body.toString() };
    };
    const before = await look();
    client.destroy();
    await store.restart();
    expect(await look()).toEqual(before);
    expect(before.heads[3]).toMatchObject({ ContentLength: 3, ChecksumSHA256: sha256(Buffer.from('yyy')) });
    expect(before.listing).toContain(`<KeyCount>${keys.length}</KeyCount>`);
  });

  test('the rest of killed uploads is removed', async () => {
    await writeFile(path.join(store.dataDir, 'uploads', 'stale'), 'half');
    await store.restart();
    expect(await store.uploadsLeft()).toEqual([]);
  });

  test('a port that is in use is named', async () => {
    const second = startStore({ port: store.port, bucket, credentials, dataDir: store.dataDir });
    await expect(second).rejects.toThrow(`Port ${store.port} (the object store) is in use`);
  });
});

describe("the SDK's own uploads", () => {
  const big = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));

  test.each([
    { name: 'a buffer', bytes: big, more: {}, sha256: undefined },
    { name: 'nothing', bytes: Buffer.alloc(0), more: {}, sha256: undefined },
    {
      name: 'a buffer with a SHA-256',
      bytes: big,
      more: { ChecksumSHA256: sha256(big) },
      sha256: sha256(big),
    },
  ])('are taken: $name', async ({ bytes, more, sha256 }) => {
    const client = store.client();
    const input = { Bucket: bucket, Key: 'sdk', Body: bytes, ...more };
    const put = await client.send(new PutObjectCommand(input));
    const got = await client.send(new GetObjectCommand({ Bucket: bucket, Key: 'sdk' }));
    expect(Buffer.from((await got.Body?.transformToByteArray()) ?? []).equals(bytes)).toBe(true);
    const head = await client.send(
      new HeadObjectCommand({ Bucket: bucket, Key: 'sdk', ChecksumMode: 'ENABLED' }),
    );
    expect(head.ChecksumSHA256).toBe(sha256);
    expect(head.ETag).toBe(put.ETag);
    client.destroy();
  });

  test.each([
    { name: 'a checksum of its own', body: () => big },
    { name: 'a trailing checksum', body: () => Readable.from([big]) },
  ])('are refused with $name, with the way out', async ({ body: makeBody }) => {
    const client = store.client({ requestChecksumCalculation: 'WHEN_SUPPORTED' });
    const input = { Bucket: bucket, Key: 'sdk', Body: makeBody(), ContentLength: big.length };
    await expect(client.send(new PutObjectCommand(input))).rejects.toMatchObject({
      name: 'NotImplemented',
      message: expect.stringContaining('AWS_REQUEST_CHECKSUM_CALCULATION=when_required'),
    });
    expect(await isThere('sdk')).toBe(false);
    client.destroy();
  });
});

describe('an upload by a presigned URL', () => {
  const signer = () =>
    createUrlSigner({
      bucket,
      region: 'auto',
      endpoint: store.url,
      forcePathStyle: true,
      credentials: async () => credentials,
    });

  /** Sends the head of a PUT by a URL that is valid for 5 s, and all bytes but the last ten. */
  async function beginPresigned(key: string, putGraceMs: number, sentTo = -10): Promise<Socket> {
    await store.stop();
    store = await StoreFixture.start({ uploadTime: { putGraceMs, putMinBytesPerSecond: 1_000_000 } });
    return presignedPut(key, sentTo);
  }

  async function presignedPut(key: string, sentTo = -10): Promise<Socket> {
    const oid = createHash('sha256').update(body).digest('hex');
    const signed = { key, oid, sizeBytes: body.length, signedAtMs: Date.now(), lifetimeMs: 5_000 };
    const { href, header } = await signer().signUpload(signed);
    const { pathname, search, host } = new URL(href);
    const headers = { ...header, host, 'content-length': String(body.length) };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const socket = connect(store.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`PUT ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n`);
    socket.write(body.subarray(0, sentTo));
    return socket;
  }

  test('may end after the URL has expired', async () => {
    const socket = await beginPresigned('late', 60_000);
    await pause(5_100);
    socket.write(body.subarray(-10));
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
    expect(await isThere('late')).toBe(true);
  });

  /** Sends a few bytes again and again, until it is stopped. */
  function trickle(socket: Socket): () => void {
    let sent = body.length - 10_000;
    const timer = setInterval(
      () => void (sent < body.length - 10 && socket.write(body.subarray(sent, ++sent))),
      100,
    );
    return () => {
      clearInterval(timer);
      socket.write(body.subarray(sent));
    };
  }
  const answerOf = async (socket: Socket) => {
    const [answer] = await once(socket, 'data', { signal: AbortSignal.timeout(30_000) });
    return String(answer);
  };

  test('is one of two of its key at a time, and the third is told to retry while they send', async () => {
    const first = await beginPresigned('stuffed', 60_000, -10_000);
    const second = await presignedPut('stuffed', -10_000);
    const ends = [first, second].map(trickle);
    await until(async () => (await store.uploadsLeft()).length === 2);
    const third = await presignedPut('stuffed');
    expect(await answerOf(third)).toMatch(
      /^HTTP\/1\.1 429 .*\r\nretry-after: 10\r\n.*<Code>SlowDown<\/Code>/s,
    );
    third.destroy();
    expect(await store.uploadsLeft()).toHaveLength(2);
    const other = await presignedPut('other');
    await until(async () => (await store.uploadsLeft()).length === 3);
    other.destroy();
    for (const end of ends) end();
    for (const socket of [first, second]) {
      expect(await answerOf(socket)).toMatch(/^HTTP\/1\.1 200 /);
      socket.destroy();
    }
    await until(async () => (await store.uploadsLeft()).length === 0);
  });

  test('that has sent nothing for longest gives way to the next of its key, and leaves nothing', async () => {
    const first = await beginPresigned('stalled', 60_000);
    await until(async () => (await store.uploadsLeft()).length === 1);
    const [stale] = await store.uploadsLeft();
    const second = await presignedPut('stalled');
    await until(async () => (await store.uploadsLeft()).length === 2);
    const third = await presignedPut('stalled');
    let uploadsMax = 0;
    const watch = setInterval(async () => {
      uploadsMax = Math.max(uploadsMax, (await store.uploadsLeft()).length);
    }, 20);
    const given = answerOf(first);
    expect(await given).toMatch(/^HTTP\/1\.1 429 .*<Code>SlowDown<\/Code>/s);
    expect(await store.uploadsLeft()).not.toContain(stale);
    for (const socket of [second, third]) {
      socket.write(body.subarray(-10));
      expect(await answerOf(socket)).toMatch(/^HTTP\/1\.1 200 /);
      socket.destroy();
    }
    clearInterval(watch);
    first.destroy();
    expect([uploadsMax, await store.uploadsLeft(), await isThere('stalled')]).toEqual([2, [], true]);
  });

  test.each([
    { title: 'that is silent', trickle: false },
    { title: 'that trickles', trickle: true },
  ])('$title beyond its time is refused, and stores nothing', async ({ trickle }) => {
    const socket = await beginPresigned('too-late', 1_000);
    let sent = body.length - 10;
    const timer = setInterval(() => {
      if (trickle && sent < body.length - 1) socket.write(body.subarray(sent, ++sent));
    }, 400);
    const [answer] = await once(socket, 'data', { signal: AbortSignal.timeout(60_000) });
    expect(String(answer)).toMatch(/^HTTP\/1\.1 400 .*<Code>RequestTimeout<\/Code>/s);
    socket.write(body.subarray(sent));
    await once(socket, 'close');
    clearInterval(timer);
    expect(await isThere('too-late')).toBe(false);
    expect(await store.uploadsLeft()).toEqual([]);
    expect(store.errors).toEqual([]);
  });
});

test('a connection that never ends its headers is closed', async () => {
  expect(await halfRequest).toMatch(/^HTTP\/1\.1 408 /);
});

describe('a full disk', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test.each(['ENOSPC', 'EDQUOT'])('is a 507 that says so: %s', async (code) => {
    const failure = Object.assign(new Error(`${code}: no space left on device, write`), { code });
    const write = vi.spyOn(ObjectUpload.prototype, 'write').mockRejectedValueOnce(failure);
    const put = { method: 'PUT', path: `/${bucket}/k`, body };
    const refused = await store.send(put);
    expect(refused).toMatchObject({ status: 507, code: 'InsufficientStorage' });
    expect(refused.body.toString()).toContain("The server's disk is full.");
    expect(write).toHaveBeenCalled();
    expect(store.errors).toEqual([failure]);
    expect(await isThere('k')).toBe(false);
    expect(await store.uploadsLeft()).toEqual([]);
    expect((await store.send(put)).status).toBe(200);
  });
});

test('an upload URL expires by the clock of the store', async () => {
  let nowMs = Date.parse('2026-11-21T00:00:00Z');
  const clocked = await StoreFixture.start({ now: () => nowMs });
  try {
    await clocked.send({ method: 'PUT', path: `/${bucket}/k`, body, signedAtMs: nowMs });
    const signer = createUrlSigner({
      bucket,
      region: 'auto',
      endpoint: clocked.url,
      forcePathStyle: true,
      credentials: async () => credentials,
    });
    const { href } = await signer.signDownload({ key: 'k', signedAtMs: nowMs, lifetimeMs: 60_000 });
    const at = async (ms: number) => {
      nowMs = ms;
      return (await fetch(href)).status;
    };
    const signedAtMs = nowMs;
    expect(await at(signedAtMs + 60_000)).toBe(200);
    expect(await at(signedAtMs + 60_001)).toBe(403);
    expect(await at(signedAtMs - 15 * 60_000)).toBe(200);
    expect(await at(signedAtMs - 15 * 60_000 - 1)).toBe(403);
  } finally {
    await clocked.stop();
  }
});
