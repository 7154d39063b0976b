import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exampleAnswer } from '../api-examples.ts';
import { cli, startServer, type TestServer } from '../harness.ts';

describe('gc run --delete', () => {
  let home: string;
  let clone: string;
  let server: TestServer | undefined;

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'lfs-quota-gc-'));
    clone = join(home, 'clone');
    const git = (...args: string[]) => execFileSync('git', args, { cwd: home, stdio: 'pipe' });
    git('init', '-q', '--bare', 'server.git');
    git('clone', '-q', join(home, 'server.git'), clone);
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
    expect(err).toContain('Open another one, and run it a day later: lfs-quota gc open acme game\n');
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
});
