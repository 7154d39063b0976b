import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import type { GitUser } from '../support/git-user.ts';
import { bytesOf, digests, type Files, objectsOf, readFiles } from '../support/payload.ts';
import { Stack } from './stack.ts';
import { listStore, sizesOf, totalBytes, usageWithin } from './store-truth.ts';
import { createAcme, describeWithGitLfs } from './with-git-lfs.ts';

describeWithGitLfs('a server that is killed during a push', () => {
  // Four batches, so that the push is still going on when the server dies, however slow this machine is at the moment.
  const files: Files = new Map(
    Array.from({ length: 400 }, (_, index) => [`${index}.bin`, bytesOf(`kill${index}`, 65_536 + index)]),
  );
  const objects = objectsOf(files);
  let stack: Stack;
  let user: GitUser;
  let workTree: string;
  let remote: string;

  beforeAll(async () => {
    stack = await Stack.start();
    ({ user, remote, workTree } = await createAcme(stack, '64MiB'));
    // Otherwise the client would retry for longer than the server is down.
    await user.git(workTree, 'config', 'lfs.transfer.maxretries', '1');
    await user.git(workTree, 'config', 'lfs.concurrenttransfers', '2');
    await user.commitFiles(workTree, files, 'Many files');
  });

  async function expectUsageOfStore() {
    const sizes = sizesOf(await listStore(stack, 'acme/game'));
    const expected = { storedBytes: totalBytes(sizes), objectCount: sizes.size };
    expect(await usageWithin(stack, { tenant: 'acme', expected, timeoutMs: 30_000 })).toMatchObject(expected);
    return sizes;
  }

  it('keeps what had arrived, counts it after the restart, and accepts the rest', async () => {
    const pushing = user.tryGit(workTree, ['push', 'origin', 'main']);
    while ((await listStore(stack, 'acme/game')).size < 3) await sleep(5);
    await stack.kill();
    expect((await pushing).code).not.toBe(0);

    await stack.start();
    const kept = await expectUsageOfStore();
    expect(kept.size).toBeGreaterThanOrEqual(3);
    expect(kept.size).toBeLessThan(objects.size);
    for (const [oid, sizeBytes] of kept) expect(objects.get(oid)).toBe(sizeBytes);

    await user.git(workTree, 'push', '--quiet', 'origin', 'main');
    expect(await expectUsageOfStore()).toEqual(objects);
    await user.git(user.home, 'clone', '--quiet', remote, 'clone');
    expect(digests(await readFiles(join(user.home, 'clone')))).toEqual(digests(files));
  });
});
