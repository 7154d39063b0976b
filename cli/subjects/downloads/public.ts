import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import type { ApiClient } from '../../api-client.ts';
import { option, type RepoBody, type RepoPart, type Rows, required, routeCommand } from '../../command.ts';
import { change, nameOf } from '../../commands/repo.ts';
import { confirmLimit, limitOptions } from '../../confirm.ts';
import { parseLimitOption } from '../../options.ts';
import { formatCount, formatLimit } from '../../render.ts';

export const offered = async (client: ApiClient, tenant: string) =>
  (await client.ask('listDownloads', { params: { tenant }, query: { limit: 1 } })).body.month;

export const publicCommands: Rows = {
  60: routeCommand({
    ...change,
    name: 'public',
    description: 'Let anyone download from a repo, without a token',
    options: {
      ...limitOptions,
      limit: required(
        option(
          '--limit <size>',
          'monthly limit of anonymous downloads, such as 100GiB; or unlimited',
          parseLimitOption,
        ),
      ),
    },
    before: (client, { operands: params, options, context }) =>
      confirmLimit(context, options, {
        bytes: options.limit.bytes,
        readUsed: async () => (await client.find('getRepo', { params }))?.publicRead?.month?.bytes ?? null,
        warning: (used, limit) =>
          `${nameOf(params)} used ${used} this month, above the new limit of ${limit}. Public downloads fail until next month.`,
      }),
    body: ({ options }) => ({ publicRead: { monthlyLimitBytes: options.limit.bytes } }),
    print: (body, { operands }) => publicText(nameOf(operands), body),
  }),
  65: routeCommand({
    ...change,
    name: 'private',
    description: 'Require a token for downloads again',
    body: () => ({ publicRead: null }),
    print: (body, { operands }) => publicText(nameOf(operands), body),
  }),
};

/** What of a repo isn't copied yet. */
function copiesText({ copies }: RepoBody): string {
  if (!copies) return '';
  const { queued, failed } = copies;
  const parts = [
    ...(queued > 0 ? [`${formatCount(queued)} waiting`] : []),
    ...(failed > 0 ? [`${formatCount(failed)} failed within a day`] : []),
  ];
  return `Copies from another server: ${parts.join(', ')}.\n`;
}

function publicText(path: string, { publicRead }: RepoBody): string {
  if (!publicRead) return `${path} is private. URLs issued earlier work for up to 30 more minutes.\n`;
  const { monthlyLimitBytes, month } = publicRead;
  const ceiling =
    monthlyLimitBytes === null ? 'without a limit' : `up to ${formatLimit(monthlyLimitBytes)} a month`;
  const offered = month && month.bytes > 0 ? ` In ${month.month} so far: ${formatBytes(month.bytes)}.` : '';
  return `${path} is public: anyone can download from it, ${ceiling}.${offered}\n`;
}

function publicCell({ publicRead }: RepoBody): string {
  if (!publicRead) return '-';
  const { monthlyLimitBytes } = publicRead;
  return monthlyLimitBytes === null ? 'unlimited' : `${formatBytes(monthlyLimitBytes)} a month`;
}

export const publicPart: RepoPart = {
  isOf: ({ publicRead }) => publicRead !== undefined,
  column: ['public', publicCell],
  about: copiesText,
};
