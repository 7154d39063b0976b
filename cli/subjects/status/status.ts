import { releaseText } from '../../../lambda/core/rules/release.ts';
import type { BodyOf } from '../../api-client.ts';
import { least, right, tableOf, wraps } from '../../columns.ts';
import type { CliSubject } from '../../command.ts';
import { CliError } from '../../errors.ts';
import { formatAge, formatCount } from '../../render.ts';
import { type View, viewOf } from '../../terminal.ts';

type StatusBody = BodyOf<'readStatus'>;

/** `check --health`: what failed; store, queues and schedule at a glance. */
const showHealth: NonNullable<CliSubject['health']> = async (client, { context, isJson }) => {
  const { body, text } = await client.ask('readStatus');
  context.out(isJson ? `${text}\n` : renderStatus(body, viewOf(context)));
  const open = body.parts.filter(({ state }) => state !== 'fine');
  if (open.length > 0)
    throw new CliError(`Needs attention: ${open.map(({ part }) => part).join(', ')}.`, {
      hint: 'See above, or `todo` in --json.',
    });
};

const partsTable = tableOf<StatusBody['parts'][number]>([
  ['part', ({ part }) => part],
  ['state', ({ state }) => (state === 'fine' ? 'fine' : `${state}!`)],
  ['says', ({ says }) => says, wraps],
]);

function renderStatus(body: StatusBody, view: View): string {
  const { parts, failures } = body;
  const todos = parts.flatMap(({ part, todo }) => (todo === null ? [] : [`${part}: ${todo}\n`]));
  return (
    partsTable(parts, view) +
    (failures && failures.length > 0 ? `\n${failuresTable(failures, view)}` : '') +
    (todos.length > 0 ? `\nTo do\n${todos.join('')}` : '') +
    `\nlfs-quota ${releaseText(body)}\n`
  );
}

const failuresTable = tableOf<NonNullable<StatusBody['failures']>[number]>([
  ['tenant', ({ tenant }) => tenant, least(16)],
  ['what failed', ({ kind }) => kind],
  ['last', ({ failedAt }, { nowMs }) => formatAge(failedAt, nowMs)],
  ['tries', ({ tries }) => formatCount(tries), right],
  ['why', ({ why }) => why],
  ['state', ({ over }) => (over ? 'over' : 'open')],
]);

export const status: CliSubject = {
  health: showHealth,
  oldNames: { status: 'check --health' },
  examples: {
    check: [
      ['lfs-quota check --health', 'does anything need attention?'],
      ["lfs-quota check --health --json | jq -r '.parts[] | select(.todo).says'", 'only what does'],
    ],
  },
};
