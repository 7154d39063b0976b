import { auditActions } from '../../lambda/frame/access/rules/audit.ts';
import type { BodyOf } from '../api-client.ts';
import { least, tableOf, wraps } from '../columns.ts';
import { choice, listCommand, option, tenantOperand } from '../command.ts';
import { parseDay, requireDaysInOrder } from '../options.ts';

type AuditEntryBody = BodyOf<'listAudit'>['entries'][number];

export const auditCommand = listCommand({
  name: 'audit',
  description: 'Show who changed what',
  route: 'listAudit',
  operands: { tenant: tenantOperand },
  options: {
    from: option(
      '--from <day>',
      'the first day in UTC, such as 2026-11-21 (default: 400 days ago)',
      parseDay,
    ),
    to: option('--to <day>', 'the last day in UTC (default: today)', parseDay),
    action: choice('--action <action>', 'only this action', auditActions),
  },
  items: 'entries',
  query: ({ options: { from, to, action } }) => ({ ...requireDaysInOrder({ from, to }), action }),
  none: 'No entries in this time.\n',
  print: tableOf<AuditEntryBody>([
    ['time', ({ time }) => time.replace(/\.\d+Z$/, 'Z')],
    ['who', ({ by }) => whoOf(by), least(12)],
    ['action', ({ action }) => action],
    ['target', ({ target }) => valuesOf(target) || '-', least(16)],
    ['outcome', ({ outcome, reason }) => (reason === null ? outcome : `${outcome}: ${reason}`), wraps],
    ['change', (entry) => changeOf(entry) || '-', wraps],
  ]),
});

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
