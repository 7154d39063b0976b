import { type Command, Option } from 'commander';
import { type AuditEntryBody, auditPageSchema } from '../../lambda/api/contract/audit.ts';
import { auditActions } from '../../lambda/domain/audit.ts';
import type { CliContext } from '../context.ts';
import { type ListOptions, printList, withListOptions } from '../list-pages.ts';
import { managerToken, openClient, parseDay, parseTenant, requireDaysInOrder } from '../options.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';

interface AuditOptions extends ListOptions {
  readonly from?: string;
  readonly to?: string;
  readonly action?: string;
}

/** `audit`. */
export function registerAudit(program: Command, context: CliContext): void {
  withListOptions(program.command('audit'))
    .description('show who did what to a tenant, the newest first; with --json all fields')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .option('--from <day>', 'the first day in UTC, such as 2026-11-21 (default: 400 days ago)', parseDay)
    .option('--to <day>', 'the last day in UTC (default: today)', parseDay)
    .addOption(new Option('--action <action>', 'only this action').choices([...auditActions]))
    .action(async (tenant: string, options: AuditOptions) => {
      const { from, to, action } = options;
      requireDaysInOrder(options);
      await printList(context, openClient(options, context, managerToken), {
        path: `/v1/tenants/${tenant}/audit`,
        filter: {
          ...(from !== undefined && { from }),
          ...(to !== undefined && { to }),
          ...(action !== undefined && { action }),
        },
        shape: auditPageSchema,
        items: 'entries',
        options,
        render: (pages) => {
          const entries = pages.flatMap((page) => page.entries);
          return entries.length === 0
            ? 'Nothing was done in this time.\n'
            : renderAudit(entries, viewOf(context));
        },
      });
    });
}

function renderAudit(entries: readonly AuditEntryBody[], view: View): string {
  const rows = entries.map((entry) => [
    entry.time.replace(/\.\d+Z$/, 'Z'),
    whoOf(entry.by),
    entry.action,
    valuesOf(entry.target) || '-',
    entry.reason === null ? entry.outcome : `${entry.outcome}: ${entry.reason}`,
    changeOf(entry) || '-',
  ]);
  const columns = [
    'time',
    { name: 'who', least: 12 },
    'action',
    { name: 'target', least: 16 },
    { name: 'outcome', wraps: true },
    { name: 'change', wraps: true },
  ];
  return renderTable(columns, rows, view);
}

function whoOf({ kind, tokenId, name }: AuditEntryBody['by']): string {
  if (kind === 'operator') return 'operator';
  return [name ?? kind, ...(tokenId === null ? [] : [`(${tokenId})`])].join(' ');
}

type Fields = NonNullable<AuditEntryBody['before']>;

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

const valuesOf = (fields: Fields) => Object.values(fields).map(textOf).join(' ');

/** `limitBytes: 10 → 20`, or what was asked if nothing tells what changed. */
function changeOf({ before, after, asked }: AuditEntryBody): string {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const changes = names.flatMap((name) => {
    const [was, is] = [before?.[name], after?.[name]].map((value) =>
      value === undefined || value === null ? undefined : textOf(value),
    );
    if (was === is) return [];
    if (before === null) return [`${name}: ${is}`];
    if (after === null) return [`${name}: ${was} → -`];
    return [`${name}: ${was ?? '-'} → ${is ?? '-'}`];
  });
  if (before !== null || after !== null) return changes.join(', ');
  return Object.entries(asked ?? {})
    .map(([name, value]) => `${name}: ${textOf(value)}`)
    .join(', ');
}
