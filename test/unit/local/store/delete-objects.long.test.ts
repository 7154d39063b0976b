import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { DeleteObjectsCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sendRaw } from '../../../support/raw-request.ts';
import { bucket, StoreFixture } from '../../../support/store-fixture.ts';

let store: StoreFixture;

beforeEach(async () => {
  store = await StoreFixture.start();
});

afterEach(async () => {
  await store.stop();
});

const pathOf = (key: string) => `/${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`;
const put = (key: string) => store.send({ method: 'PUT', path: pathOf(key), body: Buffer.from(key) });
const isThere = async (key: string) =>
  (await store.send({ method: 'HEAD', path: pathOf(key) })).status === 200;

const bodyOf = (inner: string) => Buffer.from(`<Delete>${inner}</Delete>`);
const objectsOf = (...keys: string[]) => keys.map((key) => `<Object><Key>${key}</Key></Object>`).join('');
const remove = (body: Buffer, more: object = {}) =>
  store.send({ method: 'POST', path: `/${bucket}`, query: { delete: '' }, body, ...more });

describe('DeleteObjects', () => {
  test('deletes what it names, and says so, whether it was there or not', async () => {
    for (const key of ['a', 'kept', ' b ', 'c&<d>']) await put(key);
    const answer = await remove(bodyOf(objectsOf('a', 'never', ' b ', 'c&amp;&lt;d&gt;', 'a')));
    expect(answer.status).toBe(200);
    expect(
      [...answer.body.toString().matchAll(/<Deleted><Key>(.*?)<\/Key><\/Deleted>/g)].map(([, key]) => key),
    ).toEqual(['a', 'never', ' b ', 'c&amp;&lt;d&gt;']);
    await store.restart();
    expect(await Promise.all(['a', 'kept', ' b ', 'c&<d>'].map(isThere))).toEqual([
      false,
      true,
      false,
      false,
    ]);
    expect(store.errors).toEqual([]);
  });

  test('takes an MD5, and keys with line breaks', async () => {
    const key = 'tab\tand\rbreak\n';
    await put(key);
    const body = bodyOf(objectsOf('tab&#9;and&#13;break&#10;'));
    const headers = { 'content-md5': createHash('md5').update(body).digest('base64') };
    expect((await remove(body, { headers })).status).toBe(200);
    expect(await isThere(key)).toBe(false);
  });

  test('takes a thousand keys, and no more', async () => {
    const keys = Array.from({ length: 1_000 }, (_, index) => `k${index}`);
    for (const key of keys.slice(0, 300)) await put(key);
    expect(await remove(bodyOf(objectsOf(...keys, 'one-more')))).toMatchObject({ code: 'MalformedXML' });
    expect(await isThere('k0')).toBe(true);
    // The longest request.
    const longest = keys.map((_, index) => '&#38;'.repeat(1_020) + String(index).padStart(4, '0'));
    expect((await remove(bodyOf(objectsOf(...longest)))).status).toBe(200);
    expect((await remove(bodyOf(objectsOf(...keys)))).status).toBe(200);
    const listed = await store.send({ method: 'GET', path: `/${bucket}`, query: { 'list-type': '2' } });
    expect(listed.body.toString()).toContain('<KeyCount>0</KeyCount>');
  });

  test('says of each key what went wrong', async () => {
    await put('a');
    await put('b');
    const folder = path.join(
      store.dataDir,
      'objects',
      createHash('sha256').update('a').digest('hex').slice(0, 2),
    );
    // A folder without its files cannot be synced.
    await rm(folder, { recursive: true });
    const answer = (await remove(bodyOf(objectsOf('a', 'b')))).body.toString();
    expect(answer).toMatch(/<Error><Key>a<\/Key><Code>InternalError<\/Code>.*<Deleted><Key>b<\/Key>/);
    expect(store.errors).toHaveLength(1);
    expect(await isThere('b')).toBe(false);
  });

  test.each([
    { name: 'no XML', body: Buffer.from('none'), code: 'MalformedXML' },
    { name: 'no keys', body: bodyOf(''), code: 'MalformedXML' },
    {
      name: 'a version',
      body: bodyOf('<Object><Key>a</Key><VersionId>1</VersionId></Object>'),
      code: 'NotImplemented',
    },
    { name: 'Quiet', body: bodyOf(`<Quiet>true</Quiet>${objectsOf('a')}`), code: 'NotImplemented' },
    {
      name: 'another MD5',
      more: { headers: { 'content-md5': Buffer.alloc(16).toString('base64') } },
      code: 'BadDigest',
    },
    {
      name: 'another checksum',
      more: { headers: { 'x-amz-checksum-crc32': 'AAAAAA==' } },
      code: 'NotImplemented',
    },
    {
      name: 'other bytes than were signed',
      more: { sentBody: bodyOf(objectsOf('b')) },
      code: 'XAmzContentSHA256Mismatch',
    },
    { name: 'too many bytes', body: Buffer.alloc(9_000_000, ' '), code: 'MaxMessageLengthExceeded' },
  ])('deletes nothing with $name', async ({ body = bodyOf(objectsOf('a')), more = {}, code }) => {
    await put('a');
    await put('b');
    expect((await remove(body, more)).code).toBe(code);
    expect([await isThere('a'), await isThere('b')]).toEqual([true, true]);
  });

  test('is refused by a presigned URL', async () => {
    await put('a');
    const client = store.client();
    const command = new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: [{ Key: 'a' }] } });
    const href = await getSignedUrl(client, command);
    const body = bodyOf(objectsOf('a'));
    const headers = { 'content-length': String(body.length) };
    const answer = await sendRaw({ method: 'POST', href, headers, body });
    expect(answer.status).toBe(403);
    client.destroy();
    expect(await isThere('a')).toBe(true);
  });
});
