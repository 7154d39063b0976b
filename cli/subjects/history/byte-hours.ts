import { InvalidArgumentError } from 'commander';
import type { BodyOf } from '../../api-client.ts';
import { least, right, tableOf } from '../../columns.ts';
import { group, listCommand, operand, option, required, routeCommand, tenantOperand } from '../../command.ts';
import { parseUpTo } from '../../options.ts';

/** `2026-11-28T07Z`, as ids have it, or a whole time. @returns the latter. */
function parseHour(text: string): string {
  const [, hour] = /^(\d{4}-\d\d-\d\dT\d\d)(?::00:00)?Z$/.exec(text) ?? [];
  if (hour === undefined || Number.isNaN(Date.parse(`${hour}:00:00Z`)))
    throw new InvalidArgumentError('Use an hour in UTC such as 2026-11-28T07Z.');
  return `${hour}:00:00Z`;
}

function parseByteSeconds(text: string): string {
  if (!/^-?[1-9]\d{0,23}$/.test(text))
    throw new InvalidArgumentError('Use a whole number, such as -7200000.');
  return text;
}

const recordsTable = tableOf<BodyOf<'listUsage'>['usage'][number]>([
  ['record', ({ id }) => id, least(20)],
  ['byte-seconds', ({ byteSeconds }) => byteSeconds, right],
  ['reason', ({ reason }) => reason ?? '', least(10)],
]);

export const byteHoursCommands = group('byte-hours', 'Show stored bytes by hour, for billing', [
  listCommand({
    name: 'list',
    description: 'Show byte-seconds of all tenants; an hour is final 2 hours after its end',
    route: 'listUsage',
    items: 'usage',
    options: {
      from: option(
        '--from <hour>',
        'the first hour, such as 2026-11-28T07Z (default: the last final one)',
        parseHour,
      ),
      to: option('--to <hour>', 'the end, exclusive (default: of the last final hour)', parseHour),
    },
    query: ({ options: { from, to } }) => ({ from, to }),
    none: 'No final hours.\n',
    print: recordsTable,
    pageSize: 1000,
  }),
  routeCommand({
    name: 'correct',
    description: 'Correct a final hour by a record of its own',
    route: 'correctUsage',
    operands: {
      tenant: tenantOperand,
      hour: operand('<hour>', 'the hour, such as 2026-11-28T07Z', parseHour),
    },
    options: {
      by: required(
        option('--by <byte-seconds>', 'added to it; negative if it was too much', parseByteSeconds),
      ),
      reason: required(option('--reason <text>', 'why, for your bills')),
      number: option('--number <n>', 'of the corrections of this hour (default: 1)', parseUpTo(20)),
    },
    body: ({ operands: { hour }, options: { by: byteSeconds, reason, number } }) => ({
      hour,
      byteSeconds,
      reason,
      ...(number !== undefined && { number }),
    }),
    print: ({ id, byteSeconds }) => `Corrected by ${byteSeconds} byte-seconds: ${id}\n`,
  }),
]);
