import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isOid } from '../../../../lambda/core/rules/names.ts';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../local/start.ts';
import { push } from '../../../support/lfs-client.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const main = fileURLToPath(new URL('../../../../cli/main.ts', import.meta.url));
const tempFolder = useTempFolders();
const objectCount = 40;
/** Downloads of the first call that are answered. */
const answeredMax = 25;

/** Notes each download, and answers none after so many. */
const noteDownloads = `
import { appendFileSync } from 'node:fs';
const { fetch } = globalThis;
let left = Number(process.env.ANSWERED_MAX);
globalThis.fetch = async (url, options) => {
  const [oid] = /[0-9a-f]{64}/.exec(String(url)) ?? [];
  if (oid !== undefined) {
    appendFileSync(process.env.DOWNLOADS, oid + '\\n');
    left -= 1;
    if (left < 0) await new Promise(() => setInterval(() => {}, 1000));
  }
  return fetch(url, options);
};
`;

let stack: EmbeddedStack | undefined;
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await stack?.close();
  stack = undefined;
});

function start(args: readonly string[], env: Record<string, string>) {
  const child = spawn(process.execPath, ['--import', 'tsx', '--import', env['HOOK'] ?? '', main, ...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const output = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    output.out += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    output.err += String(chunk);
  });
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, ...output }));
  return { child, output, ended };
}

describe('export local', () => {
  it('killed in the middle goes on, and fetches nothing twice that was complete', async () => {
    const folder = tempFolder();
    stack = await startEmbeddedStack({ port: 0, dataDir: join(folder, 'data') });
    if (stack.demo?.kind !== 'created') throw new Error('The demo was not created.');
    const { token } = stack.demo;
    const contents = new Map<string, string>();
    for (let index = 0; index < objectCount; index += 1) {
      const content = randomBytes(500 + 700 * index).toString('hex');
      const repo = index % 2 === 0 ? 'art' : 'game';
      contents.set(await push({ url: stack.url, token, repo }, content), content);
    }
    const hook = join(folder, 'hook.mjs');
    writeFileSync(hook, noteDownloads);
    const archive = join(folder, 'all.tar');
    const args = ['export', 'local', 'demo', '--output', archive];
    const envFor = (name: string, answered: number) => ({
      LFS_QUOTA_URL: stack?.url ?? '',
      LFS_QUOTA_TOKEN: token,
      HOOK: hook,
      DOWNLOADS: join(folder, name),
      ANSWERED_MAX: String(answered),
    });
    const downloads = (name: string) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n');

    const first = start(args, envFor('first', answeredMax));
    const oidsThere = () => {
      const parts = readdirSync(folder).find((name) => name.endsWith('.parts'));
      return parts === undefined ? [] : readdirSync(join(folder, parts)).filter((name) => isOid(name));
    };
    await vi.waitFor(() => expect(oidsThere(), first.output.err).toHaveLength(answeredMax), {
      timeout: 120_000,
      interval: 500,
    });
    const refused = await start(args, envFor('refused', 0)).ended;
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain(`is in use by process ${first.child.pid}, which exports to it`);
    first.child.kill('SIGKILL');
    await first.ended;
    expect(existsSync(archive)).toBe(false);

    const complete = new Set(oidsThere());
    expect(complete.size).toBe(answeredMax);
    const second = await start(args, envFor('second', Number.MAX_SAFE_INTEGER)).ended;
    expect(second, second.err).toMatchObject({ code: 0 });
    expect(second.err).toContain(`${answeredMax} of ${objectCount} objects are downloaded`);
    expect(downloads('second').sort()).toEqual(
      [...contents.keys()].filter((oid) => !complete.has(oid)).sort(),
    );

    const extracted = join(folder, 'extracted');
    mkdirSync(extracted);
    execFileSync('tar', ['-x', '-C', extracted, '-f', archive]);
    for (const oid of contents.keys()) {
      const bytes = readFileSync(join(extracted, 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4), oid));
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(oid);
    }
    const manifest = JSON.parse(readFileSync(join(extracted, 'lfs/export/manifest-1.json'), 'utf8'));
    expect(manifest).toMatchObject({ path: 'demo', objects: objectCount, missing: [] });
  });

  it('with the admin token says which one it needs', async () => {
    const folder = tempFolder();
    stack = await startEmbeddedStack({ port: 0, dataDir: join(folder, 'data') });
    const hook = join(folder, 'hook.mjs');
    writeFileSync(hook, '');
    const env = { LFS_QUOTA_URL: stack.url, LFS_QUOTA_TOKEN: stack.adminToken, HOOK: hook };
    const { code, err } = await start(['export', 'local', 'demo', '--output', join(folder, 'a.tar')], env)
      .ended;
    expect(code).toBe(4);
    expect(err).toMatch(
      /The token was rejected for downloads \(40[13]\)\.\n.*token create demo --scope read/,
    );
  });
});
