import { beforeAll, expect, it } from 'vitest';
import { bytesOf, objectsOf, writeFiles } from '../support/payload.ts';
import { Stack } from './stack.ts';
import { listStore } from './store-truth.ts';
import { type Acme, createAcme, describeWithGitLfs } from './with-git-lfs.ts';

const mib = 1024 ** 2;

describeWithGitLfs('repos that are looked after', () => {
  let stack: Stack;
  let acme: Acme;

  beforeAll(async () => {
    stack = await Stack.start();
    acme = await createAcme(stack, '100MiB');
  });

  const commit = async (name: string, size: number) => {
    const files = new Map([[name, bytesOf(name, size)]]);
    await writeFiles(acme.workTree, files);
    await acme.user.commitAll(acme.workTree, name);
    return [...objectsOf(files).keys()];
  };
  const push = () => acme.user.tryGit(acme.workTree, ['push', 'origin', 'main']);

  it('take no push before they are created, if their tenant wants that, and the client says what to do', async () => {
    await stack.cliJson('tenant', 'new-repos', 'acme', 'created');
    await commit('first.bin', mib);
    const refused = await push();
    expect(refused.code).not.toBe(0);
    expect(refused.err).toContain("Repo acme/game doesn't exist and pushes can't create it.");
    expect(refused.err).toContain('lfs-quota repo create acme game');
    expect(await listStore(stack, 'acme')).toEqual(new Map());
    await stack.cliJson('repo', 'create', 'acme', 'game', '--limit', '2MiB');
    expect((await push()).code).toBe(0);
  });

  it('refuse what is beyond their own limit, which the client names', async () => {
    const [oid = ''] = await commit('second.bin', 1.5 * mib);
    const refused = await push();
    expect(refused.code).not.toBe(0);
    expect(refused.err).toContain('Storage limit reached: acme/game uses 1 MiB of 2 MiB.');
    expect([...(await listStore(stack, 'acme')).keys()].join()).not.toContain(oid);
    await stack.cliJson('repo', 'limit', 'acme', 'game', '3MiB');
    const pushed = await push();
    expect(pushed.code, pushed.err).toBe(0);
    expect([...(await listStore(stack, 'acme')).keys()].join()).toContain(oid);
  });
});
