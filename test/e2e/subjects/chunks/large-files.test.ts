import { spawn } from 'node:child_process';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../local/start.ts';
import { GitUser } from '../../../support/git-user.ts';
import { bytesOf, digests, readFiles } from '../../../support/payload.ts';
import { gitEnvironment, run, signalGroup } from '../../../support/process.ts';
import { commandLine } from '../../stack.ts';
import { describeWithGitLfs } from '../../with-git-lfs.ts';

const mib = 1024 ** 2;
const chunkBytes = 5 * mib;
const chunkCount = 18;
const files = new Map([
  ['large.bin', bytesOf('large', 17 * chunkBytes + 1000)],
  ['small.bin', bytesOf('small', 20_000)],
]);

describeWithGitLfs('a file above the limit of one PUT', () => {
  let dataDir: string;
  let stack: EmbeddedStack;
  let ada: GitUser;
  let remote: string;
  let workTree: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'lfs-quota-large-'));
    const settings = { objectBytesMax: 4 * mib, chunkedAboveBytes: 4 * mib, chunkBytes };
    stack = await startEmbeddedStack({ port: 0, dataDir, createDemo: false, settings });
    await manage('', { tenant: 'acme' });
    ada = await GitUser.create();
    remote = await ada.createRemote('game');
    workTree = await ada.createWorkTree('work', { remote });
    await connect(ada, workTree);
    await ada.commitFiles(workTree, files, 'A large file');
  });
  afterEach(() => onPut.clear());
  afterAll(async () => {
    await stack.close();
    await rm(dataDir, { recursive: true });
  });

  async function manage(place: string, body: unknown): Promise<unknown> {
    const headers = { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(`${stack.url}/v1/tenants${place}`, request)).json();
  }

  async function connect(user: GitUser, clone: string): Promise<void> {
    const { token } = z.object({ token: z.string() }).parse(await manage('/acme/tokens', { scope: 'write' }));
    const env = { ...gitEnvironment(user.home), LFS_QUOTA_URL: stack.url, LFS_QUOTA_TOKEN: token };
    const args = [commandLine, 'connect', 'acme', 'game'];
    const ended = await run(process.execPath, args, { cwd: clone, env, timeoutMs: 60_000 });
    expect(ended.code, ended.err).toBe(0);
  }

  /** Called with the number of a chunk when the server gets its PUT, and when it has stored it. */
  const onPut = new Set<(chunk: number, isStored: boolean) => void>();
  const chunkOf = ({ method, url = '' }: IncomingMessage) =>
    method === 'PUT' ? /\/_parts\/.*\/(\d{5})\?/.exec(url)?.[1] : undefined;
  channel('http.server.request.start').subscribe((message) => {
    const { request } = message as { request: IncomingMessage };
    const chunk = chunkOf(request);
    if (chunk !== undefined) for (const listener of onPut) listener(Number(chunk), false);
  });
  channel('http.server.response.finish').subscribe((message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    const chunk = chunkOf(request);
    if (chunk !== undefined && response.statusCode === 200)
      for (const listener of onPut) listener(Number(chunk), true);
  });

  it('needs the agent, and says how to get it', async () => {
    const name = 'lfs.customtransfer.lfs-quota.path';
    const { out } = await ada.git(workTree, 'config', name);
    await ada.git(workTree, 'config', '--unset', name);
    const refused = await ada.tryGit(workTree, ['push', 'origin', 'main']);
    expect(refused.code).not.toBe(0);
    expect(refused.err).toMatch(
      /Run: lfs-quota connect acme game, then push again\. File: git lfs ls-files -al/,
    );
    await ada.git(workTree, 'config', name, out.trim());
  });

  it('goes on after a kill with at most 8 chunks again, is whole, and can be cloned', async () => {
    const [begun, stored] = [new Set<number>(), new Set<number>()];
    const child = spawn('git', ['push', 'origin', 'main'], {
      cwd: workTree,
      env: gitEnvironment(ada.home),
      detached: true,
      stdio: 'ignore',
    });
    onPut.add((chunk, isStored) => {
      (isStored ? stored : begun).add(chunk);
      if (begun.size === 10) signalGroup(child.pid, 'SIGKILL');
    });
    await once(child, 'close');
    onPut.clear();
    expect(begun.size).toBeGreaterThanOrEqual(10);
    expect(stored.size).toBeLessThan(chunkCount);

    const again: number[] = [];
    onPut.add((chunk, isStored) => {
      if (!isStored) again.push(chunk);
    });
    await ada.git(workTree, 'push', 'origin', 'main');
    expect(new Set([...begun, ...again]).size).toBe(chunkCount);
    expect(again).toHaveLength(new Set(again).size);
    expect(again.filter((chunk) => begun.has(chunk)).length).toBeLessThanOrEqual(8);

    const bob = await GitUser.create();
    // It has no login yet, so only the pointers come.
    await bob.tryGit(bob.home, ['clone', '--quiet', remote, 'clone'], { GIT_LFS_SKIP_SMUDGE: '1' });
    const clone = join(bob.home, 'clone');
    await connect(bob, clone);
    await bob.git(clone, 'lfs', 'pull');
    await bob.git(clone, 'lfs', 'fsck');
    expect(digests(await readFiles(clone))).toEqual(digests(files));
  });
});
