import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import { objectNotUpstream } from '../../../../../lambda/subjects/downloads/lfs/lfs-messages.ts';
import { askUpstream } from '../../../../../lambda/subjects/downloads/lfs/upstream.ts';
import type { UpstreamFailure } from '../../../../../lambda/subjects/downloads/rules/copies.ts';
import type { GitHostKind } from '../../../../../lambda/subjects/hosts/rules/git-hosts.ts';
import type { UpstreamVerdict } from '../../../../../lambda/subjects/lfs/seams.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { serve } from '../../../../support/serve.ts';

const [a, b] = ['a'.repeat(64), 'b'.repeat(64)];
const lifetimeMs = 1_800_000;
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const authorization = basic('ada:ghp_0123456789');
const href = 'https://store.example.com/signed?X-Amz-Signature=secret';

interface Received {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

describe('what is missing, asked at a git host', () => {
  let received: Received[];
  let logged: ReturnType<typeof recordingLog>;
  const clock = new ManualClock();

  beforeEach(() => {
    received = [];
    logged = recordingLog();
  });

  /** A host that answers like this. @returns its URL. */
  const hostOf = (answer: (response: ServerResponse, request: Received) => void) =>
    serve(async (request, response) => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const { method, url: path, headers } = request;
      const asked = { method, path, headers, body: Buffer.concat(pieces).toString('utf8') };
      received.push(asked);
      answer(response, asked);
    });
  const json =
    (body: unknown, status = 200) =>
    (response: ServerResponse) =>
      void response.writeHead(status).end(JSON.stringify(body));

  async function ask(
    url: string,
    {
      kind = 'gitea',
      name = 'acme/game',
      objects = [
        [a, 5],
        [b, 7],
      ],
      ...more
    }: {
      kind?: GitHostKind;
      name?: string;
      objects?: [string, number][];
      authorization?: string;
      timeoutMs?: number;
    } = {},
  ) {
    const { timeoutMs, authorization: sent = authorization } = more;
    const verdicts = await askUpstream(
      { clock, log: logged.log },
      {
        tenant: 'acme',
        repo: 'game',
        upstream: { host: { id: 'forge', kind, url }, name, authorization: sent },
        objects: new Map(objects),
        lifetimeMs,
        ...(timeoutMs !== undefined && { timeoutMs }),
      },
    );
    const told = JSON.stringify(logged.entries);
    for (const secret of [sent, 'ghp_0123456789', 'X-Amz-Signature', 'signed'])
      expect(told).not.toContain(secret);
    return verdicts;
  }

  const missing = (why: UpstreamFailure): UpstreamVerdict => ({
    kind: 'missing',
    message: objectNotUpstream({ host: 'forge', why }),
  });
  const allMissing = (why: UpstreamFailure) =>
    new Map([
      [a, missing(why)],
      [b, missing(why)],
    ]);

  it.each<[GitHostKind, string, string, string]>([
    ['github', '', 'acme/game', '/acme/game.git/info/lfs/objects/batch'],
    ['github', '/api/v3', 'acme/game', '/acme/game.git/info/lfs/objects/batch'],
    ['gitlab', '', 'acme/art/game', '/acme/art/game.git/info/lfs/objects/batch'],
    ['gitlab', '/git', 'acme/game', '/git/acme/game.git/info/lfs/objects/batch'],
    ['gitea', '', 'acme/game', '/acme/game.git/info/lfs/objects/batch'],
  ])('is asked of %s%s as its user, where git finds it', async (kind, base, name, path) => {
    const url = await hostOf(json({ objects: [{ oid: a, size: 5, actions: { download: { href } } }] }));
    const verdicts = await ask(url + base, { kind, name });
    const get = { href, header: {} };
    expect(verdicts).toEqual(
      new Map([
        [a, { kind: 'upstream', get, expiresInMs: lifetimeMs, isAuthenticated: false }],
        [b, missing('absent')],
      ]),
    );
    expect(received).toMatchObject([{ method: 'POST', path, headers: { authorization } }]);
    expect(JSON.parse(received[0]?.body ?? '')).toEqual({
      operation: 'download',
      transfers: ['basic'],
      objects: [
        { oid: a, size: 5 },
        { oid: b, size: 7 },
      ],
    });
  });

  it('is asked with Basic by whoever comes with Bearer', async () => {
    const url = await hostOf(json({ objects: [] }));
    await ask(url, { authorization: 'Bearer glpat-0123456789' });
    expect(received[0]?.headers.authorization).toBe(basic('oauth2:glpat-0123456789'));
  });

  it('keeps its headers and when it expires', async () => {
    const expires_at = new Date(clock.nowMs() + 60_000).toISOString();
    const header = { Authorization: authorization };
    const url = await hostOf(
      json({
        transfer: 'basic',
        objects: [
          { oid: a, size: 5, authenticated: true, actions: { download: { href, header, expires_in: 90 } } },
          { oid: b, size: 7, actions: { download: { href, header: null, expires_at } } },
        ],
      }),
    );
    const [first, second] = [...(await ask(url)).values()];
    expect(first).toEqual({
      kind: 'upstream',
      get: { href, header },
      expiresInMs: 90_000,
      isAuthenticated: true,
    });
    expect(second).toMatchObject({ get: { href, header: {} }, expiresInMs: 60_000, isAuthenticated: false });
  });

  it.each([
    [1e300, 7 * 86_400_000],
    [-1e300, 0],
    [1e308, lifetimeMs],
  ])('has an expiry that every client can read, also if it says %f s', async (expires_in, expiresInMs) => {
    const url = await hostOf(
      json({ objects: [{ oid: a, size: 5, actions: { download: { href, expires_in } } }] }),
    );
    expect((await ask(url)).get(a)).toMatchObject({ kind: 'upstream', expiresInMs });
  });

  it('is asked in pieces that every host takes', async () => {
    const url = await hostOf((response, { body }) => {
      const { objects } = JSON.parse(body) as { objects: { oid: string; size: number }[] };
      json({ objects: objects.map((object) => ({ ...object, actions: { download: { href } } })) })(response);
    });
    const objects = Array.from({ length: 250 }, (_, index): [string, number] => [
      index.toString(16).padStart(64, '0'),
      index,
    ]);
    const verdicts = await ask(url, { objects });
    expect(received).toHaveLength(3);
    expect([...verdicts.keys()]).toEqual(objects.map(([oid]) => oid));
    expect([...verdicts.values()].every(({ kind }) => kind === 'upstream')).toBe(true);
  });

  const download = (more: object) => ({ oid: a, size: 5, actions: { download: { href, ...more } } });
  it.each<[string, object]>([
    ['another oid', { ...download({}), oid: 'c'.repeat(64) }],
    ['another size', { ...download({}), size: 6 }],
    ['plain HTTP elsewhere', download({ href: 'http://store.example.com/a' })],
    ['another scheme', download({ href: 'file:///etc/passwd' })],
    ['a login in the URL', download({ href: 'https://ada:secret@store.example.com/a' })],
    ['a URL that is none', download({ href: 'https://' })],
    ['a line break in the URL', download({ href: 'https://store.example.com/a\nb' })],
    ['a URL that is too long', download({ href: `${href}${'x'.repeat(5000)}` })],
    ['a line break in a header', download({ header: { 'x-a': 'b\r\nx-c: d' } })],
    [
      'many headers',
      download({ header: Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`x-${i}`, ''])) }),
    ],
    ['an error', { oid: a, size: 5, error: { code: 404, message: 'Object does not exist' } }],
    ['an error beside a URL', { ...download({}), error: { code: 410, message: 'Gone' } }],
    ['nothing to do', { oid: a, size: 5 }],
    ['an upload', { oid: a, size: 5, actions: { upload: { href } } }],
    ['a text', 'a' as never],
  ])('is not there for %s, and the others hold', async (_what, object) => {
    const good = { oid: b, size: 7, actions: { download: { href } } };
    const verdicts = await ask(await hostOf(json({ objects: [object, good] })));
    expect(verdicts.get(a)).toEqual(missing('absent'));
    expect(verdicts.get(b)?.kind).toBe('upstream');
    expect(verdicts.size).toBe(2);
  });

  it.each<[string, (response: ServerResponse) => void, UpstreamFailure]>([
    ['an unknown token', json({}, 401), 'rejected'],
    ['a token that is too small', json({}, 403), 'rejected'],
    ['no repository', json({}, 404), 'rejected'],
    ['too many requests', json({}, 429), 'limited'],
    ['its own trouble', json({}, 503), 'unavailable'],
    ['no JSON', (response) => void response.writeHead(200).end('<html>'), 'unavailable'],
    ['no batch', json({ objects: 'none' }), 'unavailable'],
    ['another transfer', json({ transfer: 'tus', objects: [] }), 'unavailable'],
    [
      'half an answer',
      (response) => void response.writeHead(200, { 'content-length': 50 }).destroy(),
      'unavailable',
    ],
    ['far too much', json({ objects: [], more: 'x'.repeat(40_000) }), 'unavailable'],
    ['far too many', json({ objects: Array.from({ length: 101 }, () => 1) }), 'unavailable'],
  ])('is missing, with the reason, if the host answers %s', async (_what, answer, why) => {
    expect(await ask(await hostOf(answer))).toEqual(allMissing(why));
    expect(received).toHaveLength(1);
  });

  it('follows no redirect', async () => {
    const other = await hostOf(json({ objects: [] }));
    const url = await hostOf((response) => void response.writeHead(307, { location: other }).end());
    expect(await ask(url)).toEqual(allMissing('rejected'));
    expect(received).toHaveLength(1);
  });

  it('does not wait for a host that says nothing', async () => {
    expect(await ask(await hostOf(() => undefined), { timeoutMs: 50 })).toEqual(allMissing('unavailable'));
    // Its answer begins, and never ends.
    const slow = await hostOf((response) => void response.writeHead(200).write('{"objects": ['));
    expect(await ask(slow, { timeoutMs: 300 })).toEqual(allMissing('unavailable'));
  });

  it('does not wait for one that is not there', async () => {
    expect(await ask('http://127.0.0.1:1')).toEqual(allMissing('unavailable'));
  });
});
