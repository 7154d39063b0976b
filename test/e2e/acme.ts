import { GitUser } from '../support/git-user.ts';
import type { Stack } from './stack.ts';

/** A person with a repository `game` of the tenant `acme`, and a work tree that pushes to it. */
export interface Acme {
  readonly user: GitUser;
  readonly remote: string;
  readonly workTree: string;
}

/** @param limit as on the command line: `10MiB`. */
export async function createAcme(stack: Stack, limit: string): Promise<Acme> {
  await stack.cliJson('tenant', 'create', 'acme', '--limit', limit);
  const { token } = await stack.cliJson('token', 'create', 'acme', '--scope', 'write');
  const user = await GitUser.create({ url: stack.url, token: String(token) });
  const lfsUrl = `${stack.url}/acme/game/info/lfs`;
  const remote = await user.createRemote('game');
  return { user, remote, workTree: await user.createWorkTree('work', { remote, lfsUrl }) };
}
