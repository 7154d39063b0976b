import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { fileText, writeBackup } from '../../local/backup/backup-file.ts';
import { backupOf, restoreBackup } from '../../local/data/backups.ts';
import { type EmbeddedStack, startEmbeddedStack } from '../../local/start.ts';
import { commandLine, demoTokenIn, useChildStacks } from '../support/child-stack.ts';
import { pull, push } from '../support/lfs-client.ts';
import { useTempFolders } from '../support/temp-folder.ts';

const tempFolder = useTempFolders();
const spawnStack = useChildStacks();
const adminToken = 'admin-token-of-the-backup-tests-0123456789';

const started: EmbeddedStack[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((stack) => stack.close()));
});

async function start(dataDir: string): Promise<EmbeddedStack> {
  const queueTiming = { quietMs: 20, quietMaxMs: 50, spacingMs: 10 };
  const stack = await startEmbeddedStack({ port: 0, dataDir, queueTiming, adminToken, createDemo: false });
  started.push(stack);
  return stack;
}

async function ask(stack: EmbeddedStack, path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
  const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers };
  const answer = await fetch(`${stack.url}/v1/tenants${path}`, init);
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

async function place(stack: EmbeddedStack, tenant: string) {
  const { token } = await ask(stack, `/${tenant}/tokens`, { scope: 'write' });
  return { url: stack.url, token: String(token) };
}

const lfsQuota = (args: readonly string[], env: Record<string, string> = {}) =>
  promisify(execFile)(process.execPath, ['--import', 'tsx', commandLine, ...args], {
    env: { PATH: process.env['PATH'], ...env },
  });

const counted = (stack: EmbeddedStack) =>
  vi.waitFor(
    async () => {
      const tenant = await ask(stack, '/demo');
      expect(tenant['uploadsFrom']).toBe(undefined);
      return tenant['usage'] as { storedBytes: number; objectCount: number; committedBytes: number };
    },
    { timeout: 30_000, interval: 50 },
  );

const noOutput = async () => {};

describe('a backup', () => {
  it('of a server under load has all that was answered before, and is whole although the server is killed', {
    timeout: 120_000,
  }, async () => {
    const folder = tempFolder();
    const [data, file] = [join(folder, 'data'), join(folder, 'table.jsonl')];
    const child = spawnStack(['--port', '0', '--data', data]);
    const from = { url: await child.ready(), token: demoTokenIn(data) };
    const [asked, answered] = [new Set<string>(), new Map<string, string>()];
    let isRunning = true;
    const client = async (id: number) => {
      for (let index = 0; isRunning; index += 1) {
        const content = `${id} ${index}`.padEnd(100);
        asked.add(content);
        await push(from, content).then(
          (oid) => answered.set(content, oid),
          () => undefined,
        );
      }
    };
    const load = Array.from({ length: 8 }, (_, id) => client(id));
    await vi.waitFor(() => expect(answered.size).toBeGreaterThan(50), { timeout: 30_000 });
    const before = answered.size;
    const items = await writeBackup(file, backupOf(data), noOutput);
    expect(items).toBeGreaterThan(before);
    // One that is cut by the kill leaves no file.
    const cut = writeBackup(`${file}.cut`, backupOf(data), noOutput).catch((error: Error) => error);
    child.process.kill('SIGKILL');
    await child.ended();
    isRunning = false;
    await Promise.all(load);
    expect(existsSync(`${file}.cut`)).toBe(typeof (await cut) === 'number');
    expect(readdirSync(data)).toContain('backup.sock');
    // Without a server the command reads the folder itself, whatever the killed one left.
    await lfsQuota(['table', 'backup', '--data', data, `${file}.after`]);

    const restored = join(folder, 'restored');
    await lfsQuota(['table', 'restore', '--data', restored, file, '--uploads-from', 'now']);
    cpSync(join(data, 'store'), join(restored, 'store'), { recursive: true });
    const stack = await start(restored);
    const usage = await counted(stack);
    expect(usage.storedBytes).toBe(usage.objectCount * 100);
    expect(usage.objectCount).toBeGreaterThanOrEqual(answered.size);
    expect(usage.objectCount).toBeLessThanOrEqual(asked.size);
    // The token of before, and the objects that came after the backup.
    const to = { url: stack.url, token: from.token };
    for (const [content, oid] of answered) expect(await pull(to, { oid, size: 100 })).toBe(content);
    await push(to, 'more'.padEnd(100));
  });

  it('is refused to be restored where anything is, or if it is cut; then nothing is there', async () => {
    const folder = tempFolder();
    const [data, file] = [join(folder, 'data'), join(folder, 'table.jsonl')];
    const stack = await start(data);
    await ask(stack, '', { tenant: 'demo' });
    await writeBackup(file, backupOf(data), noOutput);
    const hold = { nowMs: Date.now(), uploadsFromMs: Date.now() };
    await expect(restoreBackup(data, fileText(file), hold)).rejects.toThrow("isn't empty: it has");
    const cut = join(folder, 'cut.jsonl');
    writeFileSync(cut, readFileSync(file, 'utf8').slice(0, -10));
    const target = join(folder, 'target');
    await expect(restoreBackup(target, fileText(cut), hold)).rejects.toThrow('cut or damaged');
    // What it left is no data folder, and the next try begins anew.
    await restoreBackup(target, fileText(file), hold);
    const again = await start(target);
    expect((await counted(again)).objectCount).toBe(0);
  });

  it('ends when nobody reads it, with the server', async () => {
    const data = tempFolder();
    const stack = await start(data);
    await ask(stack, '', { tenant: 'demo' });
    const idle = createConnection(join(data, 'backup.sock'));
    await once(idle, 'connect');
    await stack.close();
    idle.resume();
    await once(idle, 'close');
    expect(existsSync(join(data, 'backup.sock'))).toBe(false);
  });
});

it('no URL of before the backup puts anything into the store of a restored server', async () => {
  const folder = tempFolder();
  const data = join(folder, 'data');
  const stack = await start(data);
  await ask(stack, '', { tenant: 'demo' });
  await writeBackup(join(folder, 'table.jsonl'), backupOf(data), noOutput);
  const body = { operation: 'upload', transfers: ['basic'], objects: [{ oid: 'a'.repeat(64), size: 1 }] };
  const { url, token } = await place(stack, 'demo');
  const mediaType = 'application/vnd.git-lfs+json';
  const answer = await fetch(`${url}/demo/art.git/info/lfs/objects/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, accept: mediaType, 'content-type': mediaType },
    body: JSON.stringify(body),
  });
  const { objects } = (await answer.json()) as {
    objects: { actions: { upload: { href: string; header: Record<string, string> } } }[];
  };
  const { href, header } = objects[0]?.actions.upload ?? { href: '', header: {} };
  await stack.close();
  const hold = { nowMs: Date.now(), uploadsFromMs: Date.now() };
  const target = await restoreBackup(join(folder, 'target'), fileText(join(folder, 'table.jsonl')), hold);
  const again = await start(target);
  const late = new URL(href);
  late.port = new URL(again.url).port;
  const put = await fetch(late, { method: 'PUT', headers: header, body: 'x' });
  expect(put.status).toBe(403);
});

describe('a damaged table', () => {
  /** Of a server that has stopped, with what it stored in a file of LevelDB. */
  async function damagedFolder(damage: (bytes: Buffer) => Buffer): Promise<string> {
    const data = tempFolder();
    for (let starts = 0; starts < 2; starts += 1) {
      const stack = await start(data);
      if (starts === 0) await ask(stack, '', { tenant: 'demo', limitBytes: 1_000 });
      await stack.close();
    }
    const files = readdirSync(join(data, 'table')).filter((name) => name.endsWith('.ldb'));
    expect(files).not.toEqual([]);
    for (const file of files.map((name) => join(data, 'table', name)))
      writeFileSync(file, damage(readFileSync(file)));
    return data;
  }

  it.each([
    ['overwritten', 'Corruption: bad block type', (bytes: Buffer) => bytes.fill(0x55, 0, bytes.length - 48)],
    ['zeros', 'Corruption: not an sstable', (bytes: Buffer) => bytes.fill(0)],
    ['cut', 'IO error: ', (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1)],
  ])('that is %s ends a start and a backup with what to do', async (_, reason, damage) => {
    const data = await damagedFolder(damage);
    const said = new RegExp(
      `/table can't be opened \\(${reason}.*\\)\\. Restore the data folder from a backup, or choose another folder \\(--data\\)\\.$`,
    );
    const refusal = { name: 'StartupError', message: expect.stringMatching(said) };
    await expect(start(data)).rejects.toMatchObject(refusal);
    const saved = writeBackup(join(tempFolder(), 'table.jsonl'), backupOf(data), noOutput);
    await expect(saved).rejects.toMatchObject(refusal);
  });
});

it('a lost table is rebuilt from the bucket by one command, exactly', { timeout: 60_000 }, async () => {
  const data = join(tempFolder(), 'data');
  const stack = await start(data);
  for (const tenant of ['demo', 'other']) await ask(stack, '', { tenant });
  const oid = await push(await place(stack, 'demo'), 'one'.padEnd(100));
  await push({ ...(await place(stack, 'demo')), repo: 'film' }, 'two'.padEnd(150));
  await stack.close();
  rmSync(join(data, 'table'), { recursive: true });

  const again = await start(data);
  const env = { LFS_QUOTA_URL: again.url, LFS_QUOTA_TOKEN: adminToken };
  await expect(lfsQuota(['table', 'rebuild', '--limit', '1KiB'], env)).rejects.toThrow('Pass --yes');
  const { stdout, stderr } = await lfsQuota(
    ['table', 'rebuild', '--limit', '1KiB', '--uploads-from', 'now', '--yes'],
    env,
  );
  expect(stderr).toContain('1 folders without a tenant: demo\n');
  expect(stderr).toContain('You lose repo limits, tokens,');
  expect(stdout).toContain('1 tenants: 2 objects, 250 B.\n');
  expect(await ask(again, '/demo')).toMatchObject({
    limitBytes: 1024,
    usage: { storedBytes: 250, objectCount: 2, committedBytes: 250 },
  });
  await counted(again);
  const to = await place(again, 'demo');
  expect(await pull(to, { oid, size: 100 })).toContain('one');
  await push(to, 'three'.padEnd(774));
  await expect(push(to, 'four')).rejects.toThrow();
  const { stdout: none } = await lfsQuota(['table', 'rebuild', '--limit', '1KiB', '--yes'], env);
  expect(none).toBe('Every folder of the bucket has its tenant.\n');
});
