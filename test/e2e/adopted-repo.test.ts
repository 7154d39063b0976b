import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { storedNameOf } from '../../lambda/core/store/rules/adopted-repos.ts';
import type { GitUser } from '../support/git-user.ts';
import { bytesOf, digests, type Files, objectsOf, readFiles } from '../support/payload.ts';
import { Stack } from './stack.ts';
import { importInto, listStore, totalBytes, usageWithin } from './store-truth.ts';
import { createAcme, describeWithGitLfs } from './with-git-lfs.ts';

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

describeWithGitLfs('a repo that another server has stored', () => {
  const before: Files = new Map(
    [1, 2, 3].map((size) => [`level${size}.bin`, bytesOf(`old${size}`, size * 9_001)]),
  );
  const after: Files = new Map([['new.bin', bytesOf('new', 50_000)]]);
  const fanned = (oid: string) => storedNameOf('ab/cd/rest', oid);
  let stack: Stack;
  let user: GitUser;
  let workTree: string;
  let remote: string;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lfs-quota-e2e-adopted-'));
    const file = join(folder, 'adopted.json');
    const adopted = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'ab/cd/rest' };
    await writeFile(file, JSON.stringify([adopted]));
    stack = await Stack.start({ flags: ['--adopt', file] });
    const stored = [...before.values()].map((bytes) => [fanned(sha256(bytes)), bytes] as const);
    await importInto(stack, 'lfs', new Map([...stored, ['tmp/x', Buffer.from('of the other server')]]));
    ({ user, remote, workTree } = await createAcme(stack, '10MiB'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it('need not be pushed again, and counts', async () => {
    await user.commitFiles(workTree, before, 'As it was');
    const pushed = await user.tryGit(workTree, ['push', 'origin', 'main'], { GIT_CURL_VERBOSE: '1' });
    expect(pushed.code, pushed.err).toBe(0);
    expect(pushed.err).not.toContain('> PUT /');
    const expected = { storedBytes: totalBytes(objectsOf(before)), objectCount: before.size };
    expect(await usageWithin(stack, { tenant: 'acme', expected, timeoutMs: 30_000 })).toMatchObject(expected);
  });

  it('is pushed to where the other server would have put it', async () => {
    await user.commitFiles(workTree, after, 'New');
    await user.git(workTree, 'push', '--quiet', 'origin', 'main');
    const oids = [...objectsOf(before).keys(), ...objectsOf(after).keys()];
    expect(new Set((await listStore(stack, 'lfs')).keys())).toEqual(new Set([...oids.map(fanned), 'tmp/x']));
    expect((await listStore(stack, 'acme')).size).toBe(0);
  });

  it('is cloned', async () => {
    const clone = join(user.home, 'clone');
    await user.git(user.home, 'clone', '--quiet', remote, clone);
    const all = new Map([...before, ...after]);
    expect(digests(await readFiles(clone))).toEqual(digests(all));
  });
});
