import { type Command, Option } from 'commander';
import { type DownloadPageBody, downloadPageSchema } from '../../lambda/api/contract/downloads.ts';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import type { CliContext } from '../context.ts';
import { type ListOptions, printList, withPageOptions } from '../list-pages.ts';
import { openClient, parseDay, parseRepo, parseTenant, requireDaysInOrder } from '../options.ts';
import { formatCount, formatLimit } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';

type Row = DownloadPageBody['downloads'][number];
const groups = { day: 'day', repo: 'repo', token: 'tokenId' } as const;
type Group = keyof typeof groups;

interface DownloadsOptions extends ListOptions {
  readonly from?: string;
  readonly to?: string;
  readonly repo?: string;
  readonly by: Group;
}

/** `downloads`. */
export function registerDownloads(program: Command, context: CliContext): void {
  withPageOptions(program.command('downloads'))
    .description('show what was offered for download; with --json by day, repo and token')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .option(
      '--from <day>',
      'the first day in UTC, such as 2026-11-21 (default: the first of this month)',
      parseDay,
    )
    .option('--to <day>', 'the last day in UTC (default: today)', parseDay)
    .option('--repo <repo>', 'only of this repo', parseRepo)
    .addOption(new Option('--by <what>', 'a line for each').choices(Object.keys(groups)).default('day'))
    .action(async (tenant: string, options: DownloadsOptions) => {
      const { from, to, repo } = options;
      requireDaysInOrder(options);
      const client = openClient(options, context, 'a token of the tenant, or the admin token');
      await printList(context, client, {
        path: `/v1/tenants/${tenant}/downloads`,
        filter: {
          ...(from !== undefined && { from }),
          ...(to !== undefined && { to }),
          ...(repo !== undefined && { repo }),
        },
        shape: downloadPageSchema,
        items: 'downloads',
        options,
        render: (pages) => renderDownloads(pages, { by: options.by, view: viewOf(context) }),
      });
    });
}

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
  if (rows.length === 0) return `${heading}Nothing was offered on these days.\n`;
  const columns = [
    { name: by, least: 12 },
    { name: 'offered', right: true },
    { name: 'objects', right: true },
  ];
  return heading + renderTable(columns, rows, view);
}

function monthLine({ month, bytes, limitBytes, resetsAt }: DownloadPageBody['month']): string {
  const limit =
    limitBytes === null ? 'no limit' : `of ${formatLimit(limitBytes)}, until ${resetsAt.slice(0, 10)}`;
  return `${month}: ${formatBytes(Math.max(0, bytes))} offered, ${limit}\n\n`;
}

/** A line for each day, repo or token: days in their order, the others by bytes. */
function summed(rows: readonly Row[], by: Group): string[][] {
  const sums = new Map<string, { bytes: number; objects: number }>();
  for (const row of rows) {
    const key = row[groups[by]];
    const { bytes = 0, objects = 0 } = sums.get(key) ?? {};
    sums.set(key, { bytes: bytes + row.bytes, objects: objects + row.objects });
  }
  // Somebody asked for what is not stored.
  const lines = [...sums].filter(([, { bytes, objects }]) => bytes !== 0 || objects !== 0);
  if (by !== 'day') lines.sort(([, a], [, b]) => b.bytes - a.bytes);
  return lines.map(([key, { bytes, objects }]) => [
    key,
    formatBytes(Math.max(0, bytes)),
    formatCount(objects),
  ]);
}
