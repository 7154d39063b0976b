import type { Command } from 'commander';
import { type RepoBody, repoSchema } from '../lambda/api/contract/repos.ts';
import type { CliContext } from './context.ts';
import {
  type ApiOptions,
  managerToken,
  openClient,
  parseRepo,
  parseTenant,
  withApiOptions,
} from './options.ts';
import { printAnswer } from './print-answer.ts';

/** A subcommand of `repo` about one repo. */
export function commandForRepo(group: Command, name: string, description: string): Command {
  return withApiOptions(group.command(name))
    .description(description)
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<repo>', 'name of the repo', parseRepo);
}

/** The repo as it is. undefined: it isn't there yet. @throws {CliError} */
export function findRepo(
  context: CliContext,
  { tenant, repo, options }: { tenant: string; repo: string; options: ApiOptions },
): Promise<RepoBody | undefined> {
  const client = openClient(options, context, managerToken);
  return client.find({ path: `/v1/tenants/${tenant}/repos/${repo}`, shape: repoSchema });
}

/**
 * Changes a repo, and prints what it is then.
 *
 * @param input.change the fields that change. @param input.shown what it is, for a person.
 * @throws {CliError}
 */
export async function changeRepo(
  context: CliContext,
  input: {
    tenant: string;
    repo: string;
    options: ApiOptions;
    change: object;
    shown: (path: string, body: RepoBody) => string;
  },
): Promise<void> {
  const { tenant, repo, options, change, shown } = input;
  await printAnswer(context, options, {
    wanted: managerToken,
    method: 'PATCH',
    path: `/v1/tenants/${tenant}/repos/${repo}`,
    body: change,
    shape: repoSchema,
    render: (body) => shown(`${tenant}/${repo}`, body),
  });
}
