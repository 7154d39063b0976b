import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type NamedObject, readNames } from '../../../../../lambda/subjects/names/rules/names-file.ts';
import { cli, startServer, type TestServer } from '../../harness.ts';

const oidOf = (content: string) => createHash('sha256').update(content).digest('hex');
const pointer = (content: string) =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${oidOf(content)}\nsize 9\n`;
const beganMs = Date.parse('2026-10-01T00:00:00Z');
const dayMs = 86_400_000;

/** Branch or tag, the day, and path → content. */
const commits: readonly (readonly [ref: string, day: number, files: Readonly<Record<string, string>>])[] = [
  ['refs/heads/main', 1, { 'Art/héro "1".psd': 'hero 1', 'Art/hud.psd': 'hud' }],
  ['refs/heads/main', 2, { 'Art/héro "1".psd': 'hero 2', 'Art/head.psd': 'hud' }],
  ['refs/tags/v1', 3, { 'Art/héro "1".psd': 'hero 2', 'ta\tgg\\ed\u0001.psd': 'tagged' }],
  ['refs/heads/art', 4, { 'Art/héro "1".psd': 'hero 2', 'new.psd': 'new' }],
];

/** As git reads it. */
const quoted = (path: string) => JSON.stringify(path).replace('\\u0001', '\\001');

const fastImport = commits
  .map(([ref, day, files]) =>
    [
      `commit ${ref}`,
      `committer A <a@example.com> ${(beganMs + day * dayMs) / 1000} +0000`,
      'data 1\nm',
      ...(day === 2 ? [] : day > 2 ? ['from refs/heads/main'] : []),
      'deleteall',
      ...Object.entries(files).map(
        ([path, content]) =>
          `M 100644 inline ${quoted(path)}\ndata ${pointer(content).length}\n${pointer(content)}`,
      ),
    ].join('\n'),
  )
  .join('\n');

describe('repo names', () => {
  const home = mkdtempSync(join(tmpdir(), 'lfs-quota-names-'));
  const clone = join(home, 'clone.git');
  const git = (args: string[], input = '') => execFileSync('git', args, { cwd: home, input, stdio: 'pipe' });
  let server: TestServer;
  let store: Server;
  let sent: { bytes: Buffer; headers: NodeJS.Dict<string | string[]> } | undefined;
  let storeStatus = 200;

  beforeAll(async () => {
    git(['init', '-q', '--bare', '--template=', '-b', 'main', clone]);
    git(['-C', clone, 'remote', 'add', 'origin', clone]);
    git(['-C', clone, 'fast-import', '--quiet'], `${fastImport}\n`);
    store = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      sent = { bytes: Buffer.concat(pieces), headers: request.headers };
      response.writeHead(storeStatus).end();
    });
    await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    store.closeAllConnections();
    store.close();
    rmSync(home, { recursive: true });
  });
  afterEach(() => server.close());

  const stored = ['hero 1', 'hero 2', 'hud', 'tagged', 'new', 'of no commit'];
  const asked: { method: string; path: string; body: unknown }[] = [];
  async function service() {
    asked.length = 0;
    server = await startServer((request) => {
      const { method, path } = request;
      asked.push({ method, path: path.replace(/\?.*/, ''), body: request.body });
      if (path.includes('/objects')) {
        const objects = stored.map((content) => ({
          repo: 'game',
          oid: oidOf(content),
          sizeBytes: 9,
          storedAt: null,
        }));
        return { status: 200, body: { objects, others: [], nextCursor: null } };
      }
      if (method === 'POST') {
        const { port } = store.address() as AddressInfo;
        return { status: 200, body: { url: `http://127.0.0.1:${port}/names`, headers: { 'x-own': '1' } } };
      }
      return { status: 200, body: { forReaders: method === 'PATCH', since: '2026-11-21T05:00:00Z' } };
    });
    return { env: { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'lfsq_x' } };
  }
  const run = async (...args: string[]) => cli(['repo', 'names', 'acme', 'game', ...args], await service());

  it('sends what the clone calls each object that is stored', async () => {
    const { code, out, err } = await run('--clone', clone);
    expect([code, out, err]).toEqual([0, 'acme/game: 5 of 6 objects have names now.\n', '']);
    const { bytes = Buffer.alloc(0), headers = {} } = sent ?? {};
    expect(asked.at(-1)).toEqual({
      method: 'POST',
      path: '/v1/tenants/acme/repos/game/names',
      body: { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') },
    });
    expect(headers).toMatchObject({ 'x-own': '1', 'content-length': String(bytes.length) });
    const found: NamedObject[] = [];
    const head = await readNames(bytes, (line) => found.push(line.read()));
    const main = git(['-C', clone, 'rev-parse', 'main']).toString().trim();
    expect(head).toMatchObject({ version: 1, branch: 'main', commit: main });
    const at = (day: number) => beganMs + day * dayMs;
    const shown = found.map(({ oid, path, ref, committedMs, commit }) => [
      stored.find((content) => oidOf(content) === oid),
      path,
      ref,
      committedMs,
      commit !== null,
    ]);
    expect(shown).toEqual([
      ['hero 1', 'Art/héro "1".psd', null, at(1), true],
      ['hero 2', 'Art/héro "1".psd', 'main', at(2), true],
      ['hud', 'Art/head.psd', 'main', at(2), true],
      ['tagged', 'ta\tgg\\ed\u0001.psd', 'v1', at(3), true],
      ['new', 'new.psd', 'art', at(4), true],
      ['of no commit', null, null, null, false],
    ]);
  });

  it('sends nothing of half a clone', async () => {
    const half = join(home, 'half.git');
    git(['clone', '-q', '--bare', '--depth', '1', `file://${clone}`, half]);
    const { code, err } = await run('--clone', half);
    expect([code, err]).toEqual([1, expect.stringContaining('is shallow')]);
    expect(asked).toEqual([]);
  });

  it('sends nothing of another repo’s clone', async () => {
    const other = join(home, 'other.git');
    git(['init', '-q', '--bare', '--template=', other]);
    git(['-C', other, 'remote', 'add', 'origin', other]);
    const { code, err } = await run('--clone', other);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^error: No commit of .*other.git has any of the 6 objects/),
    ]);
    expect(asked.map(({ method }) => method)).toEqual(['GET']);
  });

  it('says what to do when the store takes no file', async () => {
    storeStatus = 503;
    const { code, err } = await run('--clone', clone);
    storeStatus = 200;
    expect(code).toBe(1);
    expect(err).toMatch(/The store at \S+ returned 503.\n.*The repo has no names until you run it again.\n/);
  });

  it('shows them to readers, hides and erases them', async () => {
    expect((await run('--for', 'readers')).out).toBe(
      'acme/game: every token of the repo can see the names.\n',
    );
    expect(asked).toMatchObject([{ method: 'PATCH', body: { forReaders: true } }]);
    expect((await run('--for', 'managers')).out).toContain('only tokens with the manage scope');
    expect(asked).toMatchObject([{ method: 'PATCH', body: { forReaders: false } }]);
    expect((await run('--erase')).out).toBe('acme/game: its names are erased.\n');
    expect(asked).toMatchObject([{ method: 'POST' }]);
    const left: unknown[] = [];
    await readNames(sent?.bytes ?? Buffer.alloc(0), (line) => left.push(line));
    expect(left).toEqual([]);
    expect((await run('--erase', '--for', 'readers')).code).toBe(2);
    expect(asked).toEqual([]);
  });
});
