import { spawnSync } from 'node:child_process';
import { afterAll } from 'vitest';
import { describeWith } from '../support/describe-with.ts';
import { GitUser } from '../support/git-user.ts';
import { Stack } from './stack.ts';

/**
 * Tests that need the real client. Without it they fail in CI, and are skipped elsewhere. Stacks and people that they start
 * end with them.
 */
export function describeWithGitLfs(title: string, body: () => void): void {
  const found = spawnSync('git', ['lfs', 'version']).status === 0 || undefined;
  const missing = 'git-lfs is not installed. On Debian: apt-get install git-lfs';
  describeWith({ title, found, missing }, () => {
    afterAll(async () => {
      await Stack.closeAll();
      await GitUser.closeAll();
    });
    body();
  });
}

/** A person with a repository `game` of the tenant `acme`, and a work tree that pushes to it. */
export interface Acme {
  readonly user: GitUser;
  readonly remote: string;
  readonly workTree: string;
}

/** @param limit as on the command line: `10MiB`. */
export async function createAcme(stack: Stack, limit: string): Promise<Acme> {
  await stack.cliJson('tenant', 'create', 'acme', '--limit', limit);
  const user = await GitUser.create({ url: stack.url, token: await stack.newToken('acme', 'write') });
  const lfsUrl = `${stack.url}/acme/game/info/lfs`;
  const remote = await user.createRemote('game');
  return { user, remote, workTree: await user.createWorkTree('work', { remote, lfsUrl }) };
}
