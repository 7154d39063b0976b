import type { Command } from 'commander';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import { type RepoBody, repoSchema } from '../../lambda/http/management/repos/schemas.ts';
import type { CliContext } from '../context.ts';
import {
  type ApiOptions,
  managerToken,
  openClient,
  parseLimitOption,
  parseRepo,
  parseTenant,
  withApiOptions,
} from '../options.ts';
import { formatLimit } from '../render.ts';

/** `repo public|private`. */
export function registerRepoPublic(group: Command, context: CliContext): void {
  forRepo(group, 'public', 'let anybody download from a repo, without a token')
    .requiredOption(
      '--limit <size>',
      'what anybody may be offered in a month, all together, such as 100GiB; or unlimited',
      parseLimitOption,
    )
    .action((tenant: string, repo: string, options: ApiOptions & { limit: { bytes: number | null } }) =>
      change(context, { tenant, repo, options, publicRead: { monthlyLimitBytes: options.limit.bytes } }),
    );
  forRepo(group, 'private', 'let only those download from a repo who have a token').action(
    (tenant: string, repo: string, options: ApiOptions) =>
      change(context, { tenant, repo, options, publicRead: null }),
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
    publicRead: { monthlyLimitBytes: number | null } | null;
  },
): Promise<void> {
  const { tenant, repo, options, publicRead } = input;
  const { body, text } = await openClient(options, context, managerToken).send({
    method: 'PATCH',
    path: `/v1/tenants/${tenant}/repos/${repo}`,
    body: { publicRead },
    shape: repoSchema,
  });
  context.out(options.json ? `${text}\n` : publicText(`${tenant}/${repo}`, body));
}

function publicText(path: string, { publicRead }: RepoBody): string {
  if (!publicRead)
    return `${path} is private. URLs that were given out before stay valid for up to 30 minutes.\n`;
  const { monthlyLimitBytes, month } = publicRead;
  const ceiling =
    monthlyLimitBytes === null ? 'without a limit' : `up to ${formatLimit(monthlyLimitBytes)} a month`;
  const offered = month && month.bytes > 0 ? ` In ${month.month} so far: ${formatBytes(month.bytes)}.` : '';
  return `${path} is public: anybody can download from it, ${ceiling}.${offered}\n`;
}
