import {
  AbortMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { md5Hex } from '../support/body-digests.ts';
import { sendRaw } from '../support/raw-request.ts';
import { type Context, keysBelow, lengthOf, lifetimeMs, signerOf, soon } from './object-store-context.ts';
import { bytesOf, etagOf, PartsUpload, partBytes, readObject, refused, sdkOf } from './object-store-parts.ts';

/** Uploads in parts, as S3 has them. */
export function multipartTests(context: Context): void {
  const first = bytesOf(partBytes, 'first');
  const second = bytesOf(partBytes + 17, 'second');
  const last = bytesOf(1000, 'last');
  const begin = (name = 'whole') => PartsUpload.begin(context, `${context.prefix()}${name}`);
  const head = async (Key: string) => {
    const { client, bucket: Bucket } = sdkOf(context.target);
    return await client.send(new HeadObjectCommand({ Bucket, Key }));
  };

  test('become one object, whatever the order in which they come', async () => {
    const upload = await begin('a b+ä&<whole>');
    const { Key } = upload.where;
    const c = await upload.part(10_000, last);
    const b = await upload.part(7, second);
    await upload.part(1, last);
    const a = await upload.part(1, first);
    expect(await keysBelow(context.target.listing, Key)).toEqual([]);
    expect(await context.target.store.head(Key)).toBeUndefined();
    const { ETag, Bucket, Key: answered } = await upload.complete([a, b, c]);
    const ofParts = etagOf([first, second, last]);
    expect({ ETag, Bucket, Key: answered }).toEqual({ ETag: ofParts, Bucket: upload.where.Bucket, Key });
    const whole = Buffer.concat([first, second, last]);
    expect((await readObject(context, Key)).equals(whole)).toBe(true);
    expect(await keysBelow(context.target.listing, Key)).toEqual([Key]);
    expect(await head(Key)).toMatchObject({ ContentLength: whole.length, ETag: ofParts });
    const range = await readObject(context, Key, { Range: `bytes=${partBytes - 5}-${partBytes + 4}` });
    expect(range.equals(whole.subarray(partBytes - 5, partBytes + 5))).toBe(true);
  });

  test('may be left out, and one alone may have any size', async () => {
    const upload = await begin();
    await upload.part(1, first);
    const only = await upload.part(2, last);
    expect((await upload.complete([only])).ETag).toBe(etagOf([last]));
    expect((await readObject(context, upload.where.Key)).equals(last)).toBe(true);
    const none = await begin();
    const empty = await none.part(1, Buffer.alloc(0));
    await none.complete([empty]);
    expect(await head(none.where.Key)).toMatchObject({ ContentLength: 0 });
  });

  test('replace an object, and are replaced by one', async () => {
    const upload = await begin();
    const { Key } = upload.where;
    await context.target.put(Key, Buffer.from('before'));
    const part = await upload.part(1, last);
    expect((await readObject(context, Key)).toString()).toBe('before');
    await upload.complete([part]);
    expect((await readObject(context, Key)).equals(last)).toBe(true);
    await context.target.put(Key, Buffer.from('after'));
    expect((await readObject(context, Key)).toString()).toBe('after');
  });

  test('are refused in a wrong order, with a wrong ETag, when they are too small, or missing', async () => {
    const upload = await begin();
    const a = await upload.part(1, first);
    const b = await upload.part(2, second);
    const c = await upload.part(3, last);
    const d = await upload.part(4, last);
    await refused(upload.complete([b, a]), 'InvalidPartOrder');
    await refused(upload.complete([a, a]), 'InvalidPartOrder');
    await refused(upload.complete([{ ...a, ETag: `"${md5Hex(second)}"` }]), 'InvalidPart');
    await refused(upload.complete([a, { ...b, PartNumber: 5 }]), 'InvalidPart');
    await refused(upload.complete([a, c, d]), 'EntityTooSmall');
    await refused(upload.complete([]), 'MalformedXML');
    expect(await context.target.store.head(upload.where.Key)).toBeUndefined();
    await upload.complete([a, d]);
    expect((await readObject(context, upload.where.Key)).equals(Buffer.concat([first, last]))).toBe(true);
  });

  test('are completed again with the same answer, but not with other parts', async () => {
    const upload = await begin();
    const a = await upload.part(1, last);
    const { ETag } = await upload.complete([a]);
    expect((await upload.complete([a])).ETag).toBe(ETag);
    await refused(upload.part(2, last), 'NoSuchUpload', 404);
  });

  test('belong to an upload of this key', async () => {
    const upload = await begin();
    const { client, where } = upload;
    const a = await upload.part(1, last);
    const elsewhere = { ...where, Key: `${where.Key}-other` };
    const send = (where: object, PartNumber: number) =>
      client.send(new UploadPartCommand({ ...upload.where, ...where, PartNumber, Body: last }));
    await refused(send({ UploadId: 'none' }, 1), 'NoSuchUpload', 404);
    await refused(send({ UploadId: '../../objects' }, 1), 'NoSuchUpload', 404);
    await refused(send(elsewhere, 1), 'NoSuchUpload', 404);
    for (const number of [0, -1, 10_001]) await refused(send({}, number), 'InvalidArgument');
    await refused(client.send(new ListPartsCommand(elsewhere)), 'NoSuchUpload', 404);
    await refused(client.send(new AbortMultipartUploadCommand(elsewhere)), 'NoSuchUpload', 404);
    await upload.complete([a]);
  });

  test('are gone after an abort', async () => {
    const upload = await begin();
    const { client, where } = upload;
    const a = await upload.part(1, last);
    await client.send(new AbortMultipartUploadCommand(where));
    await refused(upload.complete([a]), 'NoSuchUpload', 404);
    await refused(upload.part(1, last), 'NoSuchUpload', 404);
    await refused(client.send(new ListPartsCommand(where)), 'NoSuchUpload', 404);
    await refused(client.send(new AbortMultipartUploadCommand(where)), 'NoSuchUpload', 404);
    expect(await context.target.store.head(where.Key)).toBeUndefined();
  });

  test('are listed from a number on', async () => {
    const upload = await begin();
    const { client, where } = upload;
    const numbers = [1, 2, 9, 10, 11, 100, 10_000];
    for (const number of [...numbers].reverse()) await upload.part(number, bytesOf(number, 'part'));
    const listed = async (PartNumberMarker?: string) => {
      const page = await client.send(new ListPartsCommand({ ...where, PartNumberMarker }));
      const { Parts = [], Key, UploadId, IsTruncated } = page;
      expect({ Key, UploadId, IsTruncated }).toEqual({
        Key: where.Key,
        UploadId: where.UploadId,
        IsTruncated: false,
      });
      return Parts.map(({ PartNumber, Size, ETag }) => [PartNumber, Size, ETag]);
    };
    const all = numbers.map((number) => [number, number, `"${md5Hex(bytesOf(number, 'part'))}"`]);
    expect(await listed()).toEqual(all);
    expect(await listed('10')).toEqual(all.slice(4));
    expect(await listed('10000')).toEqual([]);
  });

  test('have their uploads listed by key', async () => {
    const prefix = context.prefix();
    const uploads: PartsUpload[] = [];
    for (const name of ['b', 'a', 'c/d', 'b', 'ä'])
      uploads.push(await PartsUpload.begin(context, prefix + name));
    const { client, bucket: Bucket } = sdkOf(context.target);
    const list = async (Prefix: string) => {
      const { Uploads = [], IsTruncated } = await client.send(
        new ListMultipartUploadsCommand({ Bucket, Prefix }),
      );
      expect(IsTruncated).toBe(false);
      return Uploads;
    };
    const all = await list(prefix);
    expect(all.map(({ Key }) => Key)).toEqual(['a', 'b', 'b', 'c/d', 'ä'].map((name) => prefix + name));
    expect(all.map(({ UploadId }) => UploadId).sort()).toEqual(
      uploads.map(({ where }) => where.UploadId).sort(),
    );
    expect((await list(`${prefix}c`)).map(({ Key }) => Key)).toEqual([`${prefix}c/d`]);
    for (const { where } of uploads) await client.send(new AbortMultipartUploadCommand(where));
    expect(await list(prefix)).toEqual([]);
  });

  test('of a body that is not what was declared are refused', async () => {
    const upload = await begin();
    const md5 = Buffer.from(md5Hex(first), 'hex').toString('base64');
    await refused(upload.part(1, last, { ContentMD5: md5 }), 'BadDigest');
    const { Parts = [] } = await upload.client.send(new ListPartsCommand(upload.where));
    expect(Parts).toEqual([]);
  });

  test('come by URLs that sign their length, and become an object only where none is', async () => {
    const upload = await begin('a b+ä&');
    const { Key: key, UploadId: uploadId } = upload.where;
    const sign = (number: number, { length: sizeBytes }: Buffer) =>
      signerOf(context).signUpload({
        key,
        sizeBytes,
        part: { uploadId, number },
        signedAtMs: Date.now(),
        lifetimeMs,
      });
    const put = (href: string, body: Buffer) =>
      sendRaw({ method: 'PUT', href, headers: lengthOf(body), body });
    const [a, b] = [await sign(1, first), await sign(2, last)];
    expect(b.header).toEqual({});
    const elsewhere = new URL(b.href);
    elsewhere.searchParams.set('partNumber', '3');
    const tooShort = await put(b.href, last.subarray(1));
    expect([tooShort.status, (await put(elsewhere.href, last)).status]).toEqual([403, 403]);
    const parts = [await put(a.href, first), await put(b.href, last)].map(({ status, headers }, index) => {
      expect(status).toBe(200);
      return { PartNumber: index + 1, ETag: headers.etag };
    });
    expect(parts.map(({ ETag }) => ETag)).toEqual([first, last].map((part) => `"${md5Hex(part)}"`));
    await context.target.store.putEmpty(key, { mark: 'm-1', onlyNew: true, ...soon() });
    await refused(upload.complete(parts, { IfNoneMatch: '*' }), 'PreconditionFailed', 412);
    await context.target.store.delete([key], soon());
    await upload.complete(parts, { IfNoneMatch: '*' });
    expect((await readObject(context, key)).equals(Buffer.concat([first, last]))).toBe(true);
    expect((await put(b.href, last)).status).toBe(404);
  });
}
