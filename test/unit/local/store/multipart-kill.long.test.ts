import { createHash } from 'node:crypto';
import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { bucket, StoreFixture } from '../../../support/store-fixture.ts';
import { spawnStore, trySend } from './spawned-store.ts';

/** An upload in parts as its client knows it. */
interface Upload {
  readonly key: string;
  readonly bodies: readonly Buffer[];
  id: string | undefined;
  /** ETags of the acknowledged parts, by number. */
  readonly etags: Map<number, string>;
  isCompleted: boolean;
}

function newUpload(index: number): Upload {
  const seed = createHash('md5').update(String(index)).digest();
  const bodies = [Buffer.alloc(5 * 1024 * 1024, seed), Buffer.alloc(1 + ((index * 7919) % 200_000), seed)];
  return { key: `k${index}`, bodies, id: undefined, etags: new Map(), isCompleted: false };
}

const pathOf = (upload: Upload) => `/${bucket}/${upload.key}`;

function listOf({ etags }: Upload): Buffer {
  const parts = [...etags].sort(([a], [b]) => a - b);
  const xml = parts.map(
    ([number, etag]) => `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`,
  );
  return Buffer.from(`<CompleteMultipartUpload>${xml.join('')}</CompleteMultipartUpload>`);
}

/** Begins, sends both parts and completes, as far as the store lives. */
async function run(url: string, upload: Upload, onStep: (step: string) => void): Promise<void> {
  const target = pathOf(upload);
  onStep('begin');
  const begun = await trySend(url, { method: 'POST', path: target, query: { uploads: '' } });
  upload.id = /<UploadId>(.+)<\/UploadId>/.exec(begun?.body.toString() ?? '')?.[1];
  if (upload.id === undefined) return;
  for (const [index, body] of upload.bodies.entries()) {
    onStep('part');
    const query = { partNumber: String(index + 1), uploadId: upload.id };
    const answer = await trySend(url, { method: 'PUT', path: target, query, body });
    if (answer?.status !== 200) return;
    upload.etags.set(index + 1, String(answer.headers['etag']));
  }
  onStep('complete');
  const completed = await trySend(url, {
    method: 'POST',
    path: target,
    query: { uploadId: upload.id },
    body: listOf(upload),
  });
  upload.isCompleted = completed?.status === 200;
}

/** What must hold after a kill. @returns whether the object is there. */
async function check(store: StoreFixture, upload: Upload): Promise<boolean> {
  const whole = Buffer.concat(upload.bodies);
  const target = pathOf(upload);
  const found = await store.send({ method: 'GET', path: target });
  if (upload.isCompleted) expect(found.status).toBe(200);
  if (found.status === 200) expect(found.body.equals(whole)).toBe(true);
  else expect(found.status).toBe(404);
  if (upload.id === undefined) return found.status === 200;
  const query = { uploadId: upload.id };
  if (found.status === 404) {
    const listed = await store.send({ method: 'GET', path: target, query });
    expect(listed.status).toBe(200);
    for (const etag of upload.etags.values()) {
      expect(listed.body.toString()).toContain(etag.replaceAll('"', '&quot;'));
    }
  }
  if (upload.etags.size === upload.bodies.length) {
    // Whether the first answer was lost or the object was not made yet: the client can ask again.
    const again = await store.send({ method: 'POST', path: target, query, body: listOf(upload) });
    expect(again.status).toBe(200);
    expect((await store.send({ method: 'GET', path: target })).body.equals(whole)).toBe(true);
  } else {
    expect((await store.send({ method: 'DELETE', path: target, query })).status).toBe(204);
  }
  return found.status === 200;
}

test('after a kill an object of parts is there whole or not at all, and its upload goes on', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'store-kill-'));
  let next = 0;
  const states = new Set<string>();
  for (const step of ['begin', 'part', 'part', 'complete', 'complete', 'complete', 'complete']) {
    const { child, url } = await spawnStore(dataDir);
    onTestFinished(() => void child.kill('SIGKILL'));
    const uploads = Array.from({ length: 3 }, () => {
      next += 1;
      return newUpload(next);
    });
    let steps = 0;
    const onStep = (reached: string) => {
      if (reached !== step) return;
      steps += 1;
      // At a random moment of it.
      if (steps === 2) void pause(Math.random() * 60).then(() => child.kill('SIGKILL'));
    };
    await Promise.all(uploads.map((upload) => run(url, upload, onStep)));
    child.kill('SIGKILL');
    const store = await StoreFixture.start({ dataDir });
    expect(await store.uploadsLeft()).toEqual([]);
    for (const upload of uploads) states.add(`${step}: ${await check(store, upload)}`);
    const query = { 'list-type': '2' };
    const listing = await store.send({ method: 'GET', path: `/${bucket}`, query });
    const open = await store.send({ method: 'GET', path: `/${bucket}`, query: { uploads: '' } });
    // An upload whose id was never heard of stays for eight days.
    const unheard = [...open.body.toString().matchAll(/<UploadId>(.+?)</g)].map(([, id = '']) => id);
    expect((await readdir(path.join(dataDir, 'multipart'))).sort()).toEqual(unheard.sort());
    expect(listing.body.toString().match(/<Contents>/g)?.length ?? 0).toBeLessThanOrEqual(next);
    expect(store.errors).toEqual([]);
    await store.close();
  }
  expect([...states].some((state) => state.endsWith('false'))).toBe(true);
}, 120_000);
