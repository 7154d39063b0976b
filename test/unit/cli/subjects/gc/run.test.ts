import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exampleAnswer } from '../../api-examples.ts';
import { cli, startServer, type TestServer } from '../../harness.ts';

describe('gc run --delete', () => {
  let home: string;
  let clone: string;
  let server: TestServer | undefined;

  /** Copied for each test: git would run a dozen processes. */
  const made = mkdtempSync(join(tmpdir(), 'lfs-quota-gc-'));
  beforeAll(() => {
    const git = (...args: string[]) => execFileSync('git', args, { cwd: made, stdio: 'pipe' });
    git('init', '-q', '--bare', '--template=', 'server.git');
    git('clone', '-q', '--template=', 'server.git', 'clone');
    git('-C', 'clone', 'remote', 'set-url', 'origin', '../server.git');
  });
  afterAll(() => rmSync(made, { recursive: true }));

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'lfs-quota-gc-'));
    clone = join(home, 'clone');
    cpSync(made, home, { recursive: true });
  });
  afterEach(async () => {
    await server?.close();
    rmSync(home, { recursive: true });
  });

  it.each([
    ['expired', 'Nothing was deleted: garbage collection is expired.'],
    ['cancelled', 'Nothing was deleted: garbage collection is cancelled.'],
  ])('fails if the gc run is %s before its end, and says what to do', async (state, message) => {
    let isAsked = false;
    server = await startServer((asked) => {
      if (asked.method === 'PUT') return { status: 200 };
      isAsked ||= asked.path.endsWith('/run');
      const now = isAsked ? { state, found: null, run: null } : { state: 'watching', mayRun: true };
      const signed = { url: `${server?.url}/reachable-set`, headers: {} };
      return exampleAnswer(asked, (body) => ({ ...(body as object), ...now, ...signed }));
    });
    const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'x' };
    const { code, err } = await cli(['gc', 'run', 'acme', 'game', '--clone', clone, '--delete'], { env });
    expect(code).toBe(1);
    expect(err).toContain(`error: ${message}\n`);
    expect(err).toContain('Open another one, and run it a day later: lfs-quota gc acme game\n');
  });

  it.each([
    ['a folder that is not there', 'absent/list.txt', 'ENOENT'],
    ['a folder', '.', 'EISDIR'],
  ])('says why it cannot write its list: %s', async (_, file, code) => {
    server = await startServer((asked) => {
      if (asked.method === 'PUT' || asked.path === '/list') return { status: 200 };
      const url = `${server?.url}/list`;
      return exampleAnswer(asked, (body) => {
        const { found } = body as { found?: object | null };
        const watched = { state: 'watching', mayRun: true, url, headers: {} };
        return { ...(body as object), ...watched, found: found && { ...found, lists: [{ url }] } };
      });
    });
    const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'x' };
    const list = join(home, file);
    const ended = await cli(['gc', 'run', 'acme', 'game', '--clone', clone, '--list', list], { env });
    expect(ended.err).toContain(`error: Can't write ${list} (${code}).\n`);
    expect(ended.code).toBe(1);
  });

  const lines = 'aa 1\nbb 2\n';

  /**
   * A service that deletes what it finds as soon as it is asked to, and then has no list any more.
   *
   * @param texts of the lists. undefined: the store does not have it. @param ending what a run ends with, if not as usual.
   */
  async function collector(texts: readonly (string | undefined)[], ending: object = {}) {
    let isDone = false;
    const events: string[] = [];
    server = await startServer((asked) => {
      if (asked.method === 'PUT') return { status: 200 };
      const [, index] = /^\/list-(\d)$/.exec(asked.path) ?? [];
      if (index !== undefined) {
        const text = isDone ? undefined : texts[Number(index)];
        events.push(`list ${index}`);
        return text === undefined ? { status: 404 } : { status: 200, body: text };
      }
      let isRun = false;
      if (asked.path.endsWith('/run')) {
        const { dryRun } = asked.body as { dryRun: boolean };
        isDone = !dryRun;
        isRun = true;
        events.push(dryRun ? 'look' : 'delete');
      }
      return exampleAnswer(asked, (body) => {
        const { found } = body as { found?: object | null };
        const lists = isDone ? [] : texts.map((_, list) => ({ url: `${server?.url}/list-${list}` }));
        const candidates = { objectCount: 2, bytes: 3 };
        const state = isDone ? 'done' : 'watching';
        const signed = { url: `${server?.url}/reachable-set`, headers: {} };
        const ended = { ...signed, found: found && { ...found, candidates, lists }, ...(!isRun && ending) };
        return { ...(body as object), state, mayRun: true, ...ended };
      });
    });
    const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'x' };
    const file = join(home, 'candidates.txt');
    const command = ['gc', 'run', 'acme', 'game', '--clone', clone];
    const run = (args: string[] = [], list = file) => cli([...command, '--list', list, ...args], { env });
    return { events, file, run };
  }

  it.each([[[]], [['--force']], [['--older-than', '0']]])(
    'has the list of what it deletes in the file before it deletes: %s',
    async (args) => {
      const { events, file, run } = await collector(['aa 1\n', 'bb 2\n']);
      const { code, out, err } = await run(['--delete', ...args]);
      expect({ code, out, err }).toMatchObject({ code: 0, out: expect.stringContaining('acme/game: done') });
      expect(readFileSync(file, 'utf8')).toBe(lines);
      expect(events).toEqual(['look', 'list 0', 'list 1', 'delete']);
    },
  );

  it('lists once if it deletes nothing', async () => {
    const { events, file, run } = await collector([lines]);
    expect(await run()).toMatchObject({ code: 0 });
    expect(readFileSync(file, 'utf8')).toBe(lines);
    expect(events).toEqual(['look', 'list 0']);
  });

  it.each([
    ['one cannot be read', ['aa 1\n', undefined], /returned 404\./],
    ['there are none', [], /has 0 of 2 objects\./],
    ['they are not whole', ['aa 1\n'], /has 1 of 2 objects\./],
  ])('deletes nothing, and says so, if of its lists %s', async (_, texts, message) => {
    const { events, run } = await collector(texts);
    const { code, err } = await run(['--delete']);
    expect(code).toBe(1);
    expect(err).toMatch(message);
    expect(err).toContain('Nothing was deleted.');
    expect(events).not.toContain('delete');
  });

  it('deletes nothing if the list cannot be written, or what was found is not whole', async () => {
    const { events, file, run } = await collector([lines]);
    const written = await run(['--delete'], join(home, 'absent', 'list.txt'));
    expect(written).toMatchObject({ code: 1, err: expect.stringContaining('Nothing was deleted.') });
    expect(events).not.toContain('delete');
    await server?.close();
    const failure = { reason: 'too-many-names', message: 'Too much was pushed.' };
    const failed = await collector([lines], { failure });
    const ended = await failed.run(['--delete']);
    expect(ended).toMatchObject({ code: 1, err: expect.stringContaining('Nothing was deleted.') });
    expect(failed.events).toEqual(['look']);
    expect(existsSync(file)).toBe(false);
  });

  it('has no list without the result', async () => {
    const { events, run } = await collector([lines]);
    for (const args of [['--no-wait'], ['--no-wait', '--delete']]) {
      const { code, err } = await run(args);
      expect(code).toBe(2);
      expect(err).toContain('--list needs the result: leave out --no-wait.');
    }
    expect(events).toEqual([]);
  });
});
