import { afterEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { parsed, refusalOf, requestJson } from '../../../../../lambda/subjects/hosts/git-hosts.ts';
import { GitHostUnavailableError } from '../../../../../lambda/subjects/hosts/rules/host-client.ts';

const nowMs = 1_800_000_000_000;
const got = (status: number, headers: Record<string, string> = {}, body: unknown = undefined) => ({
  status,
  headers: new Headers(headers),
  body,
});

describe('an answer of a git host', () => {
  it.each([
    [201, 'no-access'],
    [300, 'moved'],
    [399, 'moved'],
    [400, 'no-access'],
    [401, 'token-rejected'],
    [403, 'token-too-small'],
    [404, 'no-access'],
    [407, 'no-access'],
    [409, 'no-access'],
    [499, 'no-access'],
  ])('of %i is a refusal: %s', (status, reason) => {
    expect(refusalOf(got(status), nowMs)).toEqual({ kind: 'refused', reason });
  });

  it('of 200 is none', () => {
    expect(refusalOf(got(200, { 'retry-after': '5' }), nowMs)).toBeUndefined();
  });

  it.each([408, 500, 502, 599])('of %i says that the host is in trouble', (status) => {
    expect(() => refusalOf(got(status), nowMs)).toThrow(GitHostUnavailableError);
    expect(() => refusalOf(got(status), nowMs)).toThrow(
      `A git host returned an unexpected response: ${status}.`,
    );
  });

  it.each<[number, Record<string, string>, number | undefined]>([
    [429, {}, 60_000],
    [429, { 'retry-after': '7' }, 7_000],
    [403, { 'retry-after': '7' }, 7_000],
    [403, { 'x-ratelimit-remaining': '0' }, 60_000],
    [403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(nowMs / 1000 + 9) }, 9_000],
    [403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(nowMs / 1000 - 9) }, 1_000],
    [429, { 'retry-after': '7', 'x-ratelimit-reset': String(nowMs / 1000 + 9) }, 7_000],
    [403, { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': String(nowMs / 1000 + 9) }, undefined],
    [404, { 'retry-after': '7' }, undefined],
  ])('of %i with %j limits requests for %s ms', (status, headers, retryAfterMs) => {
    const refusal = refusalOf(got(status, headers), nowMs);
    if (retryAfterMs === undefined) expect(refusal?.kind).toBe('refused');
    else expect(refusal).toEqual({ kind: 'limited', retryAfterMs });
  });

  it('that is none of its API says where', () => {
    const shape = z.object({ permissions: z.object({ push: z.boolean() }) });
    const body = { permissions: { push: true } };
    expect(parsed(shape, got(200, {}, body))).toEqual(body);
    const parse = (what: unknown) => () => parsed(shape, got(200, {}, what));
    expect(parse({ permissions: { push: 1 } })).toThrow(GitHostUnavailableError);
    expect(parse({ permissions: { push: 1 } })).toThrow(
      "A git host returned an unexpected response: permissions.push isn't part of its API.",
    );
    expect(parse('text')).toThrow(
      "A git host returned an unexpected response: the body isn't part of its API.",
    );
  });
});

describe('a git host', () => {
  afterEach(() => void vi.restoreAllMocks());
  const { signal } = new AbortController();
  const asking = {
    url: 'https://host.example/api/user',
    headers: { 'x-more': '1', authorization: 'Bearer secret' },
    signal,
  };
  const answering = (answer: () => Response | Promise<Response>) =>
    vi.spyOn(globalThis, 'fetch').mockImplementation(async () => answer());

  it('is asked for what is not compressed, with the token, and is not followed elsewhere', async () => {
    const fetched = answering(() => new Response('{"a":1}'));
    expect(await requestJson(asking)).toMatchObject({ status: 200, body: { a: 1 } });
    expect(fetched.mock.calls).toEqual([
      [
        'https://host.example/api/user',
        {
          method: 'GET',
          redirect: 'manual',
          signal,
          headers: {
            accept: 'application/json',
            'user-agent': 'lfs-quota',
            'accept-encoding': 'identity',
            'x-more': '1',
            authorization: 'Bearer secret',
          },
        },
      ],
    ]);
  });

  it('may say with its headers what JSON it is to send', async () => {
    const fetched = answering(() => new Response('{}'));
    const headers = { accept: 'application/vnd.github+json' };
    await requestJson({ ...asking, headers });
    expect(fetched.mock.calls[0]?.[1]?.headers).toMatchObject(headers);
  });

  it('is not read further if it answers something else than 200', async () => {
    const response = new Response('<html>', { status: 404 });
    const cancel = vi.spyOn(response.body as ReadableStream, 'cancel');
    answering(() => response);
    expect(await requestJson(asking)).toMatchObject({ status: 404, body: undefined });
    expect(cancel).toHaveBeenCalledTimes(1);
    answering(() => new Response(null, { status: 404 }));
    expect(await requestJson(asking)).toMatchObject({ status: 404, body: undefined });
  });

  const whole = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
  const withCause = (cause: unknown) => Promise.reject(new TypeError('fetch failed: secret', { cause }));
  it.each<[string, () => Response | Promise<Response>, string]>([
    ['more than is read', () => new Response(whole(100_001)), 'it sent more than 100000 bytes'],
    ['a page', () => new Response('<html>'), 'it sent no JSON'],
    ['without a body', () => new Response(null), 'it sent no JSON'],
    ['nothing at all', () => withCause({ code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    ['by a strange failure', () => withCause({ code: 7 }), 'the connection broke'],
    ['by another', () => withCause(undefined), 'the connection broke'],
  ])('that answers %s is unavailable, in words of ours', async (_, answer, why) => {
    answering(answer);
    const failure = requestJson(asking);
    await expect(failure).rejects.toThrow(GitHostUnavailableError);
    await expect(failure).rejects.toThrow(`A git host returned an unexpected response: ${why}.`);
  });

  it('may send as much as is read, and no more', async () => {
    answering(() => new Response(whole(100_000)));
    expect((await requestJson(asking)).body).toHaveLength(99_998);
  });

  it('that takes too long is unavailable', async () => {
    answering(() => withCause({ code: 'ECONNRESET' }));
    const failure = requestJson({ ...asking, signal: AbortSignal.abort() });
    await expect(failure).rejects.toThrow('A git host returned an unexpected response: it takes too long.');
  });
});
