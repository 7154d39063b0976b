import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { S3ObjectStore } from '../../../../../lambda/adapters/s3/object-store.ts';
import { bucketAt, serve } from '../../../../support/serve.ts';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** A store that answers like this: a status and a body. undefined: it never answers. */
async function open(answer: (asked: Asked) => readonly [number, string] | undefined) {
  const asked: Asked[] = [];
  const url = await serve(async (message, response) => {
    let body = '';
    for await (const piece of message) body += piece;
    const { method = '', url: path = '', headers } = message;
    const request = { method, path, headers, body };
    asked.push(request);
    const answered = answer(request);
    if (answered) response.writeHead(answered[0]).end(answered[1]);
  });
  const store = new S3ObjectStore({ client: bucketAt(url, { bucket: 'b' }), clock: { nowMs: Date.now } });
  /** Key → why it may not be gone. */
  const deleting = async (keys: readonly string[], withinMs = 10_000) => {
    const failed = await store.delete(keys, { deadlineMs: Date.now() + withinMs });
    return Object.fromEntries([...failed].map(([key, error]) => [key, error.message]));
  };
  const ways = () => asked.map(({ method, path }) => `${method} ${path}`);
  return { asked, deleting, ways };
}

const keysIn = (body: string) => [...body.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key = '']) => key);
const deletedOf = (keys: readonly string[]) => keys.map((key) => `<Deleted><Key>${key}</Key></Deleted>`);
const resultOf = (...inner: readonly string[]) =>
  `<?xml version="1.0"?><DeleteResult>${inner.join('')}</DeleteResult>`;
const allGone = ({ body }: Asked) => [200, resultOf(...deletedOf(keysIn(body)))] as const;
const errorOf = (key: string, code: string) =>
  `<Error><Key>${key}</Key><Code>${code}</Code><Message>Why not.</Message></Error>`;

describe('many keys', () => {
  it('take one request for a thousand, with the MD5 of what is sent', async () => {
    const { asked, deleting, ways } = await open(allGone);
    expect(await deleting(Array.from({ length: 2_000 }, (_, index) => `k${index}`))).toEqual({});
    expect(ways()).toEqual(['POST /b/?delete=', 'POST /b/?delete=']);
    expect(keysIn(asked[1]?.body ?? '')).toHaveLength(1_000);
    const { body = '', headers = {} } = asked[0] ?? ({} as Partial<Asked>);
    expect(headers['content-md5']).toBe(createHash('md5').update(body).digest('base64'));
    expect(headers['x-amz-content-sha256']).toBe(createHash('sha256').update(body).digest('hex'));
  });

  it('may have any characters: escaped, or one by one if XML has no way to write them', async () => {
    const { asked, deleting, ways } = await open((one) => (one.method === 'POST' ? allGone(one) : [204, '']));
    expect(await deleting(['a&b', 'a<b>"c"', 'a\tb\r\n', 'ä', '\u0001', '\ufffe'])).toEqual({});
    expect(keysIn(asked[0]?.body ?? '')).toEqual([
      'a&#38;b',
      'a&#60;b&#62;&#34;c&#34;',
      'a&#9;b&#13;&#10;',
      'ä',
    ]);
    expect(ways().slice(1).sort()).toEqual(['DELETE /b/%01', 'DELETE /b/%EF%BF%BE']);
  });

  it('are one plain request if there is one key', async () => {
    const { deleting, ways } = await open(() => [204, '']);
    expect(await deleting(['k'])).toEqual({});
    expect(await deleting([])).toEqual({});
    expect(ways()).toEqual(['DELETE /b/k']);
  });

  it('may each fail, which is no failure of the others', async () => {
    const { deleting, ways } = await open(() => [
      200,
      resultOf(...deletedOf(['a']), errorOf('b&#38;', 'InternalError'), errorOf('c', 'NoSuchKey')),
    ]);
    expect(await deleting(['a', 'b&', 'c'])).toEqual({
      'b&': 'The store did not delete a key (InternalError): Why not.',
    });
    expect(ways()).toHaveLength(1);
  });

  it('end with a refusal if one may not be deleted', async () => {
    const { deleting } = await open(() => [200, resultOf(...deletedOf(['a']), errorOf('b', 'AccessDenied'))]);
    await expect(deleting(['a', 'b'])).rejects.toThrow('The store did not delete a key (AccessDenied)');
  });

  it('are sent one by one if the answer says nothing of them', async () => {
    const { deleting, ways } = await open(({ method }) =>
      method === 'POST' ? [200, resultOf(...deletedOf(['a']))] : [204, ''],
    );
    expect(await deleting(['a', 'b', 'c'])).toEqual({});
    expect(ways()).toEqual(['POST /b/?delete=', 'DELETE /b/b', 'DELETE /b/c']);
    // It knows the request all the same.
    await deleting(['a', 'a2']);
    expect(ways()[3]).toBe('POST /b/?delete=');
  });

  it.each([
    ['500', 500, ''],
    ['SlowDown', 503, '<Error><Code>SlowDown</Code></Error>'],
    ['200 with an error', 200, '<Error><Code>InternalError</Code></Error>'],
    ['half an answer', 200, '<DeleteResult><Deleted><Key>a</Key></Deleted><Dele'],
  ])('may all be there yet after %s, and nothing is sent again', async (_what, status, body) => {
    const { deleting, ways } = await open(() => [status, body]);
    expect(Object.keys(await deleting(['a', 'b']))).toEqual(['a', 'b']);
    expect(ways()).toHaveLength(1);
  });

  it('may all be there yet if there is no answer by the deadline', async () => {
    const { deleting, ways } = await open(() => undefined);
    expect(Object.keys(await deleting(['a', 'b'], 200))).toEqual(['a', 'b']);
    expect(ways()).toHaveLength(1);
    expect(await deleting(['a', 'b'], 0)).toEqual({
      a: 'The deadline for DELETE passed before it was sent.',
      b: 'The deadline for DELETE passed before it was sent.',
    });
    expect(ways()).toHaveLength(1);
  });
});

describe('a store that does not know the request', () => {
  it.each([
    ['501', 501, '<Error><Code>NotImplemented</Code></Error>'],
    ['400', 400, '<Error><Code>InvalidArgument</Code></Error>'],
    ['405', 405, ''],
    ['something else', 200, '<html></html>'],
  ])('says so by %s, gets one request for each key, and is not asked again', async (_what, status, body) => {
    const { deleting, ways } = await open(({ method }) => (method === 'POST' ? [status, body] : [204, '']));
    expect(await deleting(['a', 'b'])).toEqual({});
    expect(await deleting(['c', 'd'])).toEqual({});
    expect(ways()).toEqual(['POST /b/?delete=', 'DELETE /b/a', 'DELETE /b/b', 'DELETE /b/c', 'DELETE /b/d']);
  });

  it('may say that one of them is gone, alone or among many', async () => {
    const { deleting } = await open(() => [404, '<Error><Code>NoSuchKey</Code></Error>']);
    expect(await deleting(['a'])).toEqual({});
    expect(await deleting(['a', 'b'])).toEqual({});
  });

  it('may say that there is no bucket, which is a refusal', async () => {
    const { deleting } = await open(() => [404, '<Error><Code>NoSuchBucket</Code></Error>']);
    await expect(deleting(['a', 'b'])).rejects.toThrow('The store refused DELETE with 404 NoSuchBucket');
  });

  it('is asked again if it refused single requests, too', async () => {
    let isKnown = false;
    const { deleting, ways } = await open((asked) =>
      isKnown ? allGone(asked) : [403, '<Error><Code>AccessDenied</Code></Error>'],
    );
    await expect(deleting(['a', 'b'])).rejects.toThrow('The store refused DELETE with 403 AccessDenied');
    isKnown = true;
    expect(await deleting(['c', 'd'])).toEqual({});
    expect(ways().at(-1)).toBe('POST /b/?delete=');
  });
});
