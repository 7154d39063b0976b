import { expect, test } from 'vitest';
import { sendRaw } from '../support/raw-request.ts';
import {
  type Context,
  lengthOf,
  lifetimeMs,
  type ObjectStoreSkips,
  oddNames,
  signerOf,
  testUnless,
} from './object-store-context.ts';

/** UrlSigner: downloads. */
export function downloadTests(context: Context, skips: ObjectStoreSkips): void {
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

  /** What an answer says of the version that is stored. */
  const versionOf = async (href: string) => {
    const { headers } = await sendRaw({ method: 'GET', href });
    const lastModified = String(headers['last-modified']);
    const at = (ms: number) => new Date(Date.parse(lastModified) + ms).toUTCString();
    return { etag: String(headers.etag), same: lastModified, before: at(-60_000), after: at(60_000) };
  };
  type Version = Awaited<ReturnType<typeof versionOf>>;
  const other = '"0123456789abcdef0123456789abcdef"';

  const conditions: [string, number, (version: Version) => Record<string, string>][] = [
    ['If-None-Match: its ETag', 304, ({ etag }) => ({ 'if-none-match': etag })],
    ['If-None-Match: *', 304, () => ({ 'if-none-match': '*' })],
    ['If-None-Match: another', 200, () => ({ 'if-none-match': other })],
    ['If-Match: its ETag', 200, ({ etag }) => ({ 'if-match': etag })],
    ['If-Match: *', 200, () => ({ 'if-match': '*' })],
    ['If-Match: another', 412, () => ({ 'if-match': other })],
    ['If-Modified-Since: its time', 304, ({ same }) => ({ 'if-modified-since': same })],
    ['If-Modified-Since: a time before', 200, ({ before }) => ({ 'if-modified-since': before })],
    ['If-Modified-Since: no date', 200, () => ({ 'if-modified-since': 'yesterday' })],
    ['If-Unmodified-Since: its time', 200, ({ same }) => ({ 'if-unmodified-since': same })],
    ['If-Unmodified-Since: a time before', 412, ({ before }) => ({ 'if-unmodified-since': before })],
    [
      'If-None-Match: another, since which it has not changed',
      200,
      ({ same }) => ({ 'if-none-match': other, 'if-modified-since': same }),
    ],
    [
      'If-None-Match: its ETag, and a time before',
      304,
      ({ etag, before }) => ({ 'if-none-match': etag, 'if-modified-since': before }),
    ],
    [
      'If-Match: its ETag, and a time before',
      200,
      ({ etag, before }) => ({ 'if-match': etag, 'if-unmodified-since': before }),
    ],
    ['a range, If-None-Match: its ETag', 304, ({ etag }) => ({ range: 'bytes=1-2', 'if-none-match': etag })],
    ['a range, If-Match: its ETag', 206, ({ etag }) => ({ range: 'bytes=1-2', 'if-match': etag })],
  ];
  for (const [title, status, headersOf] of conditions)
    testUnless(skips.conditions?.[title], `obey a condition: ${title}`, async () => {
      const href = await signedGet(await stored());
      const version = await versionOf(href);
      const answer = await sendRaw({ method: 'GET', href, headers: headersOf(version) });
      expect(answer.status).toBe(status);
      if (status < 300) expect(answer.body.toString()).toBe(status === 206 ? '12' : body.toString());
      if (status < 300) expect(answer.headers.etag).toBe(version.etag);
      if (status === 304) expect(answer.body).toHaveLength(0);
      if (status === 412) expect(answer.body.includes(body)).toBe(false);
    });

  const ifRanges: [string, number, (version: Version) => string][] = [
    ['its ETag', 206, ({ etag }) => etag],
    ['its time', 206, ({ same }) => same],
    ['another ETag', 200, () => other],
    ['a weak ETag', 200, ({ etag }) => `W/${etag}`],
    ['a time before', 200, ({ before }) => before],
  ];
  for (const [title, status, of] of ifRanges)
    testUnless(
      skips.conditions?.[`If-Range: ${title}`],
      `go on with a version: If-Range: ${title}`,
      async () => {
        const href = await signedGet(await stored());
        const headers = { range: 'bytes=4-', 'if-range': of(await versionOf(href)) };
        const answer = await sendRaw({ method: 'GET', href, headers });
        expect([answer.status, answer.body.toString()]).toEqual([
          status,
          status === 206 ? '456789' : '0123456789',
        ]);
      },
    );

  test('say how to save it, if that is signed', async () => {
    const key = await stored();
    const saveAs = `ä "b"; c='d'%0d\r\n/😀.html`;
    const signed = { key, signedAtMs: Date.now(), lifetimeMs, saveAs };
    const { href } = await signerOf(context).signDownload(signed);
    const { status, headers } = await sendRaw({ method: 'GET', href });
    const disposition = new URL(href).searchParams.get('response-content-disposition');
    expect([status, headers['content-disposition']]).toEqual([200, disposition]);
    const changed = new URL(href);
    changed.searchParams.set('response-content-disposition', 'inline');
    expect((await sendRaw({ method: 'GET', href: changed.href })).status).toBe(403);
    changed.searchParams.delete('response-content-disposition');
    expect((await sendRaw({ method: 'GET', href: changed.href })).status).toBe(403);
    const added = `${await signedGet(key)}&response-content-disposition=inline`;
    expect((await sendRaw({ method: 'GET', href: added })).status).toBe(403);
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
