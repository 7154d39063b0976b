import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { SignUploadInput } from '../../lambda/core/store/rules/store.ts';
import { sendRaw } from '../support/raw-request.ts';
import {
  type Context,
  keysBelow,
  lengthOf,
  lifetimeMs,
  type ObjectStoreSkips,
  sha256Hex,
  signerOf,
  soon,
  testUnless,
} from './object-store-context.ts';

/** Signs an upload of `body`, of which some may be told otherwise. */
async function signUpload(context: Context, body: Buffer, entries: Partial<SignUploadInput> = {}) {
  const key = entries.key ?? `${context.prefix()}${sha256Hex(body)}`;
  const signed = await signerOf(context).signUpload({
    key,
    oid: sha256Hex(body),
    sizeBytes: body.length,
    signedAtMs: Date.now(),
    lifetimeMs,
    ...entries,
  });
  return { key, href: signed.href, header: signed.header };
}

/** UrlSigner: a PUT stores what was signed, and nothing else. */
export function uploadTests(context: Context, skips: ObjectStoreSkips): void {
  const body = Buffer.from('the bytes that were signed');
  const other = Buffer.from('THE BYTES THAT WERE SIGNED');

  const refused = async (
    key: string,
    sent: { href: string; headers: Record<string, string>; body?: Buffer; method?: string },
  ) => {
    const answer = await sendRaw({ method: 'PUT', body, ...sent });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect(await context.target.store.head(key)).toBeUndefined();
    expect(await keysBelow(context.target.listing, key)).toEqual([]);
  };

  test.each([
    { name: 'some bytes', bytes: body },
    { name: 'no bytes', bytes: Buffer.alloc(0) },
    { name: '3 MB', bytes: Buffer.alloc(3_000_000, 'x') },
  ])('accept what was signed: $name', async ({ bytes }) => {
    const { key, href, header } = await signUpload(context, bytes);
    const headers = { ...header, ...lengthOf(bytes), 'content-type': 'application/octet-stream' };
    expect((await sendRaw({ method: 'PUT', href, headers, body: bytes })).status).toBe(200);
    const stored = { sizeBytes: bytes.length, sha256: sha256Hex(bytes) };
    expect(await context.target.store.head(key)).toMatchObject(stored);
    // The same upload again, like a client that did not receive the answer.
    expect((await sendRaw({ method: 'PUT', href, headers, body: bytes })).status).toBe(200);
    expect(await context.target.store.head(key)).toMatchObject(stored);
  });

  test.each([
    { name: 'more bytes', bytes: Buffer.alloc(1_000_000, 'x') },
    { name: 'fewer bytes', bytes: body.subarray(1) },
    { name: 'no bytes instead of some', bytes: Buffer.alloc(0) },
    { name: 'other bytes of the right length', bytes: other },
  ])('refuse $name', async ({ bytes }) => {
    const { key, href, header } = await signUpload(context, body);
    await refused(key, { href, headers: { ...header, ...lengthOf(bytes) }, body: bytes });
  });

  test('refuse a body without the checksum, or with the checksum of other bytes', async () => {
    const { key, href } = await signUpload(context, body);
    await refused(key, { href, headers: lengthOf(body) });
    const checksum = createHash('sha256').update(other).digest('base64');
    await refused(key, {
      href,
      headers: { ...lengthOf(body), 'x-amz-checksum-sha256': checksum },
      body: other,
    });
  });

  test('refuse a body without a length', async () => {
    const { key, href, header } = await signUpload(context, body);
    await refused(key, { href, headers: { ...header, 'transfer-encoding': 'chunked' } });
  });

  test('refuse another key', async () => {
    const { href, header } = await signUpload(context, body);
    const key = `${context.prefix()}${sha256Hex(body)}`;
    const moved = new URL(href);
    moved.pathname = `${moved.pathname.split('/').slice(0, 2).join('/')}/${key}`;
    await refused(key, { href: moved.href, headers: { ...header, ...lengthOf(body) } });
  });

  test('refuse an expired URL', async () => {
    const { key, href, header } = await signUpload(context, body, {
      signedAtMs: Date.now() - lifetimeMs - 2_000,
    });
    await refused(key, { href, headers: { ...header, ...lengthOf(body) } });
  });

  test.each([
    { parameter: 'X-Amz-Expires', value: '604800' },
    { parameter: 'X-Amz-SignedHeaders', value: 'host' },
    { parameter: 'X-Amz-Signature', value: '0'.repeat(64) },
    { parameter: 'X-Amz-Credential', value: 'nobody/20261121/us-east-1/s3/aws4_request' },
    { parameter: 'X-Amz-Signature', value: undefined },
    { parameter: 'X-Amz-Date', value: '20991231T000000Z' },
    { parameter: 'extra', value: '1' },
  ])('refuse a changed query: $parameter = $value', async ({ parameter, value }) => {
    const { key, href, header } = await signUpload(context, body);
    const changed = new URL(href);
    if (value === undefined) changed.searchParams.delete(parameter);
    else changed.searchParams.set(parameter, value);
    await refused(key, { href: changed.href, headers: { ...header, ...lengthOf(body) } });
  });

  testUnless(skips.unsignedAmzHeaders, 'refuse x-amz headers that were not signed', async () => {
    const { key, href, header } = await signUpload(context, body);
    const headers = { ...header, ...lengthOf(body), 'x-amz-meta-note': 'mine' };
    await refused(key, { href, headers });
  });

  test('are valid for no other method', async () => {
    const { key, href, header } = await signUpload(context, body);
    expect(
      (await sendRaw({ method: 'PUT', href, headers: { ...header, ...lengthOf(body) }, body })).status,
    ).toBe(200);
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      const answer = await sendRaw({ method, href, headers: { ...header, ...lengthOf(Buffer.alloc(0)) } });
      expect(answer.status).toBe(403);
    }
    expect(await context.target.store.head(key)).toMatchObject({ sizeBytes: body.length });
  });

  test('of any bytes accept others of the same length, and no other length', async () => {
    const { key, href, header } = await signUpload(context, body, { oid: undefined });
    expect(header).toEqual({});
    for (const bytes of [body.subarray(1), Buffer.concat([body, body]), Buffer.alloc(0)])
      await refused(key, { href, headers: lengthOf(bytes), body: bytes });
    const answer = await sendRaw({ method: 'PUT', href, headers: lengthOf(other), body: other });
    expect(answer.status).toBe(200);
    expect(await context.target.store.head(key)).toMatchObject({ sizeBytes: other.length });
  });

  test('with a type accept no other', async () => {
    const { key, href, header } = await signUpload(context, body, { contentType: 'image/png' });
    const headers = { ...header, ...lengthOf(body) };
    await refused(key, { href, headers: { ...headers, 'content-type': 'text/html' } });
    expect((await sendRaw({ method: 'PUT', href, headers, body })).status).toBe(200);
  });

  describe('of a new object', () => {
    const onlyNew = { oid: undefined, onlyNew: true };

    test('accept it once, whoever is second', async () => {
      const first = await signUpload(context, body, onlyNew);
      const { key } = first;
      const longer = Buffer.concat([body, other]);
      const second = await signUpload(context, longer, { ...onlyNew, key });
      await refused(key, { href: first.href, headers: lengthOf(body) });
      const put = async ({ href, header }: typeof first, bytes: Buffer) =>
        (await sendRaw({ method: 'PUT', href, headers: { ...header, ...lengthOf(bytes) }, body: bytes }))
          .status;
      expect([await put(first, body), await put(first, body), await put(second, longer)]).toEqual([
        200, 412, 412,
      ]);
      expect(await context.target.store.head(key)).toMatchObject({ sizeBytes: body.length });
      await context.target.store.delete([key], soon());
      expect(await put(second, longer)).toBe(200);
    });

    test('store nothing of one that is under way when another is stored, and be it an empty one', async () => {
      const { store } = context.target;
      const large = Buffer.alloc(1024 ** 2, 'x');
      const { key, href, header } = await signUpload(context, large, onlyNew);
      const between = async () => {
        await pause(300);
        expect(await store.putEmpty(key, { mark: 'm-1', onlyNew: true, ...soon() })).toBe('put');
      };
      const headers = { ...header, ...lengthOf(large) };
      const answer = await sendRaw({ method: 'PUT', href, headers, body: large, between });
      expect(answer.status).toBe(412);
      expect(await store.head(key)).toMatchObject({ sizeBytes: 0 });
    });
  });
}
