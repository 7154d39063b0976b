import { HeadObjectCommand, ListPartsCommand, UploadPartCopyCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { crc32Base64, md5Hex } from '../support/body-digests.ts';
import type { Context } from './object-store-context.ts';
import { bytesOf, etagOf, PartsUpload, partBytes, readObject, refused, sdkOf } from './object-store-parts.ts';

/** UploadPartCopy. */
export function copyTests(context: Context): void {
  const bytes = bytesOf(2 * partBytes + 100, 'source');
  const stored = async (body: Buffer) => {
    const key = `${context.prefix()}source ä+%?&.bin`;
    await context.target.put(key, body);
    return key;
  };
  const copyPart = async (upload: PartsUpload, PartNumber: number, source: string, more: object = {}) => {
    const CopySource = `${sdkOf(context.target).bucket}/${encodeURIComponent(source)}`;
    const answer = await upload.client.send(
      new UploadPartCopyCommand({ ...upload.where, PartNumber, CopySource, ...more }),
    );
    const { ETag, ChecksumCRC32 } = answer.CopyPartResult ?? {};
    return { part: { PartNumber, ETag }, ChecksumCRC32 };
  };

  test('of ranges and whole objects become parts', async () => {
    const source = await stored(bytes);
    const upload = await PartsUpload.begin(context, `${context.prefix()}whole`);
    const { part: a } = await copyPart(upload, 1, source, { CopySourceRange: `bytes=7-${partBytes + 6}` });
    const { part: b } = await copyPart(upload, 2, source);
    const { part: c } = await copyPart(upload, 3, source, { CopySourceRange: `bytes=0-0` });
    const parts = [bytes.subarray(7, partBytes + 7), bytes, bytes.subarray(0, 1)];
    expect([a, b, c].map(({ ETag }) => ETag)).toEqual(parts.map((part) => `"${md5Hex(part)}"`));
    expect((await upload.complete([a, b, c])).ETag).toBe(etagOf(parts));
    expect((await readObject(context, upload.where.Key)).equals(Buffer.concat(parts))).toBe(true);
    // What was made of parts is a source again.
    const again = await PartsUpload.begin(context, `${context.prefix()}again`);
    const range = { CopySourceRange: `bytes=${partBytes - 10}-${2 * partBytes}` };
    const { part } = await copyPart(again, 1, upload.where.Key, range);
    await again.complete([part]);
    const expected = Buffer.concat(parts).subarray(partBytes - 10, 2 * partBytes + 1);
    expect((await readObject(context, again.where.Key)).equals(expected)).toBe(true);
  });

  test('of whole objects tell their CRC-32 if the upload wants one', async () => {
    const source = await stored(bytes);
    const type = { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' } as const;
    const upload = await PartsUpload.begin(context, `${context.prefix()}whole`, type);
    const { part, ChecksumCRC32 } = await copyPart(upload, 1, source);
    expect(part.ETag).toBe(`"${md5Hex(bytes)}"`);
    expect(ChecksumCRC32).toBe(crc32Base64(bytes));
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
    const Key = await stored(Buffer.from('0123456789'));
    const { client, bucket: Bucket } = sdkOf(context.target);
    const { ETag: CopySourceIfMatch } = await client.send(new HeadObjectCommand({ Bucket, Key }));
    const changed = { CopySourceIfMatch: `"${'0'.repeat(32)}"` };
    const upload = await PartsUpload.begin(context, `${context.prefix()}whole`);
    await refused(copyPart(upload, 1, Key, changed), 'PreconditionFailed', 412);
    const { part } = await copyPart(upload, 1, Key, { CopySourceIfMatch });
    await upload.complete([part]);
    expect((await readObject(context, upload.where.Key)).toString()).toBe('0123456789');
  });
}
