import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import type { ApiClient, Asking, BodyOf } from '../api-client.ts';
import { least, right, tableOf } from '../columns.ts';
import { actionCommand, flag, listCommand, option, tenantOperand } from '../command.ts';
import { requireYes } from '../confirm.ts';
import { UsageError } from '../errors.ts';
import { parseRepo } from '../options.ts';
import { formatAge, formatCount, formatCounted, formatSum, formatUntil } from '../render.ts';
import type { View } from '../terminal.ts';

type ReservationBody = BodyOf<'listReservations'>['reservations'][number];

const confirmation = {
  question: 'Their uploads might still finish, and exceed the limit. Cancel them? [y/N] ',
  withoutTerminal: "Can't prompt without a terminal. Pass --yes to cancel them.",
  otherwise: 'Canceled. Nothing changed.',
};

const repo = option('--repo <repo>', 'only those of this repo', parseRepo);

/** `scan uploads`, `scan cancel-uploads`. */
export const uploadCommands = [
  listCommand({
    name: 'uploads',
    description: 'List uploads in progress, repo by repo',
    route: 'listReservations',
    operands: { tenant: tenantOperand },
    options: { repo },
    items: 'reservations',
    query: ({ options }) => ({ repo: options.repo }),
    none: 'No uploads in progress.\n',
    print: renderReservations,
  }),
  actionCommand({
    name: 'cancel-uploads',
    description: 'Cancel uploads that never finished; a slow one might then exceed the limit',
    operands: { tenant: tenantOperand },
    options: {
      repo,
      id: option('--id <id>', 'only this one; also ends its uploads in chunks'),
      madeBy: option('--made-by <id>', 'only those of this token, rule or user'),
      all: flag('--all', 'all of the tenant'),
      yes: flag('-y, --yes', 'skip the prompt; required without a terminal'),
    },
    run: async (client, { operands: params, options, context }) => {
      const { id, madeBy, all = false } = options;
      const query = { repo: options.repo, id, madeBy };
      if (Object.values(query).some((value) => value !== undefined) === all)
        throw new UsageError('Choose uploads: --repo, --id or --made-by, or --all.');
      if (!options.yes) await requireYes(context, confirmation);
      const sum = await cancelAll(client, { params, query });
      context.out(
        options.json
          ? `${JSON.stringify({ ...params, ...sum, hasMore: false })}\n`
          : cancelledText(params, sum),
      );
    },
  }),
];

/** One request cancels some. */
async function cancelAll(client: ApiClient, asking: Asking<'cancelReservations'>) {
  let cancelledCount = 0;
  let bytes = 0;
  await client.busy.during(
    () => `canceled: ${formatReservations(cancelledCount)}`,
    async () => {
      for (let hasMore = true; hasMore; ) {
        const { body } = await client.ask('cancelReservations', asking);
        cancelledCount += body.cancelledCount;
        bytes += body.bytes;
        hasMore = body.hasMore;
      }
    },
  );
  return { cancelledCount, bytes };
}

function cancelledText(
  { tenant }: { tenant: string },
  { cancelledCount, bytes }: { cancelledCount: number; bytes: number },
): string {
  if (cancelledCount === 0)
    return `Canceled nothing: only unconfirmed reservations can be canceled, and by --id uploads in chunks. See them: lfs-quota scan uploads ${tenant}\n`;
  return `Canceled ${formatReservations(cancelledCount)}, ${formatBytes(bytes)}. A reconcile frees their space.\n`;
}

const formatReservations = (count: number) => formatCounted(count, 'reservation');

const reservationsTable = tableOf<ReservationBody>([
  ['repo', ({ repo: name }) => name, least(16)],
  ['state', ({ arrived, state }) => (arrived ? 'arrived' : state)],
  ['objects', ({ objectCount }) => formatCount(objectCount), right],
  ['size', ({ bytes }) => formatBytes(bytes), right],
  ['created', ({ createdAt }, { nowMs }) => formatAge(createdAt, nowMs)],
  [
    'URLs expire',
    ({ expiresAt }, { nowMs }) => (isAhead(expiresAt, nowMs) ? formatUntil(expiresAt, nowMs) : '-'),
  ],
  [
    'space is free',
    ({ arrived, reservedUntil }, { nowMs }) => (arrived ? '-' : formatUntil(reservedUntil, nowMs)),
  ],
  ['made by', ({ madeBy }) => madeBy ?? '-', least(8)],
]);

function renderReservations(reservations: readonly ReservationBody[], view: View): string {
  const arrived = reservations.filter((body) => body.arrived);
  const count = formatReservations(reservations.length);
  return (
    reservationsTable(reservations, view) +
    `Total: ${count}, ${formatSum(sumOf(reservations))}.` +
    `${arrived.length === 0 ? '' : ` Arrived already: ${formatSum(sumOf(arrived))}.`}\n`
  );
}

function sumOf(reservations: readonly ReservationBody[]) {
  const sum = { objectCount: 0, bytes: 0 };
  for (const { objectCount, bytes } of reservations) {
    sum.objectCount += objectCount;
    sum.bytes += bytes;
  }
  return sum;
}

function isAhead(isoDate: string, nowMs: number): boolean {
  return Date.parse(isoDate) > nowMs;
}
