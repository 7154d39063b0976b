import {
  CopyObjectCommand,
  HeadObjectCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { crc32Base64, md5Hex } from '../support/body-digests.ts';
import { type Context, type ObjectStoreSkips, testUnless } from './object-store-context.ts';
import { bytesOf, etagOf, PartsUpload, partBytes, readObject, refused, sdkOf } from './object-store-parts.ts';

/** CopyObject and UploadPartCopy. */
export function copyTests(context: Context, skips: ObjectStoreSkips): void {
  const bytes = bytesOf(2 * partBytes + 100, 'source');
  const stored = async (body: Buffer, name = 'source ä+%?&.bin') => {
    const key = `${context.prefix()}${name}`;
    await context.target.put(key, body);
    return key;
  };
  const sourceOf = (key: string) => `${sdkOf(context.target).bucket}/${encodeURIComponent(key)}`;
  const copy = async (source: string, Key: string, more: object = {}) => {
    const { client, bucket: Bucket } = sdkOf(context.target);
    const CopySource = sourceOf(source);
    return await client.send(new CopyObjectCommand({ Bucket, Key, CopySource, ...more }));
  };
  const copyPart = async (upload: PartsUpload, PartNumber: number, source: string, more: object = {}) => {
    const CopySource = sourceOf(source);
    const answer = await upload.client.send(
      new UploadPartCopyCommand({ ...upload.where, PartNumber, CopySource, ...more }),
    );
    const { ETag, ChecksumCRC32 } = answer.CopyPartResult ?? {};
    return { PartNumber, ETag, ...(ChecksumCRC32 !== undefined && { ChecksumCRC32 }) };
  };
  const head = async (Key: string) => {
    const { client, bucket: Bucket } = sdkOf(context.target);
    return await client.send(new HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }));
  };

  test('of ranges and whole objects become parts', async () => {
    const source = await stored(bytes);
    const upload = await PartsUpload.begin(context, `${context.prefix()}whole`);
    const a = await copyPart(upload, 1, source, { CopySourceRange: `bytes=7-${partBytes + 6}` });
    const b = await copyPart(upload, 2, source);
    const c = await copyPart(upload, 3, source, { CopySourceRange: `bytes=0-0` });
    const parts = [bytes.subarray(7, partBytes + 7), bytes, bytes.subarray(0, 1)];
    expect([a, b, c].map(({ ETag }) => ETag)).toEqual(parts.map((part) => `"${md5Hex(part)}"`));
    expect((await upload.complete([a, b, c])).ETag).toBe(etagOf(parts));
    expect((await readObject(context, upload.where.Key)).equals(Buffer.concat(parts))).toBe(true);
    // What was made of parts is a source again.
    const again = await PartsUpload.begin(context, `${context.prefix()}again`);
    const range = { CopySourceRange: `bytes=${partBytes - 10}-${2 * partBytes}` };
    const part = await copyPart(again, 1, upload.where.Key, range);
    await again.complete([part]);
    const expected = Buffer.concat(parts).subarray(partBytes - 10, 2 * partBytes + 1);
    expect((await readObject(context, again.where.Key)).equals(expected)).toBe(true);
  });

  const rangeWithCrc32 = async (source: string) => {
    const type = { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' } as const;
    const upload = await PartsUpload.begin(context, `${context.prefix()}whole`, type);
    const copied = bytes.subarray(1, partBytes + 1);
    const part = await copyPart(upload, 1, source, { CopySourceRange: `bytes=1-${partBytes}` });
    expect(part).toMatchObject({ ChecksumCRC32: crc32Base64(copied) });
    const uploaded = await upload.part(2, bytes.subarray(0, 9), { ChecksumAlgorithm: 'CRC32' });
    const { Parts = [] } = await upload.client.send(new ListPartsCommand(upload.where));
    const whole = Buffer.concat([copied, bytes.subarray(0, 9)]);
    expect(Parts.map(({ ChecksumCRC32 }) => ChecksumCRC32)).toEqual(
      [copied, bytes.subarray(0, 9)].map(crc32Base64),
    );
    expect(await upload.complete([part, uploaded])).toMatchObject({ ChecksumCRC32: crc32Base64(whole) });
  };

  test('have the CRC32 of their bytes if the upload wants one', async () => {
    const source = `${context.prefix()}source`;
    const { client, bucket: Bucket } = sdkOf(context.target);
    const put = { Bucket, Key: source, Body: bytes, ChecksumAlgorithm: 'SHA256' } as const;
    await client.send(new PutObjectCommand(put));
    await rangeWithCrc32(source);
    const whole = await stored(bytes);
    const upload = await PartsUpload.begin(context, `${context.prefix()}whole`, {
      ChecksumAlgorithm: 'CRC32',
      ChecksumType: 'FULL_OBJECT',
    });
    for (const [index, key] of [source, whole].entries()) {
      const part = { ETag: `"${md5Hex(bytes)}"`, ChecksumCRC32: crc32Base64(bytes) };
      expect(await copyPart(upload, index + 1, key)).toMatchObject(part);
    }
  });

  testUnless(skips.rangeChecksum, 'have it also if their source has another', async () => {
    // The SDK adds a CRC32 to the source.
    await rangeWithCrc32(await stored(bytes));
  });

  test('of a part are refused without an upload, an object, or such a range', async () => {
    const source = await stored(Buffer.from('0123456789'));
    const upload = await PartsUpload.begin(context, `${context.prefix()}whole`);
    await refused(copyPart(upload, 1, `${source}-none`), 'NoSuchKey', 404);
    for (const CopySourceRange of [
      'bytes=0-10',
      'bytes=10-11',
      'bytes=5-4',
      'bytes=-3',
      '0-3',
      'bytes=0-1,3-4',
    ])
      await refused(copyPart(upload, 1, source, { CopySourceRange }), 'InvalidArgument');
    await refused(copyPart(upload, 0, source), 'InvalidArgument');
    await refused(copyPart(upload, 1, source, { UploadId: 'none' }), 'NoSuchUpload', 404);
    const { Parts = [] } = await upload.client.send(new ListPartsCommand(upload.where));
    expect(Parts).toEqual([]);
  });

  test('are made only if the source has not changed, if the client wants that', async () => {
    const key = await stored(Buffer.from('0123456789'));
    const { ETag: CopySourceIfMatch } = await head(key);
    const changed = { CopySourceIfMatch: `"${'0'.repeat(32)}"` };
    const upload = await PartsUpload.begin(context, `${context.prefix()}whole`);
    const target = `${context.prefix()}copy`;
    await refused(copyPart(upload, 1, key, changed), 'PreconditionFailed', 412);
    await refused(copy(key, target, changed), 'PreconditionFailed', 412);
    expect(await context.target.store.head(target)).toBeUndefined();
    await copyPart(upload, 1, key, { CopySourceIfMatch });
    await copy(key, target, { CopySourceIfMatch });
    expect((await readObject(context, target)).toString()).toBe('0123456789');
  });

  test('of objects are objects of their own', async () => {
    const source = await stored(bytes);
    const target = `${context.prefix()}copy`;
    const { CopyObjectResult } = await copy(source, target);
    expect(CopyObjectResult?.ETag).toBe(`"${md5Hex(bytes)}"`);
    const { ETag, ContentLength, ChecksumCRC32 } = await head(target);
    expect({ ETag, ContentLength, ChecksumCRC32 }).toEqual({
      ETag: `"${md5Hex(bytes)}"`,
      ContentLength: bytes.length,
      // The SDK has declared it for the source.
      ChecksumCRC32: crc32Base64(bytes),
    });
    await context.target.put(source, Buffer.from('changed'));
    expect((await readObject(context, target)).equals(bytes)).toBe(true);
    await context.target.store.delete([source], { deadlineMs: Date.now() + 10_000 });
    expect((await readObject(context, target)).equals(bytes)).toBe(true);
  });

  test('of an object replace another, but not themselves', async () => {
    const source = await stored(Buffer.from('new'));
    const target = await stored(Buffer.from('a longer old one'), 'target');
    await copy(source, target);
    expect((await readObject(context, target)).toString()).toBe('new');
    await refused(copy(source, source), 'InvalidRequest');
    await refused(copy(`${source}-none`, target), 'NoSuchKey', 404);
    expect((await readObject(context, target)).toString()).toBe('new');
  });

  test('of an object that was uploaded in parts have all its bytes', async () => {
    const upload = await PartsUpload.begin(context, `${context.prefix()}parts`, { ContentType: 'text/y' });
    const a = await upload.part(1, bytes);
    const b = await upload.part(2, bytes.subarray(0, 5));
    await upload.complete([a, b]);
    const target = `${context.prefix()}copy`;
    await copy(upload.where.Key, target);
    const whole = Buffer.concat([bytes, bytes.subarray(0, 5)]);
    expect((await readObject(context, target)).equals(whole)).toBe(true);
    expect(await head(target)).toMatchObject({ ContentType: 'text/y', ETag: `"${md5Hex(whole)}"` });
  });
}
