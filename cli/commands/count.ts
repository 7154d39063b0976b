import type { BodyOf } from '../api-client.ts';
import { group, listCommand, ofRepo, routeCommand, tenantOperand } from '../command.ts';
import { formatAge, formatCount, formatUntil } from '../render.ts';
import { renderTable } from '../table.ts';
import type { View } from '../terminal.ts';

type CountBody = BodyOf<'changeCount'>;

/** What each command asks for. */
const changes = [
  {
    name: 'pause',
    state: 'paused',
    description: 'scan no shard of it until it is resumed; pushes and deletes go on',
  },
  { name: 'resume', state: 'running', description: 'go on with its count' },
  {
    name: 'cancel',
    state: 'cancelled',
    description: 'give up the recount that is under way; what was counted stays',
  },
] as const;

/** `count list|pause|resume|cancel`. */
export const countCommands = group('count', 'show and steer how repos of many objects are counted', [
  listCommand({
    name: 'list',
    description: 'list the repos that are counted by shards, and how far they are',
    route: 'listCounts',
    operands: { tenant: tenantOperand },
    items: 'counts',
    none: 'No repo is so large that it is counted by shards.\n',
    print: renderCounts,
  }),
  ...changes.map(({ name, state, description }) =>
    routeCommand({
      name,
      description,
      route: 'changeCount',
      operands: ofRepo,
      body: () => ({ state }),
      print: (body, { view }) => renderCounts([body], view),
    }),
  ),
]);

function renderCounts(counts: readonly CountBody[], view: View): string {
  const { nowMs } = view;
  const rows = counts.map(({ repo, kind, state, progress }) => [
    repo,
    kind,
    state,
    ...(progress
      ? [
          `${(progress.share * 100).toFixed(1)} %`,
          formatCount(progress.objectCount),
          progress.objectsPerSecond === null ? '-' : formatCount(Math.round(progress.objectsPerSecond)),
          formatCount(progress.listRequests),
          formatAge(progress.beganAt, nowMs),
          progress.secondsLeft === null
            ? '-'
            : formatUntil(new Date(nowMs + progress.secondsLeft * 1000).toISOString(), nowMs),
        ]
      : ['-', '-', '-', '-', '-', '-']),
  ]);
  const columns = [
    { name: 'repo', least: 16 },
    'count',
    'state',
    { name: 'done', right: true },
    { name: 'objects', right: true },
    { name: 'a second', right: true },
    { name: 'LISTs', right: true },
    'began',
    'left',
  ];
  return renderTable(columns, rows, view);
}
