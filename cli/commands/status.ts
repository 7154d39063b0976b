import type { BodyOf } from '../api-client.ts';
import { routeCommand } from '../command.ts';
import { CliError } from '../errors.ts';
import { formatAge, formatCount } from '../render.ts';
import { renderTable } from '../table.ts';
import type { View } from '../terminal.ts';

type StatusBody = BodyOf<'readStatus'>;

/** `status`: what failed; store, queues and schedule at a glance. */
export const statusCommand = routeCommand({
  name: 'status',
  description: 'Check service health (exit 1: needs attention)',
  route: 'readStatus',
  operands: {},
  print: (body, { view }) => renderStatus(body, view),
  after: async (_, { body }) => {
    const open = body.parts.filter(({ state }) => state !== 'fine');
    if (open.length > 0)
      throw new CliError(`Needs attention: ${open.map(({ part }) => part).join(', ')}.`, {
        hint: 'See above, or `todo` in --json.',
      });
  },
});

function renderStatus({ parts, failures }: StatusBody, view: View): string {
  const rows = parts.map(({ part, state, says }) => [part, state === 'fine' ? 'fine' : `${state}!`, says]);
  const todos = parts.flatMap(({ part, todo }) => (todo === null ? [] : [`${part}: ${todo}\n`]));
  return (
    renderTable(['part', 'state', { name: 'says', wraps: true }], rows, view) +
    (failures && failures.length > 0 ? `\n${renderFailures(failures, view)}` : '') +
    (todos.length > 0 ? `\nTo do\n${todos.join('')}` : '')
  );
}

function renderFailures(failures: NonNullable<StatusBody['failures']>, view: View): string {
  const rows = failures.map(({ kind, tenant, failedAt, tries, why, over }) => [
    tenant,
    kind,
    formatAge(failedAt, view.nowMs),
    formatCount(tries),
    why,
    over ? 'over' : 'open',
  ]);
  const columns = [
    { name: 'tenant', least: 16 },
    'what failed',
    'last',
    { name: 'tries', right: true },
    'why',
    'state',
  ];
  return renderTable(columns, rows, view);
}
