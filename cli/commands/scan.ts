import type { BodyOf } from '../api-client.ts';
import { least, right, tableOf } from '../columns.ts';
import { group, listCommand, ofRepo, routeCommand, tenantOperand } from '../command.ts';
import { formatAge, formatCount, formatUntil } from '../render.ts';
import type { View } from '../terminal.ts';
import { reconcileCommand } from './reconcile.ts';
import { uploadCommands } from './reservation.ts';

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

/** Of what is scanned at the moment. */
const ofProgress =
  (cellOf: (progress: NonNullable<ScanBody['progress']>, view: View) => string) =>
  ({ progress }: ScanBody, view: View) =>
    progress ? cellOf(progress, view) : '-';

const renderScans = tableOf<ScanBody>([
  ['repo', ({ repo }) => repo, least(16)],
  ['scan', ({ kind }) => kind],
  ['state', ({ state }) => state],
  ['done', ofProgress(({ share }) => `${(share * 100).toFixed(1)} %`), right],
  ['objects', ofProgress(({ objectCount }) => formatCount(objectCount)), right],
  [
    'a second',
    ofProgress(({ objectsPerSecond: rate }) => (rate === null ? '-' : formatCount(Math.round(rate)))),
    right,
  ],
  ['LISTs', ofProgress(({ listRequests }) => formatCount(listRequests)), right],
  ['started', ofProgress(({ beganAt }, { nowMs }) => formatAge(beganAt, nowMs))],
  [
    'left',
    ofProgress(({ secondsLeft }, { nowMs }) =>
      secondsLeft === null ? '-' : formatUntil(new Date(nowMs + secondsLeft * 1000).toISOString(), nowMs),
    ),
  ],
]);

export const scanCommands = group('scan', 'Rescan storage, pause a scan, see uploads', [
  reconcileCommand,
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
  ...uploadCommands,
]);
