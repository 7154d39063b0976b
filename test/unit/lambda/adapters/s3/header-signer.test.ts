import { HttpRequest } from '@smithy/protocol-http';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HeaderSigner } from '../../../../../lambda/adapters/s3/header-signer.ts';
import { escapePath, escapeUri } from '../../../../../lambda/adapters/s3/sigv4.ts';
import { NodeSha256, sha256Hex } from '../../../../../lambda/domain/hash.ts';

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
  const signer = new HeaderSigner();
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
      const own = signer.sign({
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
