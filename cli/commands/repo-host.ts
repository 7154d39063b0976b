import type { Command } from 'commander';
import { type RepoBody, repoSchema } from '../../lambda/http/management/repos/schemas.ts';
import type { CliContext } from '../context.ts';
import {
  type ApiOptions,
  managerToken,
  openClient,
  parseRepo,
  parseTenant,
  withApiOptions,
} from '../options.ts';

/** `repo host|unhost`. */
export function registerRepoHost(group: Command, context: CliContext): void {
  forRepo(group, 'host', 'let people of a git host use a repo, with their own tokens for that host')
    .argument('<host>', 'the id of a git host of the stage, such as github')
    .argument('<name>', 'full name of the repository there, such as acme/game')
    .option(
      '--repo-id <number>',
      'its number there; without it, it is learned from the first person who comes',
    )
    .action((...args: [string, string, string, string, ApiOptions & { repoId?: string }]) => {
      const [tenant, repo, host, name, options] = args;
      const repoId = options.repoId === undefined ? {} : { repoId: options.repoId };
      return change(context, { tenant, repo, options, gitHost: { host, repo: name, ...repoId } });
    });
  forRepo(group, 'unhost', 'let only those use a repo who have a token of the tenant').action(
    (tenant: string, repo: string, options: ApiOptions) =>
      change(context, { tenant, repo, options, gitHost: null }),
  );
}

function forRepo(group: Command, name: string, description: string): Command {
  return withApiOptions(group.command(name))
    .description(description)
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<repo>', 'name of the repo', parseRepo);
}

async function change(
  context: CliContext,
  input: {
    tenant: string;
    repo: string;
    options: ApiOptions;
    gitHost: { host: string; repo: string; repoId?: string } | null;
  },
): Promise<void> {
  const { tenant, repo, options, gitHost } = input;
  const { body, text } = await openClient(options, context, managerToken).send({
    method: 'PATCH',
    path: `/v1/tenants/${tenant}/repos/${repo}`,
    body: { gitHost },
    shape: repoSchema,
  });
  context.out(options.json ? `${text}\n` : mappedText(`${tenant}/${repo}`, body));
}

function mappedText(path: string, { gitHost }: RepoBody): string {
  if (!gitHost) return `${path} is mapped to no git host. Only tokens of the tenant are good for it.\n`;
  const number = gitHost.repoId === null ? '' : ` (number ${gitHost.repoId})`;
  return (
    `${path} is mapped to ${gitHost.repo}${number} on ${gitHost.host}: who may pull there can pull here with their ` +
    'own token for it, and who may push, push.\n'
  );
}
