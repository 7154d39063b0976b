import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { npm, npmTimeoutMs, offline, packInto } from '../../support/pack.ts';
import { plainEnvironment, run } from '../../support/process.ts';
import { credentials, StoreFixture } from '../../support/store-fixture.ts';

const timeoutMs = npmTimeoutMs;
const root = path.join(import.meta.dirname, '../../..');
const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));

let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  // Real folders have spaces in their names.
  folder = await mkdtemp(path.join(tmpdir(), 'lfs-quota package-'));
  env = { ...plainEnvironment(), ...offline(folder), HOME: folder };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the packed package, installed without a registry', { timeout: timeoutMs }, () => {
  let installed: string;
  let paths: string[];
  let sbom: unknown;
  let elsewhere: string;
  let onlyNode: string;

  beforeAll(async () => {
    elsewhere = path.join(folder, 'else where');
    onlyNode = path.join(folder, 'only-node');
    for (const made of [elsewhere, onlyNode]) await mkdir(made);
    await symlink(process.execPath, path.join(onlyNode, 'node'));
    const made = await packInto(folder, env);
    paths = made.paths;
    sbom = JSON.parse(await readFile(path.join(made.copy, 'dist', 'sbom.json'), 'utf8'));
    await npm({ cwd: folder, env }, 'install', '--global', '--prefix', prefix(), made.file);
    installed = path.join(prefix(), 'bin', 'lfs-quota');
  }, timeoutMs);
  const prefix = () => path.join(folder, 'prefix');
  const inPackage = (...parts: string[]) => path.join(prefix(), 'lib', 'node_modules', 'lfs-quota', ...parts);

  it('has what it runs, and nothing else', async () => {
    const parts = [...paths].sort().filter((file) => !/^dist\/[\w-]+-[A-Z0-9]{8}\.js$/.test(file));
    expect(parts).toEqual([
      'LICENSE',
      'README.md',
      'bin/lfs-quota.js',
      'dist/NOTICE',
      'dist/console.json',
      'dist/hash-thread.js',
      'dist/lfs-quota.js',
      'dist/prebuilds/darwin-x64+arm64/classic-level.node',
      'dist/prebuilds/linux-arm/classic-level.armv6.node',
      'dist/prebuilds/linux-arm/classic-level.armv7.node',
      'dist/prebuilds/linux-arm64/classic-level.armv8.node',
      'dist/prebuilds/linux-x64/classic-level.musl.node',
      'dist/prebuilds/linux-x64/classic-level.node',
      'dist/prebuilds/win32-x64/classic-level.node',
      'package.json',
    ]);
    const { dependencies } = JSON.parse(await readFile(inPackage('package.json'), 'utf8'));
    expect(dependencies).toBeUndefined();
  });

  it('names all packages that it has parts of, with their licences', async () => {
    const { license, id } = { license: z.object({ id: z.string() }), id: z.string() };
    const component = z.object({ 'bom-ref': id, licenses: z.tuple([z.object({ license })]) });
    const { components } = z.object({ components: z.array(component) }).parse(sbom);
    const names = components.map((each) => each['bom-ref'].replace(/@[^@]+$/, ''));
    expect(names).toEqual(
      expect.arrayContaining([
        '@aws-sdk/client-s3',
        'classic-level',
        'commander',
        'hash-wasm',
        'preact',
        'zod',
      ]),
    );
    expect(names).not.toContain('esbuild');
    const notice = await readFile(inPackage('dist', 'NOTICE'), 'utf8');
    for (const { 'bom-ref': ref, licenses } of components) {
      const [{ license: found }] = licenses;
      expect(notice).toContain(`${ref.replace(/@(?=[^@]+$)/, ' ')} (${found.id})`);
    }
    for (const other of ['SIL OPEN FONT LICENSE', 'The LevelDB Authors', 'Google Inc.'])
      expect(notice).toContain(other);
  });

  const lfsQuota = (...args: string[]) =>
    run(installed, args, { cwd: elsewhere, env: { PATH: onlyNode }, timeoutMs });

  it('prints its version and its help', async () => {
    expect(await lfsQuota('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' });
    const help = await lfsQuota('usage', '--help');
    expect(help).toMatchObject({ code: 0, err: '' });
    expect(help.out).toContain('Usage: lfs-quota usage');
  });

  it('exits with 6 when nothing answers, and with 2 when the command line is wrong', async () => {
    const failed = await lfsQuota('usage', 'acme', '--url', 'http://127.0.0.1:1', '--token', 'x');
    expect(failed).toMatchObject({ code: 6, out: '' });
    expect(failed.err).toContain('error: ');
    const wrong = await lfsQuota('token', 'revoke', 'acme', '?');
    expect(wrong).toMatchObject({ code: 2, out: '' });
    expect(wrong.err).toContain('lfs-quota token list TENANT');
  });

  it('answers git-lfs, and says who starts what it starts', async () => {
    const agent = (line: string) => {
      const script = `echo '${line}' | "${installed}" agent`;
      return run('/bin/sh', ['-c', script], { cwd: elsewhere, env: { PATH: onlyNode }, timeoutMs });
    };
    const init = '{"event":"init","operation":"upload","remote":"origin","concurrent":false}';
    expect(await agent(init)).toEqual({ code: 0, out: '{}\n', err: '' });
    expect(await agent('hello')).toEqual({
      code: 1,
      out: '',
      err: 'error: Only git-lfs can start this command.\nRun this in your clone, then push: lfs-quota connect TENANT REPO\n',
    });
  });

  it('has all of the SDK in it, and none of its warnings', async () => {
    const endpoint = 'http://127.0.0.1:1';
    const keys = { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' };
    const args = ['du', 's3://bucket', '--endpoint', endpoint];
    const failed = await run(installed, args, {
      cwd: elsewhere,
      env: { PATH: onlyNode, ...keys },
      timeoutMs,
    });
    expect(failed).toMatchObject({ code: 6, out: '' });
    expect(failed.err).toMatch(/^error: Can't reach http:\/\/127\.0\.0\.1:1 .*\n.*\n$/);
  });

  it('tries a store', async () => {
    const store = await StoreFixture.start();
    const { accessKeyId, secretAccessKey } = credentials;
    const keys = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    const ended = await run(installed, ['doctor', 's3://objects', '--endpoint', store.url], {
      cwd: elsewhere,
      env: { PATH: onlyNode, ...keys },
      timeoutMs,
    });
    await store.stop();
    expect(ended).toMatchObject({ code: 0, err: '' });
    expect(ended.out).toMatch(/\n56 checks: 53 pass, 3 skipped\.\n$/);
  });

  it('serves the API and the console, with Node alone', async () => {
    const data = path.join(folder, 'data');
    const args = ['serve', '--listen', '127.0.0.1:0', '--data', data, '--public-url', 'http://127.0.0.1:1'];
    const token = 'admin-token-of-the-package-test-0123456789';
    const env = { PATH: onlyNode, LFS_QUOTA_ADMIN_TOKEN: token };
    const server = spawn(installed, args, { cwd: elsewhere, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(server, 'close');
    try {
      let shown = '';
      for (const stream of [server.stdout, server.stderr])
        stream.on('data', (text) => {
          shown += text;
        });
      await Promise.race([expect.poll(() => shown).toContain('ready '), ended]);
      const url = `http://127.0.0.1:${/^listening on port (\d+)$/m.exec(shown)?.[1]}`;
      expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'ok', version, commit: null });
      // The table is the package's native part.
      const created = await fetch(`${url}/v1/tenants`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ tenant: 'acme' }),
      });
      expect(created.status, shown).toBe(201);
      const page = await (await fetch(url)).text();
      const [, script] = /<script type="module" src="([^"]+)"/.exec(page) ?? [];
      const loaded = await fetch(url + script);
      expect([loaded.status, loaded.headers.get('content-type')]).toEqual([
        200,
        'text/javascript; charset=utf-8',
      ]);
    } finally {
      server.kill('SIGTERM');
    }
    expect(await ended).toEqual([0, null]);
  });

  it.runIf(existsSync('/dev/full'))('says that its output could not be written', async () => {
    const script = `"${installed}" --help >/dev/full`;
    const failed = await run('/bin/sh', ['-c', script], {
      cwd: elsewhere,
      env: { PATH: onlyNode },
      timeoutMs,
    });
    expect(failed.code).toBe(1);
    expect(failed.err).toMatch(/^error: The output could not be written: .*ENOSPC.*\n$/);
  });

  it('says what to do when it is damaged', async () => {
    const damaged = path.join(folder, 'damaged');
    await cp(inPackage(), damaged, { recursive: true });
    const bundle = path.join(damaged, 'dist', 'lfs-quota.js');
    const start = () =>
      run(path.join(damaged, 'bin', 'lfs-quota.js'), ['--help'], {
        cwd: elsewhere,
        env: { PATH: onlyNode },
        timeoutMs,
      });
    await writeFile(bundle, 'import {');
    const broken = await start();
    await rm(bundle);
    const missing = await start();
    for (const ended of [broken, missing]) {
      expect(ended).toMatchObject({ code: 1, out: '' });
      expect(ended.err).toMatch(/^error: .*\n.* Install lfs-quota again\.\n$/);
    }
  });
});

it('what npx runs from a file calls itself so that it can be pasted', async () => {
  const asNpx = { ...env, npm_command: 'exec', npm_config_package: './lfs-quota 1.tgz' };
  const ended = await run(process.execPath, [path.join(root, 'bin/lfs-quota.js'), 'logout', '--help'], {
    cwd: root,
    env: asNpx,
    timeoutMs,
  });
  expect(ended.out).toContain("Usage: npx --package './lfs-quota 1.tgz' lfs-quota logout");
});

describe('the command line of a checkout', { timeout: timeoutMs }, () => {
  it.each(['.', 'cli/subjects/exports'])('is found by npx in %s', async (below) => {
    const ended = await run('npx', ['lfs-quota', '--version'], {
      cwd: path.join(root, below),
      env,
      timeoutMs,
    });
    expect(ended).toMatchObject({ code: 0, out: `${version}\n` });
    const wrong = await run('npx', ['lfs-quota', 'token', 'revoke', 'acme', '?', '--token', 'x'], {
      cwd: path.join(root, below),
      env,
      timeoutMs,
    });
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain(': npx lfs-quota token list TENANT\n');
  });

  it('asks for `npm ci` when its packages are missing', async () => {
    const checkout = path.join(folder, 'checkout');
    for (const part of ['bin/lfs-quota.js', 'cli', 'package.json'])
      await cp(path.join(root, part), path.join(checkout, part), { recursive: true });
    const script = path.join(checkout, 'bin', 'lfs-quota.js');
    const ended = await run(process.execPath, [script, '--version'], { cwd: folder, env: {}, timeoutMs });
    expect(ended).toMatchObject({ code: 1, out: '' });
    expect(ended.err).toContain(`Run \`npm ci\` in ${checkout}`);
  });

  it('says which version of Node it needs', async () => {
    const old = path.join(folder, 'needs-more');
    await cp(path.join(root, 'bin/lfs-quota.js'), path.join(old, 'bin/lfs-quota.js'));
    await writeFile(path.join(old, 'package.json'), '{"type":"module","engines":{"node":">=1000.1"}}');
    const script = path.join(old, 'bin', 'lfs-quota.js');
    const ended = await run(process.execPath, [script], { cwd: folder, env: {}, timeoutMs });
    expect(ended).toMatchObject({ code: 1, out: '' });
    expect(ended.err).toContain('lfs-quota needs >=1000.1');
  });
});
