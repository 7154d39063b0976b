import type { Command } from 'commander';
import { type StatusBody, statusSchema } from '../../lambda/api/contract/status.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { type ApiOptions, openClient, withApiOptions } from '../options.ts';
import { formatAge, formatCount } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';

/** `status`: what failed; store, queues and schedule at a glance. */
export function registerStatus(program: Command, context: CliContext): void {
  withApiOptions(program.command('status'))
    .description(
      'show what failed, the store, the queues and the schedule; exits with 1 if something is to be done',
    )
    .action(async (options: ApiOptions) => {
      const client = openClient(options, context);
      const { body, text } = await client.send({ method: 'GET', path: '/v1/status', shape: statusSchema });
      context.out(options.json ? `${text}\n` : renderStatus(body, viewOf(context)));
      const open = body.parts.filter(({ state }) => state !== 'fine');
      if (open.length > 0)
        throw new CliError(`Something is to be done: ${open.map(({ part }) => part).join(', ')}.`, {
          hint: 'What that is stands above, with `todo` in --json.',
        });
    });
}

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
