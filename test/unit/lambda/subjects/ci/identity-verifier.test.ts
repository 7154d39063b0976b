import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import { createIdentityVerifier, fetchKeys } from '../../../../../lambda/subjects/ci/identity-verifier.ts';
import { IssuerUnavailableError } from '../../../../../lambda/subjects/ci/rules/identities.ts';
import { TestIssuer } from '../../../../support/identity-issuer.ts';
import { close, listen, serve } from '../../../../support/serve.ts';

describe('the keys of an issuer', () => {
  it('are what it answers', async () => {
    const uri = await serve((_request, response) => response.end('{"keys":[]}'));
    expect(Buffer.from(await fetchKeys(uri)).toString()).toBe('{"keys":[]}');
  });

  it.each<[string, RequestListener]>([
    ['an error', (_request, response) => response.writeHead(500).end('{"keys":[]}')],
    ['another place', (_request, response) => response.writeHead(302, { location: '/other' }).end()],
    ['more than keys need', (_request, response) => response.end('x'.repeat(100_001))],
    [
      'half of it',
      (request, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{');
        setTimeout(() => request.socket.destroy(), 20);
      },
    ],
  ])('are not had if it answers %s', async (_what, listener) => {
    await expect(fetchKeys(await serve(listener))).rejects.toThrow(IssuerUnavailableError);
  });

  it('are not had from nowhere, nor after a few seconds of silence', async () => {
    const server = createServer({ keepAliveTimeout: 60_000 }, () => undefined);
    const uri = `http://127.0.0.1:${await listen(server)}/`;
    await expect(fetchKeys(uri)).rejects.toThrow(IssuerUnavailableError);
    await close(server);
    await expect(fetchKeys(uri)).rejects.toThrow(IssuerUnavailableError);
  });
});

const audience = 'https://lfs.example.com/acme';
const seconds = (offset: number) => Math.floor(Date.now() / 1000) + offset;

describe('an identity token', () => {
  // Making keys takes long.
  const [own, other] = [new TestIssuer('https://own.example'), new TestIssuer('https://other.example')];
  const evil = new TestIssuer('https://evil.example');
  let fetched: string[];
  let fetchKeysOf: (uri: string) => Promise<ArrayBuffer>;
  const verifier = () =>
    createIdentityVerifier(
      [own, other].map(({ issuer }) => ({ issuer, jwksUri: `${issuer}/keys`, kind: 'github' as const })),
      { fetchKeysOf: (uri) => fetchKeysOf(uri) },
    );

  beforeEach(() => {
    fetched = [];
    fetchKeysOf = async (uri) => {
      fetched.push(uri);
      const issuer = uri.startsWith(own.issuer) ? own : other;
      return new TextEncoder().encode(JSON.stringify(issuer.jwks())).buffer;
    };
  });

  it('is verified with its claims, and its issuer is asked for its keys once', async () => {
    const verify = verifier().verify;
    for (let times = 0; times < 3; times += 1) {
      const idToken = own.token({ aud: audience, repository_id: '7' });
      expect(await verify({ idToken, audience })).toMatchObject({
        kind: 'verified',
        issuer: own.issuer,
        claims: { repository_id: '7', aud: audience },
      });
    }
    expect(fetched).toEqual(['https://own.example/keys']);
  });

  it('is verified after its issuer has a new key', async () => {
    const { verify } = verifier();
    await verify({ idToken: own.token({ aud: audience }), audience });
    own.rotate();
    const idToken = own.token({ aud: audience });
    expect(await verify({ idToken, audience })).toMatchObject({ kind: 'verified' });
    expect(fetched).toHaveLength(2);
  });

  it('asks an issuer that does not answer once in five seconds, and others meanwhile', async () => {
    let nowMs = 1_000;
    const isDown = { own: true };
    const verify = createIdentityVerifier(
      [own, other].map(({ issuer }) => ({ issuer, jwksUri: `${issuer}/keys`, kind: 'github' as const })),
      {
        nowMs: () => nowMs,
        fetchKeysOf: async (uri) => {
          if (!uri.startsWith(own.issuer) || !isDown.own) return fetchKeysOf(uri);
          fetched.push(uri);
          throw new IssuerUnavailableError('down');
        },
      },
    ).verify;
    for (let times = 0; times < 20; times += 1) {
      const idToken = own.token({ aud: audience }, { header: { kid: `junk${times}` } });
      await expect(verify({ idToken, audience })).rejects.toThrow(IssuerUnavailableError);
      nowMs += 100;
    }
    expect(fetched).toHaveLength(1);
    const ofOther = other.token({ aud: audience });
    expect(await verify({ idToken: ofOther, audience })).toMatchObject({ kind: 'verified' });
    isDown.own = false;
    nowMs = 6_000;
    expect(await verify({ idToken: own.token({ aud: audience }), audience })).toMatchObject({
      kind: 'verified',
    });
  });

  const strangerKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const tamper = (token: string) => {
    const [head, , signature] = token.split('.');
    const payload = Buffer.from(JSON.stringify({ iss: own.issuer, aud: audience, exp: seconds(600) }));
    return [head, payload.toString('base64url'), signature].join('.');
  };

  it.each<[string, () => string, string]>([
    [
      'for another audience',
      () => own.token({ aud: 'https://lfs.example.com/other' }),
      'it is meant for another audience',
    ],
    ['for a longer audience', () => own.token({ aud: `${audience}x` }), 'it is meant for another audience'],
    ['for none', () => own.token({ aud: undefined }), 'it is meant for another audience'],
    ['that has expired', () => own.token({ aud: audience, exp: seconds(-120) }), 'it has expired'],
    ['that is not valid yet', () => own.token({ aud: audience, nbf: seconds(300) }), "it isn't valid yet"],
    ['that never expires', () => own.token({ aud: audience, exp: undefined }), 'it has no end'],
    ['of an unknown issuer', () => evil.token({ aud: audience }), 'unknown issuer'],
    [
      'with an extension that must be understood',
      () => own.token({ aud: audience }, { header: { crit: ['exp2'], exp2: 1 } }),
      'it has a header that must be understood',
    ],
    ['of no issuer', () => own.token({ aud: audience, iss: undefined }), 'unknown issuer'],
    [
      'signed by a stranger',
      () => own.token({ aud: audience }, { key: strangerKey }),
      'its signature is wrong',
    ],
    [
      'signed by another issuer',
      () => other.token({ aud: audience, iss: own.issuer }, { header: { kid: own.kid } }),
      'its signature is wrong',
    ],
    [
      'with other claims than were signed',
      () => tamper(own.token({ aud: audience })),
      'its signature is wrong',
    ],
    [
      'that names a key that is none',
      () => own.token({ aud: audience }, { header: { kid: 'k99' } }),
      'unknown key',
    ],
    [
      'that names no key',
      () => own.token({ aud: audience }, { header: { kid: undefined } }),
      "it isn't an identity token",
    ],
    [
      'without a signature',
      () => own.token({ aud: audience }, { header: { alg: 'none' } }),
      "it isn't an identity token",
    ],
    [
      'signed with the public key as a secret',
      () => own.token({ aud: audience }, { header: { alg: 'HS256' } }),
      "it isn't an identity token",
    ],
    ['that is none', () => 'a.b.c', "it isn't an identity token"],
    ['that is empty', () => '', "it isn't an identity token"],
  ])('%s is rejected', async (_what, make, reason) => {
    expect(await verifier().verify({ idToken: make(), audience })).toEqual({ kind: 'rejected', reason });
  });

  it('with keys that are none makes its issuer be asked no more for a while; known keys go on', async () => {
    const { verify } = verifier();
    const unknown = () => own.token({ aud: audience }, { header: { kid: 'k99' } });
    for (let times = 0; times < 5; times += 1)
      expect(await verify({ idToken: unknown(), audience })).toMatchObject({ kind: 'rejected' });
    expect(fetched).toHaveLength(1);
    expect(await verify({ idToken: own.token({ aud: audience }), audience })).toMatchObject({
      kind: 'verified',
    });
  });

  it('is not decided while its issuer does not answer', async () => {
    fetchKeysOf = async () => {
      throw new IssuerUnavailableError('no');
    };
    await expect(verifier().verify({ idToken: own.token({ aud: audience }), audience })).rejects.toThrow(
      IssuerUnavailableError,
    );
  });

  it('is rejected by a stage that takes none', async () => {
    const { verify } = createIdentityVerifier([]);
    expect(await verify({ idToken: own.token({ aud: audience }), audience })).toMatchObject({
      kind: 'rejected',
    });
  });
});
