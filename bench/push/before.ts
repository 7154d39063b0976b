import { fileURLToPath } from 'node:url';
import { installOnce } from './install.ts';
import { olderServer } from './our-server.ts';
import type { ServerKind } from './server.ts';

/** A commit from before batches asked by listing, and before the embedded stack reached its table directly. */
const commit = '2e8b484';
const project = fileURLToPath(new URL('../..', import.meta.url));

/** This project at an older commit, with the packages of its lock file. @throws {Error} if it can't be built. */
export async function before(): Promise<ServerKind> {
  const checkout = await installOnce(`before-${commit}`, (folder) => [
    { command: 'git', args: ['-C', project, 'archive', '-o', `${folder}/before.tar`, commit] },
    { command: 'tar', args: ['-xf', 'before.tar'] },
    { command: 'npm', args: ['ci', '--no-audit', '--no-fund'] },
  ]);
  return olderServer({ name: `before (${commit})`, checkout });
}
