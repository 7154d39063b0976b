import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../../local/start.ts';
import { useTempFolders } from '../../../../support/temp-folder.ts';
import { cli } from '../../harness.ts';

/** `files put|get|list|delete`, with a server and its store. */

const tempFolder = useTempFolders();
const [tenant, adminToken] = ['acme', 'a'.repeat(32)];
let stack: EmbeddedStack;
let folder = '';
beforeEach(async () => {
  folder = tempFolder();
  stack = await startEmbeddedStack({ port: 0, dataDir: tempFolder(), createDemo: false, adminToken });
  expect(await run('tenant', 'create', tenant, '--limit', '1MB')).toMatchObject({ code: 0 });
  expect(await run('repo', 'create', tenant, 'media', '--kind', 'files')).toMatchObject({ code: 0 });
});
afterEach(() => stack.close());

const at = (...path: readonly string[]) => join(folder, ...path);
const env = () => ({ LFS_QUOTA_URL: stack.url, LFS_QUOTA_TOKEN: adminToken, NO_COLOR: '1' });
const run = (...args: readonly string[]) => cli(args, { env: env(), now: Date.now });
const files = (...args: readonly string[]) => run('files', ...args, '--tenant', tenant, '--repo', 'media');

/** Writes a file of random bytes. */
function made(name: string, sizeBytes: number): Buffer {
  const content = randomBytes(sizeBytes);
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), content);
  return content;
}

const statesIn = (out: string) =>
  Object.fromEntries(
    (JSON.parse(out) as { files: { name: string; state: string }[] }).files.map(({ name, state }) => [
      name,
      state,
    ]),
  );

describe('files', () => {
  it('of a folder are uploaded once, listed, downloaded, and deleted', async () => {
    const contents = {
      'photos/1.jpg': made('photos/1.jpg', 300_000),
      'photos/深い/2.jpg': made('photos/深い/2.jpg', 1234),
      'photos/empty': made('photos/empty', 0),
    };
    symlinkSync('1.jpg', at('photos/link'));
    const put = await files('put', at('photos'));
    expect(put).toMatchObject({ code: 0, out: 'uploaded       3 files, 294.17 KiB\n' });
    expect(put.err).toContain(`${at('photos/link')}: left out`);
    expect(await files('put', at('photos'))).toMatchObject({ out: 'already there  3 files, 294.17 KiB\n' });

    const { out: listed } = await files('list', '--page-size', '1');
    expect(listed).toMatch(/292.97 KiB {2}\S.* +photos\/1\.jpg\n.*photos\/empty\n.*photos\/深い\/2\.jpg\n/);
    expect(listed).toContain('Total: 3 files, 294.17 KiB.\n');
    expect(await files('list', '--prefix', 'photos/深')).toMatchObject({
      out: expect.stringContaining('1 file, 1.21 KiB'),
    });

    const got = await files('get', ...Object.keys(contents), '--output', at('got'));
    expect(got).toMatchObject({ code: 0, out: 'downloaded     3 files, 294.17 KiB\n' });
    for (const [name, content] of Object.entries(contents))
      expect(readFileSync(at('got', name)).equals(content)).toBe(true);
    expect(readdirSync(at('got/photos')).sort()).toEqual(['1.jpg', 'empty', '深い']);

    const dryRun = await files('delete', '--prefix', 'photos/', '--dry-run');
    expect(dryRun.out).toBe(`${tenant}/media: 3 files, 294.17 KiB.\n`);
    expect(await files('delete', '--prefix', 'photos/', '--yes')).toMatchObject({
      code: 0,
      out: `${dryRun.out}Deleted.\n`,
    });
    await expect
      .poll(async () => (await files('list')).out, { timeout: 20_000 })
      .toBe('Nothing is stored yet.\n');
    const late = await files('get', 'photos/1.jpg', 'none', '--output', at('late'));
    expect(late).toMatchObject({
      code: 3,
      err: expect.stringContaining('photos/1.jpg: deleted\nnone: not found\n'),
    });
    const again = await files('put', at('photos/1.jpg'), '--prefix', 'photos/');
    expect(again.err).toContain('photos/1.jpg is taken for about a day');
  });

  it('that exist here are kept, unless that is forced', async () => {
    const content = made('a.txt', 10);
    await files('put', at('a.txt'));
    writeFileSync(at('a.txt'), 'mine');
    expect(await files('get', 'a.txt', '--output', folder)).toMatchObject({
      code: 0,
      out: 'already here   1 file, 0 B\n',
    });
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('mine');
    expect(await files('get', '--prefix', 'a', '--force', '--output', folder)).toMatchObject({
      out: 'downloaded     1 file, 10 B\n',
    });
    expect(readFileSync(at('a.txt')).equals(content)).toBe(true);
    expect(readdirSync(folder)).toEqual(['a.txt']);
  });

  it('beyond the limit are refused with figures, and those behind them are not tried', async () => {
    for (const [name, bytes] of [
      ['a', 700_000],
      ['b', 700_000],
      ['c', 1000],
    ] as const)
      made(name, bytes);
    for (let index = 0; index < 100; index += 1) made(`d/${String(index).padStart(3, '0')}`, 1);
    const { code, out, err } = await files('put', at('a'), at('b'), at('c'), at('d'), '--json');
    const states = statesIn(out);
    expect(states).toMatchObject({ a: 'uploaded', b: 'over-limit', c: 'uploaded', 'd/000': 'uploaded' });
    expect(Object.values(states).filter((state) => state === 'untried')).toHaveLength(3);
    expect(code).toBe(5);
    expect(err).toMatch(
      /^error: 1 file failed\.\nStorage limit reached: acme uses .* of 976\.56 KiB \(.* uploading\)\. .* KiB short\.\n/m,
    );
    await run('tenant', 'limit', tenant, '2MB');
    expect(await files('put', at('a'), at('b'), at('c'), at('d'))).toMatchObject({
      code: 0,
      out: 'uploaded       4 files, 683.6 KiB\nalready there  99 files, 684.67 KiB\n',
    });
  });

  it('with the name of another file are refused, and that one stays', async () => {
    const content = made('a', 10);
    made('b', 10);
    await files('put', at('a'));
    const { code, err } = await files('put', at('b'), '--as', 'a');
    expect(code).toBe(5);
    expect(err).toContain(`${at('b')}: a file of 10 B is a already, not known to be the same\n`);
    await files('get', 'a', '--output', at('got'));
    expect(readFileSync(at('got/a')).equals(content)).toBe(true);
  });

  it('stay away from a folder of their name, and from what would be their folder, and keep no other from its place', async () => {
    made('a', 10);
    for (const name of ['x', 'x/y', 'z']) await files('put', at('a'), '--as', name);
    made('first/x/y', 1);
    made('second/x', 1);
    const first = await files('get', '--prefix', '', '--output', at('first'), '--json');
    expect(first).toMatchObject({
      code: 1,
      err: expect.stringContaining(`x: ${at('first/x')} is a folder here`),
    });
    expect(statesIn(first.out)).toEqual({ x: 'failed', 'x/y': 'exists', z: 'downloaded' });
    const second = await files('get', '--prefix', '', '--output', at('second'), '--json');
    expect(second).toMatchObject({
      code: 1,
      err: expect.stringContaining(`${at('second/x')} can't be a folder`),
    });
    expect(statesIn(second.out)).toEqual({ x: 'exists', 'x/y': 'failed', z: 'downloaded' });
    expect(readdirSync(at('first')).toSorted()).toEqual(['x', 'z']);
  });

  it('of an upload that was stopped are continued', async () => {
    for (let index = 0; index < 40; index += 1) made(`many/${index}`, 20_000);
    let interrupt = () => {};
    let requests = 0;
    const args = ['files', 'put', at('many'), '--tenant', tenant, '--repo', 'media'];
    // The first time of the clock that progress asks for comes with the first bytes.
    const now = () => {
      requests += 1;
      if (requests > 20) interrupt();
      return Date.now();
    };
    const onInterrupt = (listener: () => void) => {
      interrupt = listener;
      return () => {};
    };
    const stopped = await cli(args, { env: env(), now, onInterrupt });
    expect(stopped).toMatchObject({
      code: 130,
      err: expect.stringContaining('continues with what is missing'),
    });
    const { code, out } = await files('put', at('many'));
    expect(code).toBe(0);
    const [, uploaded, there] =
      /^uploaded +(\d+) files.*\nalready there +(\d+) files/.exec(
        out.split('\n').toSorted().reverse().join('\n'),
      ) ?? [];
    expect(Number(uploaded) + Number(there)).toBe(40);
  });

  it('need names, a repo of their kind, and a token that may write', async () => {
    made('_a', 1);
    made('b/x', 1);
    made('c/x', 1);
    expect(await files('put', at('_a'))).toMatchObject({
      code: 2,
      err: expect.stringContaining('start with _'),
    });
    expect(await files('put', at('b/x'), at('c/x'))).toMatchObject({
      code: 2,
      err: expect.stringContaining('would both be x'),
    });
    expect(await files('put', at('b'), '--as', 'y')).toMatchObject({ code: 2 });
    expect(await files('put', at('none'))).toMatchObject({
      code: 1,
      err: expect.stringContaining('(ENOENT)'),
    });
    expect(await files('put', '/dev/null')).toMatchObject({
      code: 2,
      err: expect.stringContaining('/dev/null is neither a file nor a folder'),
    });
    expect(await files('get', '../x')).toMatchObject({ code: 2 });
    expect(await files('get')).toMatchObject({ code: 2 });
    await run('repo', 'create', tenant, 'game');
    const lfs = await run('files', 'put', at('b/x'), '--tenant', tenant, '--repo', 'game');
    expect(lfs).toMatchObject({ code: 5, err: expect.stringContaining('is a repo for Git LFS') });
    const { out } = await run('token', 'create', tenant, '--scope', 'read', '--json');
    const { token } = JSON.parse(out) as { token: string };
    expect(await files('put', at('b/x'), '--token', token)).toMatchObject({ code: 4 });
  });
});
