import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { packConsole } from '../../../../../console/build/pack.ts';
import { create } from '../../../../../lambda/frame/service/console-handler.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';

const packed = packConsole({ quality: 4 });
const answer = create({ files: { read: async () => packed } });
const get = (path: string, headers: Record<string, string> = {}) => {
  const file = /^\/assets\/(.*)$/.exec(path)?.[1];
  return answer(
    httpEvent({
      path,
      headers,
      routeKey: file === undefined ? 'GET /' : 'GET /assets/{file}',
      ...(file !== undefined && { pathParameters: { file } }),
    }),
    noContext,
  );
};
const bodyOf = async (path: string) => Buffer.from((await get(path)).body ?? '', 'base64').toString('utf8');
const script = Object.keys(packed.assets).find((name) => /^console-.*js$/.test(name)) ?? '';
const font = Object.keys(packed.assets).find((name) => name.endsWith('.woff2')) ?? '';

describe('the page of the console', () => {
  it('runs nothing but what its origin serves, and can be framed by nobody', async () => {
    const { statusCode, headers } = await get('/');
    expect(statusCode).toBe(200);
    expect(headers).toEqual({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
      etag: expect.stringMatching(/^"[0-9a-f]{16}"$/),
      vary: 'accept-encoding',
    });
  });

  it('has no script or style of its own, and asks nobody else for anything', async () => {
    const page = await bodyOf('/');
    expect(page).not.toMatch(/<style|\son\w+=|<script(?![^>]*\ssrc=)|\sstyle=/);
    const asked = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url = '']) => url);
    expect(asked.filter((url) => !url.startsWith('/assets/chunk-'))).toHaveLength(4);
    for (const url of asked)
      expect(url).toMatch(
        /^(\/assets\/[a-z-]+-([0-9a-f]{16}\.(css|woff2)|[0-9A-Z]{8}\.js)|data:image\/svg\+xml,.*)$/,
      );
    for (const url of asked.filter((each) => each.startsWith('/')))
      expect((await get(url)).statusCode).toBe(200);
    const style = await bodyOf(asked.find((url) => url.endsWith('.css')) ?? '');
    expect([...style.matchAll(/url\((?!#)([^)]*)\)/g)].map(([, url]) => url)).toEqual([font]);
    // GitHub's is in a line to be pasted.
    for (const name of Object.keys(packed.assets).filter((each) => each.endsWith('.js')))
      expect(await bodyOf(`/assets/${name}`)).not.toMatch(/https?:\/\/(?!www\.w3\.org|github\.com\/\$)/);
  });

  it('is not sent to who has it', async () => {
    const { headers } = await get('/');
    const again = await get('/', { 'if-none-match': String(headers?.['etag']) });
    expect(again).toMatchObject({ statusCode: 304, headers: { etag: headers?.['etag'] } });
    expect(again.body).toBeUndefined();
    expect((await get('/', { 'if-none-match': '"other"' })).statusCode).toBe(200);
  });
});

describe('the page after a git host', () => {
  it.each([
    ['forge', 200],
    ['my-forge-1', 200],
    ['Forge', 404],
    ['\u0084', 404],
    ['', 404],
  ])('of %j is answered %i', async (host, statusCode) => {
    const routeKey = 'GET /sign-in/{host}';
    const event = httpEvent({ path: `/sign-in/${host}`, headers: {}, routeKey, pathParameters: { host } });
    expect(await answer(event, noContext)).toMatchObject({ statusCode });
  });
});

describe('an asset of the console', () => {
  it('is kept for ever', async () => {
    expect((await get(`/assets/${script}`)).headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    });
    expect((await get(`/assets/${font}`)).headers).toMatchObject({ 'content-type': 'font/woff2' });
  });

  it('is sent as small as the client takes it', async () => {
    const plain = await bodyOf(`/assets/${script}`);
    const sent = async (accepted?: string) => {
      const { headers, body = '' } = await get(
        `/assets/${script}`,
        accepted === undefined ? {} : { 'accept-encoding': accepted },
      );
      return { encoding: headers?.['content-encoding'], bytes: Buffer.from(body, 'base64') };
    };
    for (const accepted of ['gzip, deflate, br, zstd', 'BR', 'br;q=0.5, gzip']) {
      const { encoding, bytes } = await sent(accepted);
      expect([encoding, brotliDecompressSync(bytes).toString()]).toEqual(['br', plain]);
    }
    for (const accepted of ['gzip', 'br;q=0, gzip', 'br; q=0.0,gzip;q=1']) {
      const { encoding, bytes } = await sent(accepted);
      expect([encoding, gunzipSync(bytes).toString()]).toEqual(['gzip', plain]);
    }
    for (const accepted of [undefined, '', 'identity', 'deflate', 'br;q=0']) {
      const { encoding, bytes } = await sent(accepted);
      expect([encoding, bytes.toString()]).toEqual([undefined, plain]);
    }
    const { headers } = await get(`/assets/${font}`, { 'accept-encoding': 'br' });
    expect(headers).not.toHaveProperty('content-encoding');
  });

  it.each(['', 'nothing.js', '__proto__', 'constructor', '../console.json'])(
    'of the name %j is not there',
    async (name) => {
      const missing = await get(`/assets/${name}`);
      expect(missing.statusCode).toBe(404);
      expect(missing.headers).toMatchObject({ 'cache-control': 'no-store' });
    },
  );
});
