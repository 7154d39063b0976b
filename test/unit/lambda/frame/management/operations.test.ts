import { describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { createTokenBody } from '../../../../../lambda/frame/contract/tokens.ts';
import { cookieOf, presentedBy, setCookie } from '../../../../../lambda/frame/management/access.ts';
import { jsonBody } from '../../../../../lambda/frame/management/operations.ts';
import { httpEvent } from '../../../../support/http-event.ts';

const read = (body: unknown) =>
  jsonBody(
    { settings: defaultSettings },
    httpEvent({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    { schema: createTokenBody },
  );

it('refuses a body in a few words, however many fields it does not know', () => {
  const fields = Array.from({ length: 3_000 }, (_, index) => [`field${index}`, index]);
  const read1 = read({ scope: 'read', ...Object.fromEntries(fields) });
  expect(read1).toMatchObject({ ok: false, response: { statusCode: 422 } });
  expect(JSON.stringify(read1).length).toBeLessThan(1000);
});

/** A request as API Gateway hands it over: cookies are not among the headers. */
function request(
  headers: Record<string, string>,
  { cookies, domainName = 'lfs.example.com' }: { cookies?: string[]; domainName?: string } = {},
) {
  const event = httpEvent({ headers });
  return {
    ...event,
    ...(cookies && { cookies }),
    requestContext: { ...event.requestContext, domainName },
  };
}

const cookies = ['other=1', '__Host-lfsq=the-session'];
const ours = { 'lfs-quota-console': '1' };

describe('what a request shows to be let in', () => {
  it('is a token, whatever else it has', () => {
    const token = { kind: 'token', secret: 'lfsq_x' };
    expect(presentedBy(request({ authorization: 'Bearer lfsq_x' }))).toEqual(token);
    expect(presentedBy(request({ authorization: 'Bearer lfsq_x', ...ours }, { cookies }))).toEqual(token);
    // Not the session instead of what is no token.
    expect(presentedBy(request({ authorization: 'Digest x', ...ours }, { cookies }))).toBeUndefined();
    expect(presentedBy(request({ authorization: '', ...ours }, { cookies }))).toBeUndefined();
  });

  it('is a session, if the console says so and the browser does not say otherwise', () => {
    const session = { kind: 'session', secret: 'the-session' };
    expect(presentedBy(request(ours, { cookies }))).toEqual(session);
    expect(presentedBy(request({ ...ours, 'sec-fetch-site': 'same-origin' }, { cookies }))).toEqual(session);
    for (const headers of [
      {},
      { 'lfs-quota-console': 'true' },
      { 'sec-fetch-site': 'same-origin' },
      { ...ours, 'sec-fetch-site': 'same-site' },
      { ...ours, 'sec-fetch-site': 'cross-site' },
      { ...ours, 'sec-fetch-site': 'none' },
      { ...ours, 'sec-fetch-site': '' },
    ])
      expect(presentedBy(request(headers as Record<string, string>, { cookies }))).toBeUndefined();
  });

  it('is nothing without a cookie', () => {
    expect(presentedBy(request(ours))).toBeUndefined();
    expect(presentedBy(request(ours, { cookies: ['other=1'] }))).toBeUndefined();
  });
});

describe('the cookie of a session', () => {
  const plain = (domainName: string) => ({
    headers: { 'x-forwarded-proto': 'http' },
    domainName,
  });

  it('is for TLS and this host alone', () => {
    const set = setCookie(request({ 'x-forwarded-proto': 'https' }), {
      value: 'v',
      maxAgeMs: 43_200_999,
    });
    expect(set).toBe('__Host-lfsq=v; Max-Age=43200; Path=/; HttpOnly; SameSite=Strict; Secure');
  });

  it.each([
    ['127.0.0.1:8787', 'lfsq-8787'],
    ['localhost:80', 'lfsq-80'],
    ['[::1]:9000', 'lfsq-9000'],
  ])('has the port of a plain %s in its name', (domainName, name) => {
    const { headers } = plain(domainName);
    const set = setCookie(request(headers, { domainName }), { value: 'v', maxAgeMs: 1000 });
    expect(set).toBe(`${name}=v; Max-Age=1; Path=/; HttpOnly; SameSite=Strict`);
    const event = request(headers, {
      domainName,
      cookies: ['__Host-lfsq=other', `${name}=mine`, 'lfsq-1=no'],
    });
    expect(cookieOf(event, '')).toBe('mine');
  });

  it.each(['lfs.example.com', 'lfs.example.com:8787', '127.0.0.1', '127.0.0.1.example.com:80'])(
    'is for TLS at %s, whatever the request says',
    (domainName) => {
      const { headers } = plain(domainName);
      const set = setCookie(request(headers, { domainName }), { value: 'v', maxAgeMs: 1000 });
      expect(set).toMatch(/^__Host-lfsq=v;.*; Secure$/);
    },
  );

  it('is removed by one that has ended', () => {
    expect(setCookie(request({}), { value: '', maxAgeMs: -5 })).toMatch(/^__Host-lfsq=; Max-Age=0;/);
  });

  it('is found among the headers, if the gateway left it there', () => {
    const cookie = 'other=1; __Host-lfsq=a; more=2';
    expect(cookieOf(request({ cookie }), '')).toBe('a');
    expect(cookieOf(request({ cookie }, { cookies: ['other=1'] }), '')).toBeUndefined();
    expect(cookieOf(request({ cookie: `${cookie};__Host-lfsq=b` }), '')).toBeUndefined();
  });

  it('counts only if it is the only one', () => {
    expect(cookieOf(request({}, { cookies: ['__Host-lfsq=a', '__Host-lfsq=b'] }), '')).toBeUndefined();
    expect(cookieOf(request({}, { cookies: ['__Host-lfsq=a=b'] }), '')).toBe('a=b');
    expect(cookieOf(request({}, { cookies: ['x__Host-lfsq=a'] }), '')).toBeUndefined();
  });
});
