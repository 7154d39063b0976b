import type { BodyOf } from '../api-client.ts';
import { group, listCommand, ofRepo, routeCommand, tenantOperand } from '../command.ts';
import { formatAge, formatCount, formatUntil } from '../render.ts';
import { renderTable } from '../table.ts';
import type { View } from '../terminal.ts';

type ScanBody = BodyOf<'changeScan'>;

/** What each command asks for. */
const changes = [
  {
    name: 'pause',
    state: 'paused',
    description: 'Pause its scan; pushes and deletes work',
  },
  { name: 'resume', state: 'running', description: 'Resume its scan' },
  {
    name: 'cancel',
    state: 'cancelled',
    description: 'Stop the requested rescan; finished parts stay',
  },
] as const;

/** `scan list|pause|resume|cancel`. */
export const scanCommands = group('scan', 'Show, pause or resume scans of large repos', [
  listCommand({
    name: 'list',
    description: 'List large repos, with the progress of their scans',
    route: 'listScans',
    operands: { tenant: tenantOperand },
    items: 'scans',
    none: 'No large repos.\n',
    print: renderScans,
  }),
  ...changes.map(({ name, state, description }) =>
    routeCommand({
      name,
      description,
      route: 'changeScan',
      operands: ofRepo,
      body: () => ({ state }),
      print: (body, { view }) => renderScans([body], view),
    }),
  ),
]);

function renderScans(scans: readonly ScanBody[], view: View): string {
  const { nowMs } = view;
  const rows = scans.map(({ repo, kind, state, progress }) => [
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
    'scan',
    'state',
    { name: 'done', right: true },
    { name: 'objects', right: true },
    { name: 'a second', right: true },
    { name: 'LISTs', right: true },
    'started',
    'left',
  ];
  return renderTable(columns, rows, view);
}
