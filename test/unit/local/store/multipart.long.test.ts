import { randomUUID } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ObjectUpload } from '../../../../local/store/files.ts';
import { crc32Base64, md5Hex } from '../../../support/body-digests.ts';
import { sendRaw } from '../../../support/raw-request.ts';
import { bucket, StoreFixture } from '../../../support/store-fixture.ts';

let store: StoreFixture;

beforeEach(async () => {
  store = await StoreFixture.start();
});

afterEach(async () => {
  vi.restoreAllMocks();
  await store.stop();
});

const body = Buffer.from('the bytes of a part');
const target = `/${bucket}/k`;

async function begin(): Promise<string> {
  const answer = await store.send({ method: 'POST', path: target, query: { uploads: '' } });
  expect(answer.status).toBe(200);
  return /<UploadId>(.+)<\/UploadId>/.exec(answer.body.toString())?.[1] ?? '';
}

const sendPart = (uploadId: string, more: object = {}, partNumber = 1) =>
  store.send({
    method: 'PUT',
    path: target,
    query: { partNumber: String(partNumber), uploadId },
    body,
    ...more,
  });

const listOf = (etag: unknown) =>
  Buffer.from(
    `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${etag}</ETag></Part></CompleteMultipartUpload>`,
  );

const complete = (uploadId: string, etag: unknown, more: object = {}) =>
  store.send({ method: 'POST', path: target, query: { uploadId }, body: listOf(etag), ...more });

const uploadFolders = () => readdir(path.join(store.dataDir, 'multipart'));

async function isThere(): Promise<boolean> {
  return (await store.send({ method: 'HEAD', path: target })).status === 200;
}

describe('a part', () => {
  test('is taken signed and unsigned', async () => {
    const id = await begin();
    for (const more of [{}, { headers: { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' } }]) {
      const answer = await sendPart(id, more);
      expect(answer.status).toBe(200);
      expect(answer.headers['etag']).toBe(`"${md5Hex(body)}"`);
    }
  });

  test.each([
    {
      name: 'other bytes than were signed',
      more: { sentBody: Buffer.from('THE BYTES OF A PART') },
      code: 'XAmzContentSHA256Mismatch',
    },
    {
      name: 'a wrong checksum',
      more: { headers: { 'content-md5': Buffer.alloc(16).toString('base64') } },
      code: 'BadDigest',
    },
    {
      name: 'more than 5 GiB',
      more: { headers: { 'content-length': String(5 * 1024 ** 3 + 1) } },
      code: 'EntityTooLarge',
    },
    {
      name: 'a checksum that is not served',
      more: { headers: { 'x-amz-checksum-crc32': crc32Base64(body) } },
      code: 'NotImplemented',
    },
  ])('is refused with $name', async ({ more, code }) => {
    const id = await begin();
    expect((await sendPart(id, more)).code).toBe(code);
    expect(await store.uploadsLeft()).toEqual([]);
    expect(await readdir(path.join(store.dataDir, 'multipart', id))).toEqual(['upload.json']);
  });

  test.each([
    { 'x-amz-checksum-algorithm': 'SHA256' },
    { 'x-amz-checksum-algorithm': 'CRC32' },
    { 'x-amz-checksum-type': 'FULL_OBJECT' },
  ])('has no checksum of a kind that is not served: %j', async (headers) => {
    const answer = await store.send({ method: 'POST', path: target, query: { uploads: '' }, headers });
    expect(answer).toMatchObject({ status: 501, code: 'NotImplemented' });
    expect(await uploadFolders()).toEqual([]);
  });

  test('that arrives after the abort is refused, and leaves nothing', async () => {
    const id = await begin();
    const write = ObjectUpload.prototype.write;
    vi.spyOn(ObjectUpload.prototype, 'write').mockImplementationOnce(async function (
      this: ObjectUpload,
      chunk,
    ) {
      await store.send({ method: 'DELETE', path: target, query: { uploadId: id } });
      await write.call(this, chunk);
    });
    expect(await sendPart(id)).toMatchObject({ status: 404, code: 'NoSuchUpload' });
    expect(await store.uploadsLeft()).toEqual([]);
    expect(await uploadFolders()).toEqual([]);
  });
});

describe('the request to complete an upload', () => {
  test.each([
    {
      name: 'other bytes than were signed',
      more: { sentBody: listOf(`"${'0'.repeat(32)}"`) },
      code: 'XAmzContentSHA256Mismatch',
    },
    { name: 'no XML', more: { body: Buffer.from('none') }, code: 'MalformedXML' },
    {
      name: 'too many bytes',
      more: { body: Buffer.alloc(9_000_000, ' ') },
      code: 'MaxMessageLengthExceeded',
    },
    {
      name: 'a checksum of the object',
      more: { headers: { 'x-amz-checksum-crc32': crc32Base64(body) } },
      code: 'NotImplemented',
    },
  ])('is refused with $name, and can be sent again', async ({ more, code }) => {
    const id = await begin();
    const { headers } = await sendPart(id);
    expect((await complete(id, headers['etag'], more)).code).toBe(code);
    expect(await isThere()).toBe(false);
    expect((await complete(id, headers['etag'])).status).toBe(200);
    expect(await uploadFolders()).toEqual([]);
  });

  test('is answered alike to all who send it at once', async () => {
    const id = await begin();
    const { headers } = await sendPart(id);
    const answers = await Promise.all(Array.from({ length: 5 }, () => complete(id, headers['etag'])));
    expect(new Set(answers.map(({ status, body: xml }) => `${status} ${xml}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
  });

  test('is answered again after a restart, until the object is another', async () => {
    const id = await begin();
    const { headers } = await sendPart(id);
    const first = await complete(id, headers['etag']);
    await store.restart();
    const again = await complete(id, headers['etag']);
    expect(again.status).toBe(200);
    expect(/<ETag>.*<\/ETag>/.exec(again.body.toString())?.[0]).toBe(
      /<ETag>.*<\/ETag>/.exec(first.body.toString())?.[0],
    );
    expect(await complete(id, '"00000000000000000000000000000000"')).toMatchObject({ code: 'NoSuchUpload' });
    await store.send({ method: 'PUT', path: target, body });
    expect(await complete(id, headers['etag'])).toMatchObject({ status: 404, code: 'NoSuchUpload' });
  });
});

describe('at a restart', () => {
  test('uploads go on, and rests of ended ones are removed', async () => {
    const id = await begin();
    const { headers } = await sendPart(id);
    const folder = path.join(store.dataDir, 'multipart');
    await writeFile(path.join(folder, id, 'upload.json.1.unfinished'), '{');
    const ended = path.join(folder, `${'0'.repeat(12)}-${randomUUID()}`);
    await mkdir(ended);
    await writeFile(path.join(ended, '00001'), 'rest');
    await store.restart();
    expect(await uploadFolders()).toEqual([id]);
    expect((await complete(id, headers['etag'])).status).toBe(200);
    const got = await store.send({ method: 'GET', path: target });
    expect(got.body.equals(body)).toBe(true);
  });

  test('an upload that was killed after its object was made has ended', async () => {
    const id = await begin();
    const { headers } = await sendPart(id);
    const folder = path.join(store.dataDir, 'multipart', id);
    const kept = path.join(store.dataDir, 'kept');
    await cp(folder, kept, { recursive: true });
    await complete(id, headers['etag']);
    await cp(kept, folder, { recursive: true });
    await rm(kept, { recursive: true });
    await store.restart();
    expect(await uploadFolders()).toEqual([]);
    expect((await complete(id, headers['etag'])).status).toBe(200);
  });

  test('an upload with a damaged record is set aside, and the others go on', async () => {
    const [id, other] = [await begin(), await begin()];
    const { headers } = await sendPart(other);
    await writeFile(path.join(store.dataDir, 'multipart', id, 'upload.json'), 'this is no record');
    expect((await sendPart(id)).code).toBe('NoSuchUpload');
    await store.restart();
    expect(await readdir(path.join(store.dataDir, 'set-aside'))).toEqual([`multipart-${id}`]);
    expect((await sendPart(id)).code).toBe('NoSuchUpload');
    expect((await complete(other, headers['etag'])).status).toBe(200);
  });
});

test('a damaged part counts as not sent: it becomes no object, and is sent again', async () => {
  const id = await begin();
  const { headers } = await sendPart(id);
  const file = path.join(store.dataDir, 'multipart', id, '00001');
  const whole = await readFile(file);
  await writeFile(file, whole.subarray(1));
  expect(await complete(id, headers['etag'])).toMatchObject({ status: 400, code: 'InvalidPart' });
  const listed = await store.send({ method: 'GET', path: target, query: { uploadId: id } });
  expect(listed.body.toString()).not.toContain('<Part>');
  expect([store.errors, await isThere(), await store.uploadsLeft()]).toEqual([[], false, []]);
  await sendPart(id);
  expect((await complete(id, headers['etag'])).status).toBe(200);
});

test('an upload is aborted after eight days', async () => {
  let nowMs = Date.parse('2026-11-21T00:00:00Z');
  await store.stop();
  store = await StoreFixture.start({ now: () => nowMs });
  const at = () => ({ method: 'POST', path: target, query: { uploads: '' }, signedAtMs: nowMs });
  await store.send(at());
  nowMs += 1;
  await store.send(at());
  expect(await uploadFolders()).toHaveLength(2);
  const kept = (await uploadFolders()).sort().at(-1);
  await store.restart({ now: () => nowMs + 8 * 24 * 3_600_000 - 1 });
  expect(await uploadFolders()).toEqual([kept]);
});

test('more than a thousand unfinished uploads are refused', async () => {
  const ids = Array.from({ length: 1000 }, () => `${'0'.repeat(12)}-${randomUUID()}`);
  for (const id of ids) {
    const folder = path.join(store.dataDir, 'multipart', id);
    await mkdir(folder);
    const record = { id, key: 'k', contentType: '', initiatedAtMs: Date.now() };
    await writeFile(path.join(folder, 'upload.json'), JSON.stringify(record));
  }
  await store.restart();
  const answer = await store.send({ method: 'POST', path: target, query: { uploads: '' } });
  expect(answer).toMatchObject({ status: 400, code: 'InvalidRequest' });
  expect(answer.body.toString()).toContain('Complete or abort some of them first.');
  await store.send({ method: 'DELETE', path: target, query: { uploadId: ids[7] ?? '' } });
  await begin();
});

describe('a full disk', () => {
  const failure = () =>
    Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  const fail = () => vi.spyOn(ObjectUpload.prototype, 'write').mockRejectedValueOnce(failure());

  test('refuses a part, and keeps the one that was there', async () => {
    const id = await begin();
    const { headers } = await sendPart(id);
    fail();
    expect(await sendPart(id)).toMatchObject({ status: 507, code: 'InsufficientStorage' });
    expect(await store.uploadsLeft()).toEqual([]);
    expect((await complete(id, headers['etag'])).status).toBe(200);
  });

  test('refuses to complete, and leaves the upload as it was', async () => {
    const id = await begin();
    const { headers } = await sendPart(id);
    fail();
    expect(await complete(id, headers['etag'])).toMatchObject({ status: 507, code: 'InsufficientStorage' });
    expect(await isThere()).toBe(false);
    expect(await store.uploadsLeft()).toEqual([]);
    expect((await complete(id, headers['etag'])).status).toBe(200);
  });

  test('refuses a copy, and keeps the part that was there', async () => {
    await store.send({ method: 'PUT', path: `/${bucket}/source`, body: Buffer.from('other bytes') });
    const id = await begin();
    const { headers } = await sendPart(id);
    const copy = { body: undefined, headers: { 'x-amz-copy-source': `${bucket}/source` } };
    fail();
    expect(await sendPart(id, copy)).toMatchObject({ status: 507, code: 'InsufficientStorage' });
    expect(await store.uploadsLeft()).toEqual([]);
    expect((await complete(id, headers['etag'])).status).toBe(200);
  });
});

describe('a presigned URL', () => {
  test('to put an object is good for no part, and for no copy', async () => {
    const id = await begin();
    await store.send({ method: 'PUT', path: `/${bucket}/source`, body });
    const client = store.client();
    const href = await getSignedUrl(client, new PutObjectCommand({ Bucket: bucket, Key: 'k' }));
    const headers = { 'content-length': String(body.length) };
    for (const added of [`&partNumber=1&uploadId=${id}`, `&uploadId=${id}`, '&partNumber=1', '&uploads=']) {
      const answer = await sendRaw({ method: 'PUT', href: href + added, headers, body });
      expect(answer.status).toBe(403);
      expect((await sendRaw({ method: 'POST', href: href + added, headers, body })).status).toBe(403);
      expect((await sendRaw({ method: 'DELETE', href: href + added })).status).toBe(403);
    }
    const copy = await sendRaw({ method: 'PUT', href, headers: { 'x-amz-copy-source': `${bucket}/source` } });
    expect(copy.status).toBe(403);
    expect(await readdir(path.join(store.dataDir, 'multipart', id))).toEqual(['upload.json']);
    expect(await isThere()).toBe(false);
    expect((await sendRaw({ method: 'PUT', href, headers, body })).status).toBe(200);
    client.destroy();
  });

  test('of a part is enough for that, until it is too late to write it down', async () => {
    let nowMs = Date.now();
    await store.stop();
    store = await StoreFixture.start({ now: () => nowMs });
    const id = await begin();
    const client = store.client();
    const where = { Bucket: bucket, Key: 'k', UploadId: id, PartNumber: 1 };
    const href = await getSignedUrl(client, new UploadPartCommand(where));
    const headers = { 'content-length': String(body.length) };
    const { seal } = ObjectUpload.prototype;
    const sealing = vi.spyOn(ObjectUpload.prototype, 'seal');
    sealing.mockImplementation(async function (this: ObjectUpload, record) {
      nowMs += 24 * 3_600_000;
      await seal.call(this, record);
    });
    const late = await sendRaw({ method: 'PUT', href, headers, body });
    expect([late.status, late.body.toString()]).toEqual([400, expect.stringContaining('RequestTimeout')]);
    nowMs -= 24 * 3_600_000;
    expect((await client.send(new ListPartsCommand(where))).Parts ?? []).toEqual([]);
    sealing.mockRestore();
    expect((await sendRaw({ method: 'PUT', href, headers, body })).status).toBe(200);
    client.destroy();
  });

  test('is not enough for uploads in parts and copies, though they are what it signs', async () => {
    const id = await begin();
    const { headers } = await sendPart(id);
    await store.send({ method: 'PUT', path: `/${bucket}/source`, body });
    const client = store.client();
    const where = { Bucket: bucket, Key: 'k', UploadId: id };
    const CopySource = `${bucket}/source`;
    const commands = [
      ['POST', new CreateMultipartUploadCommand({ Bucket: bucket, Key: 'k' })],
      ['PUT', new UploadPartCopyCommand({ ...where, PartNumber: 2, CopySource })],
      ['GET', new ListPartsCommand(where)],
      ['POST', new CompleteMultipartUploadCommand(where)],
      ['DELETE', new AbortMultipartUploadCommand(where)],
    ] as const;
    for (const [method, command] of commands) {
      const signed = await getSignedUrl(client, command as PutObjectCommand, {
        unhoistableHeaders: new Set(['x-amz-copy-source']),
      });
      const isCopy = signed.includes('x-amz-copy-source');
      const answer = await sendRaw({
        method,
        href: signed,
        headers: isCopy ? { 'x-amz-copy-source': CopySource } : {},
        ...((method === 'POST' || method === 'PUT') && { body: listOf(headers['etag']) }),
      });
      expect({ method, status: answer.status }).toEqual({ method, status: 403 });
      expect(answer.body.toString()).toContain("a presigned URL isn't enough");
    }
    expect(await isThere()).toBe(false);
    expect(await uploadFolders()).toEqual([id]);
    client.destroy();
  });
});
