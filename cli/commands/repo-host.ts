import type { Command } from 'commander';
import type { RepoBody } from '../../lambda/api/contract/repos.ts';
import { changeRepo, commandForRepo } from '../change-repo.ts';
import type { CliContext } from '../context.ts';
import type { ApiOptions } from '../options.ts';

/** `repo host|unhost`. */
export function registerRepoHost(group: Command, context: CliContext): void {
  commandForRepo(group, 'host', 'let people of a git host use a repo, with their own tokens for that host')
    .argument('<host>', 'the id of a git host of the stage, such as github')
    .argument('<name>', 'full name of the repository there, such as acme/game')
    .option(
      '--repo-id <number>',
      'its number there; without it, it is learned from the first person who comes',
    )
    .action((...args: [string, string, string, string, ApiOptions & { repoId?: string }]) => {
      const [tenant, repo, host, name, options] = args;
      const repoId = options.repoId === undefined ? {} : { repoId: options.repoId };
      return changeRepo(context, {
        tenant,
        repo,
        options,
        change: { gitHost: { host, repo: name, ...repoId } },
        shown: mappedText,
      });
    });
  commandForRepo(group, 'unhost', 'let only those use a repo who have a token of the tenant').action(
    (tenant: string, repo: string, options: ApiOptions) =>
      changeRepo(context, { tenant, repo, options, change: { gitHost: null }, shown: mappedText }),
  );
}

function mappedText(path: string, { gitHost }: RepoBody): string {
  if (!gitHost) return `${path} is mapped to no git host. Only tokens of the tenant are good for it.\n`;
  const number = gitHost.repoId === null ? '' : ` (number ${gitHost.repoId})`;
  return (
    `${path} is mapped to ${gitHost.repo}${number} on ${gitHost.host}: who may pull there can pull here with their ` +
    'own token for it, and who may push, push.\n'
  );
}
