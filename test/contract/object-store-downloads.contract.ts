import { expect, test } from 'vitest';
import { sendRaw } from '../support/raw-request.ts';
import { type Context, lengthOf, lifetimeMs, oddNames, signerOf } from './object-store-context.ts';

/** UrlSigner: downloads. */
export function downloadTests(context: Context): void {
  const body = Buffer.from('0123456789');
  const signedGet = async (key: string, signedAtMs = Date.now()) =>
    (await signerOf(context).signDownload({ key, signedAtMs, lifetimeMs })).href;
  const stored = async (name = 'digits') => {
    const key = context.prefix() + context.names.of(name);
    await context.target.put(key, body);
    return key;
  };

  test('return the bytes', async () => {
    for (const name of ['digits', ...oddNames]) {
      const answer = await sendRaw({ method: 'GET', href: await signedGet(await stored(name)) });
      expect({ name, status: answer.status, body: answer.body.toString() }).toEqual({
        name,
        status: 200,
        body: body.toString(),
      });
      expect(answer.headers['content-length']).toBe('10');
    }
  });

  test.each([
    { range: 'bytes=4-', status: 206, expected: '456789', contentRange: 'bytes 4-9/10' },
    { range: 'bytes=2-3', status: 206, expected: '23', contentRange: 'bytes 2-3/10' },
    { range: 'bytes=-3', status: 206, expected: '789', contentRange: 'bytes 7-9/10' },
    { range: 'bytes=8-99', status: 206, expected: '89', contentRange: 'bytes 8-9/10' },
  ])('return a part: $range', async ({ range, status, expected, contentRange }) => {
    const href = await signedGet(await stored());
    const answer = await sendRaw({ method: 'GET', href, headers: { range } });
    expect(answer.status).toBe(status);
    expect(answer.body.toString()).toBe(expected);
    expect(answer.headers['content-range']).toBe(contentRange);
  });

  test('refuse a part beyond the end', async () => {
    const href = await signedGet(await stored());
    expect((await sendRaw({ method: 'GET', href, headers: { range: 'bytes=10-' } })).status).toBe(416);
  });

  test('return 404 for a missing key', async () => {
    const href = await signedGet(context.prefix() + context.names.of('none'));
    expect((await sendRaw({ method: 'GET', href })).status).toBe(404);
  });

  test('are valid for one key, one method and their lifetime', async () => {
    const key = await stored();
    const href = await signedGet(key);
    const other = await signedGet(await stored());
    const moved = new URL(href);
    moved.pathname = new URL(other).pathname;
    const expired = await signedGet(key, Date.now() - lifetimeMs - 2_000);
    const unsigned = href.slice(0, href.indexOf('?'));
    for (const bad of [moved.href, expired, unsigned]) {
      const answer = await sendRaw({ method: 'GET', href: bad });
      expect(answer.status).toBe(403);
      expect(answer.body.includes(body)).toBe(false);
    }
    for (const method of ['HEAD', 'PUT', 'DELETE']) {
      const headers = method === 'PUT' ? lengthOf(body) : {};
      expect((await sendRaw({ method, href, headers, ...(method === 'PUT' && { body }) })).status).toBe(403);
    }
    expect(await context.target.store.head(key)).toMatchObject({ sizeBytes: 10 });
  });
}
