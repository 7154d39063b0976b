import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cli, startServer, type TestServer } from '../harness.ts';

const oidOf = (content: string) => createHash('sha256').update(content).digest('hex');
const pointer = (content: string) =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${oidOf(content)}\nsize ${content.length}\n`;

describe('du --git', () => {
  let home: string;
  let server: TestServer;
  /** What the service stores: content of an object → bytes. */
  let stored: Record<string, number>;
  let others: { repo: string; objectCount: number; sizeBytes: number }[];
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: home,
      env: { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const commit = (files: Record<string, string>) => {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(home, name)), { recursive: true });
      writeFileSync(join(home, name), pointer(content));
    }
    git('add', '.');
    git('commit', '-qm', 'More');
  };
  const du = (...args: string[]) =>
    cli(['du', '--git', ...(args.includes('--clone') ? [] : ['--clone', home]), ...args], {
      env: { LFS_QUOTA_TOKEN: 'lfsq_x', LFS_QUOTA_URL: server.url },
    });
  const json = async (...args: string[]) => JSON.parse((await du('--json', ...args)).out);

  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), 'lfs-quota du-'));
    [stored, others] = [{}, []];
    // Two objects a page, so that pages are followed.
    server = await startServer(({ path }) => {
      const { searchParams } = new URL(path, 'http://host');
      const from = Number(searchParams.get('cursor') ?? 0);
      const all = Object.entries(stored).map(([content, sizeBytes]) => ({
        repo: 'game',
        oid: oidOf(content),
        sizeBytes,
        storedAt: null,
      }));
      const isLast = from + 2 >= all.length;
      const body = {
        objects: all.slice(from, from + 2),
        others: isLast ? others : [],
        nextCursor: isLast ? null : String(from + 2),
      };
      return { status: 200, body };
    });
    git('init', '-q', '-b', 'main', '.');
    git('config', '-f', '.lfsconfig', 'lfs.url', `${server.url}/acme/game/info/lfs`);
    commit({ 'art/wall.psd': 'wall 1', 'art/big floor.psd': 'floor', 'intro.mp4': 'intro' });
    commit({ 'art/wall.psd': 'wall 2' });
    stored = { 'wall 1': 1_000, 'wall 2': 3_000, floor: 5_000, intro: 1_000 };
  });
  afterEach(async () => {
    await server.close();
    rmSync(home, { recursive: true, force: true });
  });

  it('adds up what is stored by path: now, and in older versions', async () => {
    expect(await json()).toEqual({
      url: server.url,
      tenant: 'acme',
      repo: 'game',
      files: [
        { path: 'art/big floor.psd', bytes: 5_000, currentBytes: 5_000, objectCount: 1 },
        { path: 'art/wall.psd', bytes: 4_000, currentBytes: 3_000, objectCount: 2 },
        { path: 'intro.mp4', bytes: 1_000, currentBytes: 1_000, objectCount: 1 },
      ],
      stored: { bytes: 10_000, objectCount: 4 },
      inNoCommit: { bytes: 0, objectCount: 0 },
      others: { bytes: 0, objectCount: 0 },
      notStoredCount: 0,
    });
    expect(server.asked.map(({ path }) => path)).toEqual([
      '/v1/tenants/acme/objects?repo=game&limit=1000',
      '/v1/tenants/acme/objects?repo=game&cursor=2&limit=1000',
    ]);
  });

  it('draws and lists the paths', async () => {
    const { out, code } = await du();
    expect(code).toBe(0);
    expect(out).toContain('acme/game: 9.77 KiB in 4 objects\n');
    expect(out).toContain('┌');
    expect(out).toMatch(/^4\.88 KiB +50\.0% +4\.88 KiB +0 B +1 {2}art\/big floor\.psd$/m);
    expect(out).toMatch(/^3\.91 KiB +40\.0% +2\.93 KiB +1000 B +2 {2}art\/wall\.psd$/m);
    expect((await du('--depth', '1')).out).toMatch(/^8\.79 KiB +90\.0% +7\.81 KiB +1000 B +3 {2}art\/$/m);
    const one = (await du('--top', '1', '--depth', '9')).out;
    expect(one).toContain('… and 2 smaller paths: --top 3\n');
  });

  it('says what is in no commit, what git-lfs does not make, and what is not stored', async () => {
    stored = { floor: 5_000, 'of another clone': 500 };
    others = [{ repo: 'game', objectCount: 2, sizeBytes: 70 }];
    expect(await json()).toMatchObject({
      stored: { bytes: 5_570, objectCount: 4 },
      inNoCommit: { bytes: 500, objectCount: 1 },
      others: { bytes: 70, objectCount: 2 },
      notStoredCount: 3,
    });
    const { out } = await du();
    expect(out).toContain('Not referenced in this clone: 500 B in 1 object. ');
    expect(out).toContain(': lfs-quota gc acme game\n');
    expect(out).toContain("Keys that aren't LFS objects: 70 B in 2 objects.\n");
    expect(out).toContain('Referenced, but not stored: 3 objects. To push them: git lfs push --all origin\n');
  });

  it('knows versions of other branches, and prefers the path that an object has now', async () => {
    git('checkout', '-q', '-b', 'side');
    commit({ 'side.bin': 'side' });
    git('checkout', '-q', 'main');
    git('mv', 'intro.mp4', 'opening.mp4');
    git('commit', '-qm', 'Renamed');
    stored['side'] = 200;
    const { files } = await json();
    expect(
      files.map(({ path, currentBytes }: { path: string; currentBytes: number }) => [path, currentBytes]),
    ).toEqual([
      ['art/big floor.psd', 5_000],
      ['art/wall.psd', 3_000],
      ['opening.mp4', 1_000],
      ['side.bin', 0],
    ]);
  });

  it('sends no token to a server that only the clone names', async () => {
    const { code, err } = await cli(['du', '--git', '--clone', home], { env: { LFS_QUOTA_TOKEN: 'lfsq_x' } });
    expect(code).toBe(2);
    expect(err).toContain(`This clone uses ${server.url}, not http://127.0.0.1:8787. Log in there`);
    expect(server.asked).toEqual([]);
  });

  it('works in a bare clone, and in one without any commit', async () => {
    git('clone', '-q', '--mirror', '.', 'mirror.git');
    expect(await json('--clone', join(home, 'mirror.git'))).toMatchObject({ stored: { bytes: 10_000 } });
    git('init', '-q', 'empty');
    const args = ['--clone', join(home, 'empty'), '--tenant', 'acme', '--repo', 'game', '--url', server.url];
    expect((await json(...args)).inNoCommit).toEqual({ bytes: 10_000, objectCount: 4 });
    const { out } = await du(...args);
    expect(out).toContain('This clone has no commits with LFS files. Fetch them, or pass another clone');
    expect(out).not.toContain('lfs-quota gc');
  });

  it.each([
    [['s3://bucket'], 'Use either --git or an s3:// URL.'],
    [['--by-prefix'], "--by-prefix doesn't work with --git."],
    [['--tenant', 'acme'], 'Use both --tenant and --repo, or neither.'],
  ])('refuses %j', async (args, message) => {
    expect(await du(...args)).toMatchObject({ code: 2, err: `error: ${message}\n` });
  });

  it('says what to do in a folder that is no clone, and in one without an address', async () => {
    git('config', '-f', '.lfsconfig', '--unset', 'lfs.url');
    const { code, err } = await du();
    expect(code).toBe(1);
    expect(err).toContain('has no lfs.url.\nPass --url, --tenant and --repo');
    git('config', 'lfs.url', 'https://example.com/other.git/info/lfs');
    expect((await du()).err).toContain("isn't a repo of this server.");
    const elsewhere = mkdtempSync(join(tmpdir(), 'no clone '));
    for (const folder of [elsewhere, join(elsewhere, 'nowhere')]) {
      const err = `error: ${folder} isn't a clone.\nRun it in a clone of the repo, or pass one with --clone.\n`;
      expect(await du('--clone', folder)).toMatchObject({ code: 1, err });
      const place = ['--tenant', 'acme', '--repo', 'game'];
      expect(await du('--clone', folder, ...place)).toMatchObject({ code: 1, err });
    }
    rmSync(elsewhere, { recursive: true });
  });
});

it.each([
  [['du'], 'Use s3://BUCKET, or --git in a clone.'],
  [['du', 's3://bucket', '--tenant', 'acme'], '--tenant needs --git.'],
])('%j says what is missing', async (args, message) => {
  expect(await cli(args)).toMatchObject({ code: 2, err: `error: ${message}\n` });
});
