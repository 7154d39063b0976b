import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { trackLines, urlLine } from '../../../../console/src/git-lines.ts';
import { cloneLines } from '../../../../console/src/subjects/invitations/clone-lines.ts';
import { GitUser } from '../../../support/git-user.ts';
import { bytesOf, writeFiles } from '../../../support/payload.ts';
import { Stack } from '../../stack.ts';
import { listStore } from '../../store-truth.ts';
import { describeWithGitLfs } from '../../with-git-lfs.ts';

/** From an invitation to a first push, with git, git-lfs and the link alone: by the lines that the page shows. */
describeWithGitLfs('somebody who is invited', () => {
  let stack: Stack;
  let bob: GitUser;
  let remote: string;
  let token: string;

  beforeAll(async () => {
    stack = await Stack.start();
    await stack.cliJson('tenant', 'create', 'acme');
    bob = await GitUser.create();
    remote = await bob.createRemote('game');
    const before = await bob.createWorkTree('before', { remote });
    await writeFiles(before, new Map([['readme.txt', Buffer.from('A game')]]));
    await bob.git(before, 'rm', '--cached', '--quiet', '--ignore-unmatch', '.gitattributes');
    await bob.git(before, 'add', 'readme.txt');
    await bob.git(before, 'commit', '--quiet', '-m', 'A game');
    await bob.git(before, 'push', '--quiet', 'origin', 'HEAD');
  });

  /** What the person types where git asks. */
  async function typing(password: string): Promise<Record<string, string>> {
    const askpass = join(bob.home, `askpass-${password.slice(-4)}`);
    const script = `#!/bin/sh\ncase "$1" in Username*) echo any ;; *) echo '${password}' ;; esac\n`;
    await writeFile(askpass, script, { mode: 0o700 });
    return { GIT_ASKPASS: askpass };
  }

  it('gets a token by the link, once', async () => {
    const { link } = await stack.cliJson('invite', 'acme', '--repo', 'game');
    const [origin, secret] = String(link).split('/#_join/');
    expect(origin).toBe(stack.url);
    // As the page posts it.
    const accept = () =>
      fetch(`${origin}/v1/invitations/accept`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
        body: JSON.stringify({ secret, user: 'bob' }),
      });
    const answer = await accept();
    expect(answer.status).toBe(201);
    const joined = (await answer.json()) as { token: string; tenant: string; user: string; repos: string[] };
    expect(joined).toMatchObject({ tenant: 'acme', user: 'bob', repos: ['game'] });
    expect((await accept()).status).toBe(404);
    ({ token } = joined);
  });

  it('pushes by the lines of the page, and types the token once', async () => {
    const env = await typing(token);
    const clone = cloneLines(stack.url).replace('YOUR-REPOSITORY-URL', remote);
    expect(await bob.paste(bob.home, clone.split('\n'), env)).toMatchObject({ code: 0 });
    const folder = join(bob.home, 'game');
    await writeFile(join(folder, 'hero.psd'), bytesOf('hero', 200_000));
    const push = [urlLine(stack.url, 'acme', 'game'), ...trackLines.split('\n')];
    const pushed = await bob.paste(folder, push, env);
    expect(pushed.code, pushed.err).toBe(0);
    expect((await listStore(stack, 'acme/game')).size).toBe(1);

    await writeFile(join(folder, 'villain.psd'), bytesOf('villain', 200_000));
    await bob.git(folder, 'add', '.');
    await bob.git(folder, 'commit', '--quiet', '-m', 'A villain');
    await bob.git(folder, 'push', '--quiet', 'origin', 'HEAD');
    expect((await listStore(stack, 'acme/game')).size).toBe(2);
  });

  it('is the owner of what they lock', async () => {
    const folder = join(bob.home, 'game');
    await bob.git(folder, 'lfs', 'lock', 'hero.psd');
    const { locks } = await stack.cliJson('lock', 'list', 'acme', 'game');
    expect(locks).toMatchObject([{ path: 'hero.psd', owner: 'bob' }]);
  });
});
