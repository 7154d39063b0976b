import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import type { GitUser } from '../support/git-user.ts';
import { bytesOf, digests, type Files, objectsOf, readFiles } from '../support/payload.ts';
import { Stack } from './stack.ts';
import { listStore, sizesOf, totalBytes, usageWithin } from './store-truth.ts';
import { createAcme, describeWithGitLfs } from './with-git-lfs.ts';

const mib = 1024 ** 2;
const limitBytes = 10 * mib;

/** The client's batch request, read from its trace: oid → bytes, in the order of the request. */
function requestOf(trace: string): Map<string, number> {
  const bodies = trace.split('\n').filter((line) => line.includes('"operation":"upload"'));
  const objects = bodies.flatMap((line) => [...line.matchAll(/\{"oid":"([0-9a-f]{64})","size":(\d+)\}/g)]);
  return new Map(objects.map(([, oid = '', size]) => [oid, Number(size)]));
}

/** The objects that fit, in the order of the request. One that does not fit does not exclude those after it. */
function fitting(request: ReadonlyMap<string, number>, freeBytes: number): Map<string, number> {
  let leftBytes = freeBytes;
  const fits = new Map<string, number>();
  for (const [oid, sizeBytes] of request) {
    if (sizeBytes > leftBytes) continue;
    fits.set(oid, sizeBytes);
    leftBytes -= sizeBytes;
  }
  return fits;
}

describeWithGitLfs('a push over the limit', () => {
  const before: Files = new Map([['before.bin', bytesOf('before', 2 * mib)]]);
  const sizes = [3 * mib, 2.5 * mib, 4 * mib, 0.25 * mib, 1.5 * mib, 2 * mib, 0.125 * mib, 17];
  const over: Files = new Map(sizes.map((size, index) => [`${index}.bin`, bytesOf(`over${index}`, size)]));
  const everything = objectsOf(new Map([...before, ...over]));
  let stack: Stack;
  let user: GitUser;
  let workTree: string;
  let remote: string;

  beforeAll(async () => {
    stack = await Stack.start();
    ({ user, remote, workTree } = await createAcme(stack, '10MiB'));
    await user.commitFiles(workTree, before, 'What fits');
    await user.git(workTree, 'push', '--quiet', 'origin', 'main');
    await user.commitFiles(workTree, over, 'More than fits');
  });

  it('fails, says once what is stored, promised, allowed and missing, and admits what fits in request order', async () => {
    const pushed = await user.tryGit(workTree, ['push', 'origin', 'main'], { GIT_CURL_VERBOSE: '1' });
    expect(pushed.code).not.toBe(0);
    const request = requestOf(pushed.err);
    expect(request).toEqual(objectsOf(over));
    const admitted = fitting(request, limitBytes - 2 * mib);
    expect(admitted.size).toBeGreaterThan(0);
    const refused = [...request.keys()].filter((oid) => !admitted.has(oid));
    expect(refused.length).toBeGreaterThan(0);
    const usedBytes = 2 * mib + totalBytes(admitted);
    const lineOf = (oid: string) => pushed.err.split('\n').find((text) => text.startsWith(`[${oid}]`));
    const [first = '', ...others] = refused;
    const neededBytes = refused.reduce((sum, oid) => sum + (request.get(oid) ?? 0), usedBytes - limitBytes);
    const told = [
      `Storage limit reached: acme uses ${formatBytes(usedBytes)} of ${formatBytes(limitBytes)}`,
      `(${formatBytes(2 * mib)} stored, ${formatBytes(totalBytes(admitted))} uploading)`,
      `${refused.length} of ${request.size} files`,
      `${formatBytes(neededBytes)} short`,
    ];
    for (const part of told) expect(lineOf(first)).toContain(part);
    for (const oid of others)
      expect(lineOf(oid)).toMatch(
        /] Storage limit reached \(see above\)\. File: git lfs ls-files -al \| grep \w{7}$/,
      );
    const expected = new Map([...objectsOf(before), ...admitted]);
    expect(sizesOf(await listStore(stack, 'acme/game'))).toEqual(expected);
  });

  it('fails again in the same way', async () => {
    const held = await listStore(stack, 'acme/game');
    const pushed = await user.tryGit(workTree, ['push', 'origin', 'main']);
    expect(pushed.code).not.toBe(0);
    expect(pushed.err).toContain('Storage limit reached: acme uses');
    expect(await listStore(stack, 'acme/game')).toEqual(held);
  });

  it('passes once the limit is raised', async () => {
    const raised = await stack.cli('tenant', 'limit', 'acme', '1GiB');
    expect(raised).toMatchObject({ code: 0 });
    await user.git(workTree, 'push', '--quiet', 'origin', 'main');
    expect(sizesOf(await listStore(stack, 'acme/game'))).toEqual(everything);
    await user.git(user.home, 'clone', '--quiet', remote, 'clone');
    expect(digests(await readFiles(join(user.home, 'clone')))).toEqual(
      digests(new Map([...before, ...over])),
    );
    const expected = { storedBytes: totalBytes(everything), objectCount: everything.size };
    expect(await usageWithin(stack, { tenant: 'acme', expected, timeoutMs: 30_000 })).toMatchObject(expected);
  });
});
