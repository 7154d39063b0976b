import { generateKeyPairSync } from 'node:crypto';
import { getSignedUrl } from '@aws-sdk/cloudfront-signer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cdnBytesMax, cdnSigner } from '../../../../../lambda/core/store/cdn.ts';
import { privateKeyIn, publicKeyIn } from '../../../../../lambda/core/store/rules/cdn-keys.ts';
import { createUrlSigner } from '../../../../../lambda/core/store/signing.ts';
import { newCdnKey, passesCloudFront } from '../../../../support/cdn.ts';

const url = 'https://d111111abcdef8.cloudfront.net';
const keyId = 'K2JCJMDEHXQW5F';
const pair = newCdnKey();
const oid = 'ab'.repeat(32);
const key = `acme/game/${oid}`;
const signedAtMs = Date.UTC(2026, 10, 27, 12, 0, 0, 999);
const times = { signedAtMs, lifetimeMs: 30 * 60_000 };

const bucket = createUrlSigner({
  bucket: 'objects',
  region: 'eu-central-1',
  credentials: async () => ({ accessKeyId: 'AKIA', secretAccessKey: 'secret' }),
});
const signer = cdnSigner(bucket, {
  url,
  keyId,
  key: async () => privateKeyIn(pair.privateKey, pair.publicKey),
});
const sign = async (input: object = {}) => (await signer.signDownload({ key, ...times, ...input })).href;
const passes = (href: string, atMs = signedAtMs, publicKey = pair.publicKey) =>
  passesCloudFront(href, { publicKey, keyId, atMs });

describe('a download through CloudFront', () => {
  it('is signed by the key, for the times of the batch', async () => {
    const href = await sign({ sizeBytes: 60 });
    expect(href.startsWith(`${url}/${key}?Expires=${Math.floor(signedAtMs / 1000) + 1800}&`)).toBe(true);
    expect(passes(href)).toBe(true);
    expect(passes(href, signedAtMs + times.lifetimeMs - 1000)).toBe(true);
    expect(passes(href, signedAtMs + times.lifetimeMs)).toBe(false);
    expect(passes(href, signedAtMs, newCdnKey().publicKey)).toBe(false);
  });

  it('is of that object alone', async () => {
    const href = await sign();
    const [path = '', query] = href.split('?');
    for (const other of [
      path.replace('acme', 'other'),
      path.replace('game', 'game2'),
      path.replace(/ab$/, 'ba'),
      `${path}/`,
      path.replace(oid, ''),
      path.replace(oid, '*'),
      `${url}/_exports/acme/1/archive.tar`,
    ])
      expect(passes(`${other}?${query}`)).toBe(false);
    expect(passes(href.replace(/Expires=\d+/, 'Expires=9999999999'))).toBe(false);
    expect(passes(`${path}?prefix=acme&${query}`)).toBe(false);
  });

  it('has the URL that the SDK has, but for what chance is in a signature', async () => {
    const segment = fc.stringMatching(/^[A-Za-z0-9._@=+-]{1,20}$/).filter((text) => !/^\.+$/.test(text));
    const keys = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
    await fc.assert(
      fc.asyncProperty(keys, fc.integer({ min: 300, max: 3600 }), async (path, seconds) => {
        const own = await sign({ key: path, lifetimeMs: seconds * 1000 });
        const theirs = getSignedUrl({
          url: `${url}/${path}`,
          keyPairId: keyId,
          privateKey: pair.privateKey,
          dateLessThan: new Date((Math.floor(signedAtMs / 1000) + seconds) * 1000).toISOString(),
          algorithm: 'SHA256',
        });
        const parts = (href: string) => {
          const [base, query] = href.split('?');
          const { Signature: _, ...others } = Object.fromEntries(new URLSearchParams(query));
          return { base, ...others };
        };
        expect(parts(own)).toEqual(parts(theirs));
        expect([own, theirs].map((href) => passes(href))).toEqual([true, true]);
        // Nothing in it is escaped or read differently by others.
        expect(new URL(own).href).toBe(own);
      }),
      { numRuns: 50 },
    );
  });

  it.each(['*', '?', 'a b', 'é', '#', '%2e'])(
    'has no wildcard in its policy, and no other path: %s',
    async (name) => {
      const href = await sign({ key: `acme/game/${name}` });
      expect(href.split('?')[0]).toBe(`${url}/acme/game/${encodeURIComponent(name).replace('*', '%2A')}`);
      expect(passes(href)).toBe(true);
    },
  );

  it('comes from the bucket if it has a name, as CloudFront knows paths alone', async () => {
    const named = { key, ...times, saveAs: 'a.png' };
    expect(await signer.signDownload(named)).toEqual(await bucket.signDownload(named));
  });

  it('comes from the bucket if the object is larger than CloudFront serves, and so does every upload', async () => {
    const large = { key, ...times, sizeBytes: cdnBytesMax + 1 };
    expect(await signer.signDownload(large)).toEqual(await bucket.signDownload(large));
    expect(await sign({ sizeBytes: cdnBytesMax })).toMatch(url);
    const upload = { key, oid, sizeBytes: 60, ...times };
    expect(await signer.signUpload(upload)).toEqual(await bucket.signUpload(upload));
  });
});

describe('the keys of CloudFront', () => {
  const rsa = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });

  it('are of P-256, and the private one belongs to the public one', () => {
    expect(privateKeyIn(`\n${pair.privateKey}\n`, pair.publicKey).type).toBe('private');
    expect(publicKeyIn(pair.publicKey.trim())).toBe(pair.publicKey);
    for (const pem of [rsa.publicKey, newCdnKey('P-384').publicKey, pair.privateKey, '', 'x'])
      expect(publicKeyIn(pem)).toBeUndefined();
  });

  it.each([
    ['of another pair', newCdnKey().privateKey],
    ['of RSA', rsa.privateKey],
    ['public', pair.publicKey],
    ['cut', pair.privateKey.slice(0, 120)],
    ['missing', undefined],
  ])('are refused if the private one is %s, and the error shows nothing of it', (_, pem) => {
    const message =
      /^The secret in objectStore\.cdn\.privateKeyArn must be the PEM of the private key of the first of objectStore\.cdn\.publicKeys\.$/;
    expect(() => privateKeyIn(pem, pair.publicKey)).toThrow(message);
  });
});
