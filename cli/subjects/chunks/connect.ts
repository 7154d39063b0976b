import type { CliSubject } from '../../command.ts';
import type { CliContext } from '../../context.ts';
import { gitText } from '../../git/git.ts';
import { shellWords } from '../../render.ts';
import { registerAgent } from './agent.ts';

/**
 * Makes git-lfs offer the transfer `lfs-quota`, which `agent` is. It reads these settings only from git's own configuration,
 * not from `.lfsconfig`. Its shell gets the path quoted and the arguments as they are.
 */
async function setAgent(clone: string, { self, program }: CliContext): Promise<void> {
  const [path, ...words] = self ?? [program];
  const args = shellWords([...words, 'agent']);
  for (const [name, value] of Object.entries({ path, args, concurrent: 'false', direction: 'upload' }))
    await gitText(clone, ['config', '--replace-all', `lfs.customtransfer.lfs-quota.${name}`, value]);
}

export const chunks: CliSubject = {
  commands: { 280: registerAgent },
  examples: {},
  connect: setAgent,
};
