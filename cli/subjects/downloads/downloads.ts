import { Option } from 'commander';
import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import type { BodyOf } from '../../api-client.ts';
import { least, right, tableOf } from '../../columns.ts';
import { actionCommand, type CliSubject, given, option, tenantOperand } from '../../command.ts';
import { printList, withPageOptions } from '../../list-pages.ts';
import { parseDay, parseRepo, requireDaysInOrder } from '../../options.ts';
import { formatCount, formatLimit } from '../../render.ts';
import { type View, viewOf } from '../../terminal.ts';
import { offered, publicCommands, publicPart } from './public.ts';

type DownloadPageBody = BodyOf<'listDownloads'>;
type Row = DownloadPageBody['downloads'][number];
const groups = { day: 'day', repo: 'repo', token: 'tokenId' } as const;
type Group = keyof typeof groups;

/** `downloads`: all pages, because sums of some would be wrong. */
const downloadsCommand = actionCommand({
  name: 'downloads',
  description: 'Show downloads by day, repo or token',
  base: withPageOptions,
  operands: { tenant: tenantOperand },
  options: {
    from: option(
      '--from <day>',
      'the first day in UTC, such as 2026-11-21 (default: the first of this month)',
      parseDay,
    ),
    to: option('--to <day>', 'the last day in UTC (default: today)', parseDay),
    repo: option('--repo <repo>', 'only of this repo', parseRepo),
    by: given<Group>(new Option('--by <what>', 'group by').choices(Object.keys(groups)).default('day')),
  },
  wanted: 'a token of the tenant, or the admin token',
  run: (client, { context, operands: params, options }) =>
    printList(context, client, {
      route: 'listDownloads',
      params,
      query: { ...requireDaysInOrder(options), repo: options.repo },
      items: 'downloads',
      options,
      render: (pages) => renderDownloads(pages, { by: options.by, view: viewOf(context) }),
    }),
});

function renderDownloads(
  pages: readonly DownloadPageBody[],
  { by, view }: { by: Group; view: View },
): string {
  const month = pages[0]?.month;
  const heading = month ? monthLine(month) : '';
  const rows = summed(
    pages.flatMap(({ downloads }) => downloads),
    by,
  );
  if (rows.length === 0) return `${heading}No downloads on these days.\n`;
  return heading + sumsTable(by)(rows, view);
}

function monthLine({ month, bytes, limitBytes, resetsAt }: DownloadPageBody['month']): string {
  const limit =
    limitBytes === null ? 'no limit' : `of ${formatLimit(limitBytes)}, until ${resetsAt.slice(0, 10)}`;
  return `${month}: ${formatBytes(Math.max(0, bytes))} offered, ${limit}\n\n`;
}

type Sum = readonly [key: string, sum: { readonly bytes: number; readonly objects: number }];

/** A line for each day, repo or token: days in their order, the others by bytes. */
function summed(rows: readonly Row[], by: Group): Sum[] {
  const sums = new Map<string, { bytes: number; objects: number }>();
  for (const row of rows) {
    const key = row[groups[by]];
    const { bytes = 0, objects = 0 } = sums.get(key) ?? {};
    sums.set(key, { bytes: bytes + row.bytes, objects: objects + row.objects });
  }
  // Somebody asked for what is not stored.
  const lines = [...sums].filter(([, { bytes, objects }]) => bytes !== 0 || objects !== 0);
  if (by !== 'day') lines.sort(([, a], [, b]) => b.bytes - a.bytes);
  return lines;
}

const sumsTable = (by: Group) =>
  tableOf<Sum>([
    [by, ([key]) => key, least(12)],
    ['offered', ([, { bytes }]) => formatBytes(Math.max(0, bytes)), right],
    ['objects', ([, { objects }]) => formatCount(objects), right],
  ]);

export const downloads: CliSubject = {
  repo: publicCommands,
  repoParts: [publicPart],
  offered,
  commands: { 370: downloadsCommand },
  examples: {
    'repo public': [['lfs-quota repo public acme game --limit 100GiB', 'up to 100 GiB a month']],
    'repo private': [['lfs-quota repo private acme game']],
    downloads: [
      ['lfs-quota downloads acme --by repo', 'of this month'],
      ['lfs-quota downloads acme --from 2026-11-01 --to 2026-11-30 --by token'],
    ],
  },
};
