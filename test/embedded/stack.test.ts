import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openDatabase } from '../../local/data/database.ts';
import { type EmbeddedStack, startEmbeddedStack } from '../../local/start.ts';
import { pull, push, subscription } from '../support/lfs-client.ts';
import { recordingLog } from '../support/recording-log.ts';
import { useTempFolders } from '../support/temp-folder.ts';

const tempFolder = useTempFolders();
const quick = { quietMs: 20, quietMaxMs: 50, spacingMs: 10 };

const started: EmbeddedStack[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((stack) => stack.close()));
});

async function start(dataDir: string, more: Partial<Parameters<typeof startEmbeddedStack>[0]> = {}) {
  const stack = await startEmbeddedStack({ port: 0, dataDir, queueTiming: quick, ...more });
  started.push(stack);
  return stack;
}

function demoToken(stack: EmbeddedStack): string {
  if (stack.demo?.kind !== 'created') throw new Error('The demo was not created.');
  return stack.demo.token;
}

describe('the embedded stack', () => {
  it('listens on loopback', async () => {
    const stack = await start(tempFolder());
    const health = await fetch(`${stack.url}/health`);
    expect(health.status).toBe(200);
    expect(stack.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(stack.storeUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it('creates the tenant demo at the first start, with its token in a file for git', async () => {
    const dataDir = tempFolder();
    const stack = await start(dataDir);
    const token = demoToken(stack);
    expect(await subscription({ url: stack.url, token })).toMatchObject({
      limitBytes: 1024 ** 3,
      usage: { storedBytes: 0, objectCount: 0 },
    });
    const file = stack.demo?.credentialFile ?? '';
    const port = new URL(stack.url).port;
    expect(readFileSync(file, 'utf8')).toBe(`http://any:${token}@127.0.0.1:${port}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('creates no tenant if none is wanted', async () => {
    const stack = await start(tempFolder(), { createDemo: false });
    const headers = { authorization: `Bearer ${stack.adminToken}` };
    const tenants = await fetch(`${stack.url}/v1/tenants`, { headers });
    expect(tenants.status).toBe(200);
    expect(await tenants.text()).not.toContain('demo');
  });

  it('accepts a push, counts it, and continues after a restart', async () => {
    const dataDir = tempFolder();
    const content = 'some large file';
    const size = Buffer.byteLength(content);
    const first = await start(dataDir);
    const token = demoToken(first);
    const oid = await push({ url: first.url, token }, content);
    await vi.waitFor(
      async () =>
        expect((await subscription({ url: first.url, token })).usage).toMatchObject({ storedBytes: size }),
      { timeout: 120_000 },
    );
    await first.close();

    const second = await start(dataDir);
    expect(second).toMatchObject({
      adminToken: first.adminToken,
      adminTokenOrigin: 'kept',
      demo: { kind: 'kept' },
    });
    const place = { url: second.url, token };
    expect((await subscription(place)).usage).toMatchObject({ storedBytes: size, objectCount: 1 });
    expect(await pull(place, { oid, size })).toBe(content);
    // git finds the token for the port of this start.
    const kept = readFileSync(second.demo?.credentialFile ?? '', 'utf8');
    expect(kept).toBe(`http://any:${token}@${new URL(second.url).host}\n`);
  });

  it('counts after a restart what was not counted before', async () => {
    const dataDir = tempFolder();
    const slow = { quietMs: 60_000, quietMaxMs: 60_000, spacingMs: 60_000 };
    const first = await start(dataDir, { queueTiming: slow });
    const token = demoToken(first);
    await push({ url: first.url, token }, 'not counted yet');
    await first.close();
    const second = await start(dataDir);
    await vi.waitFor(
      async () =>
        expect((await subscription({ url: second.url, token })).usage).toMatchObject({ objectCount: 1 }),
      { timeout: 120_000 },
    );
  });

  it('logs no secret', async () => {
    const { log, entries } = recordingLog();
    const stack = await start(tempFolder(), { log });
    const token = demoToken(stack);
    await push({ url: stack.url, token }, 'content');
    await vi.waitFor(() => expect(entries.some(({ message }) => message === 'reconciled')).toBe(true), {
      timeout: 120_000,
    });
    const text = JSON.stringify(entries);
    for (const secret of [token, stack.adminToken, 'Signature']) expect(text).not.toContain(secret);
    expect(entries.filter(({ level }) => level !== 'info')).toEqual([]);
  });
});

describe('a data folder', () => {
  it('whose table another process has is refused, and not touched, although its lock looks stale', async () => {
    const dataDir = tempFolder();
    await (await start(dataDir)).close();
    const theirs = await openDatabase(join(dataDir, 'table'));
    const upload = join(dataDir, 'store', 'uploads', 'theirs');
    writeFileSync(upload, '');
    await expect(start(dataDir)).rejects.toThrow('is in use by another process');
    expect(existsSync(upload)).toBe(true);
    await theirs.close();
  });
});

it('names a port that is in use, and leaves nothing open', async () => {
  const dataDir = tempFolder();
  const holder = createServer();
  await once(holder.listen(0, '127.0.0.1'), 'listening');
  const { port } = holder.address() as AddressInfo;
  await expect(start(dataDir, { port })).rejects.toThrow(`Port ${port} (--listen) is in use.`);
  await new Promise((resolve) => holder.close(resolve));
  const stack = await start(dataDir, { port });
  expect(stack.url).toBe(`http://127.0.0.1:${port}`);
});
