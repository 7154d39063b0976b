import type { Command } from 'commander';
import type { RepoBody } from '../../lambda/api/contract/repos.ts';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import { changeRepo, commandForRepo, findRepo } from '../change-repo.ts';
import { confirmLimit, type LimitOptions, withLimitOptions } from '../confirm-limit.ts';
import type { CliContext } from '../context.ts';
import { type ApiOptions, parseLimitOption } from '../options.ts';
import { formatLimit } from '../render.ts';

/** `repo public|private`. */
export function registerRepoPublic(group: Command, context: CliContext): void {
  withLimitOptions(commandForRepo(group, 'public', 'let anyone download from a repo, without a token'))
    .requiredOption(
      '--limit <size>',
      'what anybody may be offered in a month, all together, such as 100GiB; or unlimited',
      parseLimitOption,
    )
    .action(
      async (tenant: string, repo: string, options: LimitOptions & { limit: { bytes: number | null } }) => {
        const { bytes } = options.limit;
        await confirmLimit(context, options, {
          bytes,
          readUsed: async () =>
            (await findRepo(context, { tenant, repo, options }))?.publicRead?.month?.bytes ?? null,
          warning: (used, limit) =>
            `${tenant}/${repo} used ${used} of public downloads this month, more than the new limit of ${limit}. Public downloads fail until next month.`,
        });
        await changeRepo(context, {
          tenant,
          repo,
          options,
          change: { publicRead: { monthlyLimitBytes: bytes } },
          shown: publicText,
        });
      },
    );
  commandForRepo(group, 'private', 'let only those download from a repo who have a token').action(
    (tenant: string, repo: string, options: ApiOptions) =>
      changeRepo(context, { tenant, repo, options, change: { publicRead: null }, shown: publicText }),
  );
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
