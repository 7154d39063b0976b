import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { openKept, queuePartitions } from '../../local/background/kept.ts';
import { reconcileCodec } from '../../local/background/queues.ts';
import { openDatabase } from '../../local/data/database.ts';
import { startEmbeddedStack } from '../../local/start.ts';
import { demoTokenIn, useChildStacks } from '../support/child-stack.ts';
import { push, subscription } from '../support/lfs-client.ts';
import { useTempFolders } from '../support/temp-folder.ts';

const tempFolder = useTempFolders();
const spawnStack = useChildStacks();

describe('npm start', () => {
  it('prints lines to paste, survives SIGKILL, and ends on a signal', async () => {
    const data = join(tempFolder(), "it's data");
    const first = spawnStack(['--port', '0', '--data', data]);
    const url = await first.ready();
    const { out } = first.output;
    const token = demoTokenIn(data);
    // No person reads a pipe, and a log must not keep tokens.
    expect(out).not.toMatch(/lfsq_[A-Za-z0-9]{20}/);
    expect(out).toContain(`admin token in ${data}/admin-token\n`);
    expect(out).toContain(`Its write token is in ${data}/demo.git-credentials\n`);
    expect(out).toContain(`  git config -f .lfsconfig lfs.url ${url}/demo/my-repo/info/lfs\n`);
    expect(out).toContain(`  git config --global credential.${url}.helper `);
    expect(out.trimEnd().endsWith(`ready ${url}`)).toBe(true);
    await push({ url, token }, 'pushed right before the kill');
    first.process.kill('SIGKILL');
    await first.ended();
    // The reconcile that it asked for waits.
    const database = await openDatabase(join(data, 'table'));
    const kept = openKept(database, queuePartitions.reconciles, reconcileCodec);
    expect(await kept.load(0)).toMatchObject([{ id: 'demo' }]);
    await database.close();

    const second = spawnStack(['--port', '0', '--data', data]);
    const place = { url: await second.ready(), token };
    expect((await subscription(place)).limitBytes).toBe(1024 ** 3);
    expect(second.output.out).toContain("The tenant 'demo' is ready. Its write token is in ");
    expect(second.output.out).not.toContain(token);
    second.process.kill('SIGTERM');
    expect(await second.ended()).toEqual({ exitCode: 0, signal: null });
    expect(second.output.out).toMatch(/stopping …\nstopped\n$/);
    expect(readdirSync(data)).not.toContain('lock');

    const quick = { quietMs: 20, quietMaxMs: 50, spacingMs: 10 };
    const third = await startEmbeddedStack({ port: 0, dataDir: data, queueTiming: quick });
    await vi.waitFor(
      async () =>
        expect((await subscription({ url: third.url, token })).usage).toMatchObject({ objectCount: 1 }),
      { timeout: 120_000 },
    );
    await third.close();
  });

  it('lets no other user read what it writes', async () => {
    const data = tempFolder();
    chmodSync(data, 0o755);
    const umask = process.umask(0o022);
    try {
      const stack = spawnStack(['--port', '0', '--data', data]);
      const url = await stack.ready();
      await push({ url, token: demoTokenIn(data) }, 'for its owner alone');
      const names = readdirSync(data, { recursive: true, encoding: 'utf8' });
      expect(names).toContain('table');
      const open = ['.', ...names].filter((name) => (statSync(join(data, name)).mode & 0o077) !== 0);
      expect(open).toEqual([]);
    } finally {
      process.umask(umask);
    }
  });

  it('refuses a data folder that is in use, and does not disturb its holder', async () => {
    const data = tempFolder();
    const token = 'given-admin-token-0123456789abcdef';
    const env = { LFS_QUOTA_ADMIN_TOKEN: token, LFS_QUOTA_LOG: 'json' };
    const holder = spawnStack(['--port', '0', '--data', data], env);
    const url = await holder.ready();
    const second = spawnStack(['--port', '0', '--data', data]);
    expect(await second.ended()).toMatchObject({ exitCode: 1 });
    expect(second.output.err).toBe(
      `error: The data folder ${data} is in use by process ${holder.process.pid}. ` +
        'Stop that one first, or choose another folder (--data).\nSee lfs-quota serve --help\n',
    );

    // The holder: its admin token from the environment, its log as JSON, ended by Ctrl-C.
    expect(holder.output.out).not.toContain(token);
    await subscription({ url, token });
    await vi.waitFor(() => expect(holder.output.err).toContain('"message":"subscription"'));
    for (const line of holder.output.err.trimEnd().split('\n'))
      expect(JSON.parse(line)).toHaveProperty('level');
    holder.process.kill('SIGINT');
    expect(await holder.ended()).toEqual({ exitCode: 0, signal: null });
  });

  it('refuses wrong options', async () => {
    const wrong = spawnStack(['--port', 'http']);
    expect(await wrong.ended()).toMatchObject({ exitCode: 1 });
    expect(wrong.output.err).toMatch(
      /^error: --listen takes an address and a port .*\nSee lfs-quota serve --help\n$/,
    );
    const unknown = spawnStack(['--prot', '1']);
    expect(await unknown.ended()).toMatchObject({ exitCode: 2 });
  });
});
