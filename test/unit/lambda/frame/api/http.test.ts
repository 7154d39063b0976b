import { describe, expect, it } from 'vitest';
import {
  accepts,
  baseUrl,
  bodyText,
  credential,
  hasContentType,
  ifChanged,
  json,
  pathRepo,
  pathTenant,
  withOneLogin,
} from '../../../../../lambda/frame/api/http.ts';
import { httpEvent } from '../../../../support/http-event.ts';

const lfsType = 'application/vnd.git-lfs+json';
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('an Accept header', () => {
  it.each([
    [undefined, true],
    ['', true],
    ['  ', true],
    [lfsType, true],
    [`${lfsType}; charset=utf-8`, true],
    ['Application/VND.git-lfs+JSON', true],
    ['*/*', true],
    ['application/*', true],
    ['text/html,application/*;q=0.1', true],
    [`${lfsType};q=0.001`, true],
    [`*/*;q=0,${lfsType}`, true],
    [`application/*;q=0 , ${lfsType};q=1`, true],
    [`${lfsType};q=0,${lfsType};charset=utf-8`, true],
    ['application/json', false],
    ['text/html', false],
    ['text/*', false],
    ['*', false],
    [',', false],
    [`${lfsType};q=0`, false],
    [`${lfsType};q=0.`, false],
    [`${lfsType};charset=utf-8;q=0.000`, false],
    [`${lfsType};q=0, */*`, false],
    ['application/*;q=0, */*', false],
    [`${lfsType}x`, false],
  ])('%j lets the LFS media type pass: %s', (accept, passes) => {
    const event = httpEvent({ headers: accept === undefined ? {} : { accept } });
    expect(accepts(event, lfsType)).toBe(passes);
  });
});

describe('a Content-Type header', () => {
  it.each([
    [lfsType, true],
    [`${lfsType}; charset=utf-8`, true],
    [`${lfsType} ;charset="utf-8"`, true],
    ['APPLICATION/vnd.git-lfs+json', true],
    [undefined, false],
    ['', false],
    ['application/json', false],
    [`text/plain; a=${lfsType}`, false],
    [`text/plain, ${lfsType}`, false],
  ])('%j is of the LFS media type: %s', (type, isLfs) => {
    const event = httpEvent({ headers: type === undefined ? {} : { 'content-type': type } });
    expect(hasContentType(event, lfsType)).toBe(isLfs);
  });
});

describe('a credential', () => {
  it.each([
    ['Bearer lfsq_abc', 'lfsq_abc'],
    ['bearer   lfsq_abc  ', 'lfsq_abc'],
    [`Basic ${base64('any:lfsq_abc')}`, 'lfsq_abc'],
    [`BASIC ${base64(':lfsq_abc')}`, 'lfsq_abc'],
    [`Basic ${base64('jane@example.org:with:colons')}`, 'with:colons'],
    [`Basic ${base64('ü:ä')}`, 'ä'],
  ])('is read from %j', (authorization, expected) => {
    expect(credential(httpEvent({ headers: { authorization } }))).toBe(expected);
  });

  it.each([
    ...[undefined, '', 'Bearer', 'Bearer ', 'lfsq_abc', 'Digest lfsq_abc', 'Bearer a b', 'Bearer\tlfsq_abc'],
    ...['Basic', 'Basic ***', `Basic ${base64('lfsq_abc')}`, `Basic ${base64('any:')}`, `Basic any:lfsq_abc`],
    `Bearer${' '.repeat(100_000)}`,
  ])('is not read from %.40j', (authorization) => {
    const headers = authorization === undefined ? {} : { authorization };
    expect(credential(httpEvent({ headers }))).toBe(undefined);
  });
});

describe('an Authorization header', () => {
  const loginOf = (authorization: string) =>
    withOneLogin(httpEvent({ headers: { accept: '*/*', authorization } }))?.headers;
  const [one, other] = [`Basic ${base64('any:lfsq_abc')}`, `Basic ${base64('any:lfsq_other')}`];

  it.each([
    [one, one],
    [`${one},${one}`, one],
    [`${one}, ${one} ,${one}`, one],
    ['Bearer a, Bearer a', 'Bearer a'],
    // One header of a scheme that has commas.
    ['Digest username="any", realm="x"', 'Digest username="any", realm="x"'],
    ['', ''],
    ['Basic,Basic', 'Basic,Basic'],
  ])('%j counts as %j', (sent, counts) => {
    expect(loginOf(sent)).toEqual({ accept: '*/*', authorization: counts });
  });

  it.each([
    `${one},${other}`,
    `${one}, Bearer lfsq_abc`,
    'Bearer a,bearer a',
    `Digest username="any",${one}`,
    `,${' '.repeat(100_000)}${one}`,
  ])('%.60j is two', (sent) => {
    expect(loginOf(sent)).toBeUndefined();
  });

  it('may be missing', () => {
    const event = httpEvent({ headers: { accept: '*/*' } });
    expect(withOneLogin(event)).toBe(event);
  });
});

describe('the address of this API', () => {
  it('is that of the gateway’s domain', () => {
    const event = httpEvent({ domainName: 'lfs.example.org' });
    expect(baseUrl(event)).toBe('https://lfs.example.org');
  });

  it('ends with the stage, unless that is the default one', () => {
    expect(baseUrl(httpEvent({ domainName: 'lfs.example.org', stage: 'v2' }))).toBe(
      'https://lfs.example.org/v2',
    );
  });

  it('keeps the protocol that the request came by', () => {
    const headers = { 'x-forwarded-proto': 'http' };
    expect(baseUrl(httpEvent({ domainName: '127.0.0.1:8787', headers }))).toBe('http://127.0.0.1:8787');
  });

  it('is what the stage says, if something stands before the API', () => {
    const event = httpEvent({ domainName: 'abc123.execute-api.eu-west-1.amazonaws.com' });
    expect(baseUrl(event, 'https://lfs.example.com')).toBe('https://lfs.example.com');
  });

  it('is not what a client calls it', () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' };
    expect(baseUrl(httpEvent({ domainName: 'lfs.example.org', headers }))).toBe('https://lfs.example.org');
  });
});

describe('a body', () => {
  it('is text, or text in base64', () => {
    expect(bodyText(httpEvent({ body: 'é' }), 2)).toBe('é');
    expect(bodyText(httpEvent({ body: base64('é'), isBase64Encoded: true }), 2)).toBe('é');
    expect(bodyText(httpEvent(), 0)).toBe('');
  });

  it('is measured in bytes, as they were sent', () => {
    expect(bodyText(httpEvent({ body: 'é' }), 1)).toBe(undefined);
    expect(bodyText(httpEvent({ body: base64('12345'), isBase64Encoded: true }), 4)).toBe(undefined);
  });
});

describe('names in the path', () => {
  const names = (tenant: string, repo: string) => {
    const event = httpEvent({ pathParameters: { tenant, repo } });
    return [pathTenant(event), pathRepo(event)];
  };

  it('are valid ones, the repo without one .git', () => {
    expect(names('acme', 'Game.git')).toEqual(['acme', 'Game']);
    expect(names('acme', 'Game')).toEqual(['acme', 'Game']);
    expect(names('acme', 'Game.git.git')).toEqual(['acme', undefined]);
    expect(names('ACME', '..')).toEqual([undefined, undefined]);
    expect(names('v1', '.git')).toEqual([undefined, undefined]);
    expect(names('a/b', 'a/b.git')).toEqual([undefined, undefined]);
  });

  it('may be missing', () => {
    expect([pathTenant(httpEvent()), pathRepo(httpEvent())]).toEqual([undefined, undefined]);
  });
});

const asking = (etag?: string) =>
  httpEvent({ headers: { ...(etag !== undefined && { 'if-none-match': etag }) } });
const etagOf = (body: unknown) => String(ifChanged(asking(), json(200, body)).headers?.['etag']);

describe('an answer that may be known', () => {
  it('names its content', () => {
    expect(etagOf({ a: 1 })).toMatch(/^"[0-9a-f]{32}"$/);
    expect(etagOf({ a: 1 })).toBe(etagOf({ a: 1 }));
    expect(etagOf({ a: 1 })).not.toBe(etagOf({ a: 2 }));
    expect(ifChanged(asking(), json(200, { a: 1 }))).toMatchObject({ statusCode: 200, body: '{"a":1}' });
  });

  it.each([(etag: string) => etag, (etag: string) => `"other", ${etag}`, (etag: string) => `W/${etag}`])(
    'is left out if the client has it',
    (sent) => {
      const etag = etagOf({ a: 1 });
      expect(ifChanged(asking(sent(etag)), json(200, { a: 1 }))).toEqual({
        statusCode: 304,
        headers: { etag, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
      });
    },
  );

  it('is sent to a client that has another one', () => {
    for (const known of [etagOf({ a: 2 }), '', '*', etagOf({ a: 1 }).slice(0, -2)])
      expect(ifChanged(asking(known), json(200, { a: 1 }))).toMatchObject({
        statusCode: 200,
        body: '{"a":1}',
      });
  });
});
