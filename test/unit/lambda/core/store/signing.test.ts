import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl, S3RequestPresigner } from '@aws-sdk/s3-request-presigner';
import { HttpRequest } from '@smithy/protocol-http';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { NodeSha256, sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import type { UrlSigner } from '../../../../../lambda/core/store/rules/store.ts';
import {
  createHeaderSigner,
  createUrlSigner,
  escapePath,
  escapeUri,
  type S3UrlSignerSettings,
} from '../../../../../lambda/core/store/signing.ts';

describe('header signer', () => {
  const signedAtMs = Date.parse('2026-11-21T05:06:07.890Z');
  const anyText = fc.string({ unit: fc.constantFrom(..."aZ09._-/ +%&=?#'()*!~:ä😀"), maxLength: 20 });
  const anyRequest = fc.record({
    method: fc.constantFrom('GET', 'HEAD', 'DELETE', 'POST'),
    body: fc.constantFrom(undefined, '', '{"MessageBody":"ä😀"}'),
    key: anyText,
    query: fc.dictionary(fc.constantFrom('prefix', 'start-after', 'list-type', 'max-keys', 'Z'), anyText),
    headers: fc.constantFrom({}, { 'x-amz-checksum-mode': 'ENABLED' }),
    host: fc.constantFrom('store.s3.eu-central-1.amazonaws.com', '127.0.0.1:9000'),
    region: fc.constantFrom('eu-central-1', 'auto'),
    credentials: fc.record({
      accessKeyId: fc.constantFrom('AKIDEXAMPLE', 'AKIDNEXT'),
      secretAccessKey: fc.constantFrom('secret', 'other'),
      sessionToken: fc.constantFrom(undefined, 'IQoJb3JpZ2lu+/=='),
    }),
    dayLater: fc.boolean(),
  });

  it('signs any request as the SDK does, whatever it signed before', async () => {
    const signer = createHeaderSigner();
    await fc.assert(
      fc.asyncProperty(anyRequest, async (request) => {
        const { method, body, key, query, headers, host, region, credentials, dayLater } = request;
        const at = signedAtMs + (dayLater ? 86_400_000 : 0);
        const path = `/bucket/${escapePath(key)}`;
        const search = Object.keys(query)
          .sort()
          .map((name) => `${name}=${escapeUri(query[name] ?? '')}`)
          .join('&');
        const bodySha256 = sha256Hex(body ?? '');
        const own = signer({
          method,
          host,
          path,
          query: search,
          headers,
          credentials,
          region,
          signedAtMs: at,
          ...(body !== undefined && { bodySha256 }),
        });
        const { sessionToken, ...key2 } = credentials;
        const sdk = new SignatureV4({
          service: 's3',
          region,
          credentials: { ...key2, ...(sessionToken !== undefined && { sessionToken }) },
          sha256: NodeSha256,
          uriEscapePath: false,
          applyChecksum: false,
        });
        const signed = await sdk.sign(
          new HttpRequest({
            method,
            path,
            query,
            headers: { ...headers, host, 'x-amz-content-sha256': bodySha256 },
          }),
          { signingDate: new Date(at) },
        );
        expect(own).toEqual(signed.headers);
      }),
      { numRuns: 300 },
    );
  });
});

describe('url signer', () => {
  const oid = sha256Hex('content');
  const signedAtMs = Date.parse('2026-11-21T05:06:07.890Z');
  const lifetimeMs = 1_800_000;
  const credentials = {
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  };

  function settings(overrides: Partial<S3UrlSignerSettings> = {}): S3UrlSignerSettings {
    return { bucket: 'store', region: 'eu-central-1', credentials: async () => credentials, ...overrides };
  }

  /** Signs the request for `href` with the SDK's own presigner. */
  async function signedBySdk(input: {
    href: string;
    method: 'GET' | 'PUT';
    headers: Record<string, string>;
    region: string;
    credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
  }): Promise<Record<string, string>> {
    const url = new URL(input.href);
    const presigner = new S3RequestPresigner({
      region: input.region,
      credentials: input.credentials,
      sha256: NodeSha256,
    });
    const request = new HttpRequest({
      method: input.method,
      protocol: url.protocol,
      hostname: url.hostname,
      ...(url.port !== '' && { port: Number(url.port) }),
      path: url.pathname,
      query: Object.fromEntries([...url.searchParams].filter(([name]) => !name.startsWith('X-Amz-'))),
      headers: { ...input.headers, host: url.host },
    });
    const signedHeaders = new Set(['host', ...Object.keys(input.headers)]);
    const signed = await presigner.presign(request, {
      signingDate: new Date(signedAtMs),
      expiresIn: lifetimeMs / 1000,
      unhoistableHeaders: signedHeaders,
      signableHeaders: signedHeaders,
    });
    return signed.query as Record<string, string>;
  }

  /** Formats a query as the SDK does: sorted by name, and everything but unreserved characters escaped. */
  function buildQuery(query: Record<string, string>): string {
    const pairs = Object.keys(query)
      .sort()
      .map((name) => `${name}=${escapeUri(query[name] ?? '')}`);
    return `?${pairs.join('&')}`;
  }

  const keys = fc.oneof(
    fc.string({ unit: fc.constantFrom(..."aZ09._-/ +%&=?#'()*!~:ä😀"), minLength: 1, maxLength: 20 }),
    fc.constant(`acme/app/${oid}`),
  );

  describe('signed URLs', () => {
    const upload = { key: `acme/app/${oid}`, oid, sizeBytes: 7, signedAtMs, lifetimeMs };

    test.each([
      { name: 'on AWS', overrides: {} },
      {
        name: 'path-style at an endpoint',
        overrides: { endpoint: 'http://127.0.0.1:8788', forcePathStyle: true },
      },
      { name: 'virtual-host at an endpoint', overrides: { endpoint: 'https://r2.example.com' } },
      {
        name: 'with a session token',
        overrides: { credentials: async () => ({ ...credentials, sessionToken: 'IQoJb3JpZ2lu+/==' }) },
      },
    ])('equal those of the SDK: $name', async ({ overrides }) => {
      const chosen = settings(overrides);
      const used = await chosen.credentials();
      const signer = createUrlSigner(chosen);
      const sessionToken = used.sessionToken === undefined ? {} : { sessionToken: used.sessionToken };
      await fc.assert(
        fc.asyncProperty(keys, fc.nat(), async (key, sizeBytes) => {
          fc.pre(!key.split('/').some((part) => part === '.' || part === '..'));
          const put = await signer.signUpload({ ...upload, key, sizeBytes });
          const get = await signer.signDownload({ key, signedAtMs, lifetimeMs });
          const common = { region: chosen.region, credentials: { ...credentials, ...sessionToken } };
          const headers = { 'content-length': String(sizeBytes), ...put.header };
          const bySdk = {
            put: await signedBySdk({ ...common, method: 'PUT', href: put.href, headers }),
            get: await signedBySdk({ ...common, method: 'GET', href: get.href, headers: {} }),
          };
          expect(new URL(put.href).search).toBe(buildQuery(bySdk.put));
          expect(new URL(get.href).search).toBe(buildQuery(bySdk.get));
        }),
        { numRuns: 50 },
      );
    });

    test('sign the headers that the upload must have', async () => {
      const { href, header } = await createUrlSigner(settings()).signUpload(upload);
      expect(new URL(href).searchParams.get('X-Amz-SignedHeaders')).toBe(
        'content-length;host;x-amz-checksum-sha256',
      );
      expect(header).toEqual({ 'x-amz-checksum-sha256': Buffer.from(oid, 'hex').toString('base64') });
    });

    test('sign a storage class that the upload must have, as the SDK does', async () => {
      const storageClass = 'STANDARD_IA';
      const put = await createUrlSigner(settings()).signUpload({ ...upload, storageClass });
      expect(put.header).toHaveProperty('x-amz-storage-class', storageClass);
      const headers = { 'content-length': String(upload.sizeBytes), ...put.header };
      const common = { region: settings().region, credentials, method: 'PUT' as const };
      const bySdk = await signedBySdk({ ...common, href: put.href, headers });
      expect(new URL(put.href).search).toBe(buildQuery(bySdk));
      expect(new URL(put.href).searchParams.get('X-Amz-SignedHeaders')).toBe(
        'content-length;host;x-amz-checksum-sha256;x-amz-storage-class',
      );
    });

    test('sign a condition and a type as the SDK does, and no checksum if there is none', async () => {
      const more = { oid: undefined, onlyNew: true, contentType: 'text/html; charset=utf-8' };
      const put = await createUrlSigner(settings()).signUpload({ ...upload, ...more });
      expect(put.header).toEqual({ 'if-none-match': '*', 'content-type': more.contentType });
      const headers = { 'content-length': String(upload.sizeBytes), ...put.header };
      const common = { region: settings().region, credentials, method: 'PUT' as const };
      const bySdk = await signedBySdk({ ...common, href: put.href, headers });
      expect(new URL(put.href).search).toBe(buildQuery(bySdk));
      expect(new URL(put.href).searchParams.get('X-Amz-SignedHeaders')).toBe(
        'content-length;content-type;host;if-none-match',
      );
    });

    test('of a part sign which it is, and its length', async () => {
      const part = { uploadId: '2~a+/=ä', number: 10_000 };
      const put = await createUrlSigner(settings()).signUpload({ ...upload, oid: undefined, part });
      expect(put.header).toEqual({});
      const common = { region: settings().region, credentials, method: 'PUT' as const };
      const headers = { 'content-length': String(upload.sizeBytes) };
      const { search, searchParams } = new URL(put.href);
      expect(search).toBe(buildQuery(await signedBySdk({ ...common, href: put.href, headers })));
      expect([searchParams.get('uploadId'), searchParams.get('partNumber')]).toEqual([
        part.uploadId,
        '10000',
      ]);
    });

    test.each(['', ' text/html', 'text/html ', 'a  b', 'text/html\r\nx: y', 'text/ä', 'a\tb'])(
      'are refused with a type that is no header: %j',
      async (contentType) => {
        const signing = createUrlSigner(settings()).signUpload({ ...upload, contentType });
        await expect(signing).rejects.toThrow(RangeError);
      },
    );

    test('of downloads sign the name to save it as, of which nothing gets out of its place', async () => {
      const signer = createUrlSigner(settings());
      const common = { region: settings().region, credentials, method: 'GET' as const, headers: {} };
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'binary' }), async (saveAs) => {
          const { href, header } = await signer.signDownload({ key: 'k', signedAtMs, lifetimeMs, saveAs });
          expect(header).toEqual({});
          const { search, searchParams } = new URL(href);
          expect(search).toBe(buildQuery(await signedBySdk({ ...common, href })));
          const disposition = searchParams.get('response-content-disposition') ?? '';
          const [, name = '-'] = /^attachment; filename\*=UTF-8''([\w.~%-]*)$/.exec(disposition) ?? [];
          expect(decodeURIComponent(name)).toBe(saveAs);
        }),
        { numRuns: 30 },
      );
      const half = signer.signDownload({ key: 'k', signedAtMs, lifetimeMs, saveAs: '\ud800' });
      await expect(half).rejects.toThrow(URIError);
    });

    test.each([
      { region: 'eu-central-1', bucket: 'store' },
      { region: 'us-east-1', bucket: 'store' },
      { region: 'cn-north-1', bucket: 'store' },
      { region: 'eu-west-1', bucket: 'a.store' },
      { region: 'eu-west-1', bucket: 'store', forcePathStyle: true },
      { region: 'auto', bucket: 'store', endpoint: 'https://account.r2.example.com' },
      { region: 'eu-west-1', bucket: 'store', endpoint: 'http://127.0.0.1:9000' },
      { region: 'eu-west-1', bucket: 'store', endpoint: 'http://[::1]:9000' },
      { region: 'eu-west-1', bucket: 'store', endpoint: 'http://localhost:9000/base/', forcePathStyle: true },
      { region: 'eu-west-1', bucket: 'arn:aws:s3:eu-west-1:123456789012:accesspoint/ap-1' },
      { region: 'cn-north-1', bucket: 'arn:aws-cn:s3:cn-north-1:123456789012:accesspoint:ap-1' },
      { region: 'us-east-1', bucket: 'acme:store', endpoint: 'http://localhost:9000', forcePathStyle: true },
    ])('have the host and path that the SDK gives them: %j', async (where) => {
      const client = new S3Client({ ...where, credentials });
      const input = { Bucket: where.bucket, Key: `acme/r.1/ä ${oid}` };
      const signer = createUrlSigner(settings(where));
      const put = await signer.signUpload({ ...upload, key: input.Key });
      const get = await signer.signDownload({ key: input.Key, signedAtMs, lifetimeMs });
      const place = (href: string) => href.slice(0, href.indexOf('?'));
      expect(place(put.href)).toBe(place(await getSignedUrl(client, new PutObjectCommand(input))));
      expect(place(get.href)).toBe(place(await getSignedUrl(client, new GetObjectCommand(input))));
    });

    test('follow rotated credentials, and the date', async () => {
      let current = credentials;
      const rotating = createUrlSigner(settings({ credentials: async () => current }));
      const next = { accessKeyId: 'AKIDNEXT', secretAccessKey: 'next' };
      const days = [signedAtMs, signedAtMs + 86_400_000];
      for (const used of [credentials, next, credentials]) {
        current = used;
        for (const at of days) {
          const fresh = createUrlSigner(settings({ credentials: async () => used }));
          const input = { ...upload, signedAtMs: at };
          expect(await rotating.signUpload(input)).toEqual(await fresh.signUpload(input));
        }
      }
      const hrefs = await Promise.all(
        days.map(async (at) => (await rotating.signUpload({ ...upload, signedAtMs: at })).href),
      );
      expect(new Set(hrefs.map((href) => new URL(href).searchParams.get('X-Amz-Signature'))).size).toBe(2);
    });

    test('reuse nothing of the previous URL if anything differs', async () => {
      const requests = [
        (signer: UrlSigner) => signer.signUpload({ ...upload, lifetimeMs: 60_000 }),
        (signer: UrlSigner) => signer.signUpload({ ...upload, lifetimeMs: 61_000 }),
        (signer: UrlSigner) => signer.signDownload({ key: upload.key, signedAtMs, lifetimeMs: 61_000 }),
        (signer: UrlSigner) =>
          signer.signUpload({ ...upload, signedAtMs: signedAtMs + 1000, lifetimeMs: 61_000 }),
      ];
      let current = credentials;
      const kept = createUrlSigner(settings({ credentials: async () => current }));
      for (const part of [
        {},
        { accessKeyId: 'AKIDNEXT' },
        { secretAccessKey: 'next' },
        { sessionToken: 'next' },
      ]) {
        const used = { ...credentials, ...part };
        current = used;
        for (const ask of requests) {
          const fresh = createUrlSigner(settings({ credentials: async () => used }));
          expect(await ask(kept)).toEqual(await ask(fresh));
        }
      }
    });

    test('never live longer than requested, and have limits', async () => {
      const signer = createUrlSigner(settings());
      const { href } = await signer.signDownload({ key: 'k', signedAtMs, lifetimeMs: 1999 });
      expect(new URL(href).searchParams.get('X-Amz-Expires')).toBe('1');
      expect(new URL(href).searchParams.get('X-Amz-Date')).toBe('20261121T050607Z');
      for (const bad of [0, 999, -1, Number.NaN, 604_801_000]) {
        await expect(signer.signDownload({ key: 'k', signedAtMs, lifetimeMs: bad })).rejects.toThrow(
          RangeError,
        );
      }
    });
  });
});
