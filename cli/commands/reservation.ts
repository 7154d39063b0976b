import type { Command } from 'commander';
import {
  cancelledSchema,
  type ReservationBody,
  reservationPageSchema,
} from '../../lambda/api/contract/reservations.ts';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import type { ApiClient } from '../api-client.ts';
import { requireYes } from '../confirm-delete.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../errors.ts';
import { type ListOptions, printList, withListOptions } from '../list-pages.ts';
import { type ApiOptions, openClient, parseRepo, parseTenant, withApiOptions } from '../options.ts';
import { formatAge, formatCount, formatObjects, formatUntil } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';

interface Filter {
  readonly repo?: string;
  readonly id?: string;
  readonly madeBy?: string;
}

interface CancelOptions extends ApiOptions, Filter {
  readonly all?: boolean;
  readonly yes?: boolean;
}

const confirmation = {
  question: 'Uploads of them that are still in progress may exceed the limit. Cancel them? [y/N] ',
  withoutTerminal: 'There is no terminal to ask for confirmation. Add --yes to cancel them.',
  otherwise: 'No reservation was cancelled.',
};

/** `reservation list|cancel TENANT`. */
export function registerReservation(program: Command, context: CliContext): void {
  const group = program
    .command('reservation')
    .description('show the reservations of uploads, and cancel those that never arrived');
  registerList(group, context);
  registerCancel(group, context);
}

function registerCancel(group: Command, context: CliContext): void {
  withApiOptions(group.command('cancel'))
    .description('cancel late reservations; an upload still in progress may then exceed the limit')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .option('--repo <repo>', 'only those of this repo', parseRepo)
    .option('--id <id>', 'only this one')
    .option('--made-by <id>', 'only those of this token, rule or user, as `reservation list` shows it')
    .option('--all', 'all of the tenant')
    .option('-y, --yes', 'skip the confirmation; required without a terminal')
    .action(async (tenant: string, options: CancelOptions) => {
      const client = openClient(options, context);
      const filter = filterOf(options);
      if (Object.keys(filter).length > 0 === (options.all ?? false))
        throw new UsageError('Say which reservations: --repo, --id or --made-by, or else --all.');
      if (!options.yes) await requireYes(context, confirmation);
      await cancelAll({ client, context, tenant, filter, options });
    });
}

/** One request cancels some. */
async function cancelAll(input: {
  client: ApiClient;
  context: CliContext;
  tenant: string;
  filter: Readonly<Record<string, string>>;
  options: ApiOptions;
}): Promise<void> {
  const { client, context, tenant, filter, options } = input;
  const query = new URLSearchParams(filter);
  const path = `/v1/tenants/${tenant}/reservations`;
  const request = {
    method: 'DELETE' as const,
    path: query.size === 0 ? path : `${path}?${query}`,
    shape: cancelledSchema,
  };
  let cancelledCount = 0;
  let bytes = 0;
  await client.busy.during(
    () => `cancelled: ${formatReservations(cancelledCount)}`,
    async () => {
      for (let hasMore = true; hasMore; ) {
        const { body } = await client.send(request);
        cancelledCount += body.cancelledCount;
        bytes += body.bytes;
        hasMore = body.hasMore;
      }
    },
  );
  if (options.json) context.out(`${JSON.stringify({ tenant, cancelledCount, bytes, hasMore: false })}\n`);
  else if (cancelledCount === 0)
    context.out(
      `Cancelled none: only those in the state "late" can be. See the states: lfs-quota reservation list ${tenant}\n`,
    );
  else
    context.out(
      `Cancelled ${formatReservations(cancelledCount)}, ${formatBytes(bytes)}. A recount frees their space.\n`,
    );
}

const formatReservations = (count: number) =>
  `${formatCount(count)} ${count === 1 ? 'reservation' : 'reservations'}`;

function filterOf({ repo, id, madeBy }: Filter): Record<string, string> {
  return {
    ...(repo !== undefined && { repo }),
    ...(id !== undefined && { id }),
    ...(madeBy !== undefined && { madeBy }),
  };
}

function registerList(group: Command, context: CliContext): void {
  withListOptions(group.command('list'))
    .description("list a tenant's reservations, repo by repo")
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .option('--repo <repo>', 'only those of this repo', parseRepo)
    .action(async (tenant: string, options: ListOptions & { repo?: string }) => {
      await printList(context, openClient(options, context), {
        path: `/v1/tenants/${tenant}/reservations`,
        ...(options.repo !== undefined && { filter: { repo: options.repo } }),
        shape: reservationPageSchema,
        items: 'reservations',
        options,
        render: (pages) => {
          const reservations = pages.flatMap((page) => page.reservations);
          return reservations.length === 0
            ? 'No reservations: nothing is promised to uploads.\n'
            : renderReservations(reservations, viewOf(context));
        },
      });
    });
}

function renderReservations(reservations: readonly ReservationBody[], view: View): string {
  const { nowMs } = view;
  const rows = reservations.map((body) => [
    body.repo,
    body.arrived ? 'arrived' : body.state,
    formatCount(body.objectCount),
    formatBytes(body.bytes),
    formatAge(body.createdAt, nowMs),
    isAhead(body.expiresAt, nowMs) ? formatUntil(body.expiresAt, nowMs) : '-',
    body.arrived ? '-' : formatUntil(body.reservedUntil, nowMs),
    body.madeBy ?? '-',
  ]);
  const columns = [
    { name: 'repo', least: 16 },
    'state',
    { name: 'objects', right: true },
    { name: 'size', right: true },
    'created',
    'URLs expire',
    'room is free',
    { name: 'made by', least: 8 },
  ];
  const arrived = reservations.filter((body) => body.arrived);
  const count = formatReservations(reservations.length);
  return (
    renderTable(columns, rows, view) +
    `Total: ${count}, ${formatSum(reservations)}.` +
    `${arrived.length === 0 ? '' : ` Arrived already: ${formatSum(arrived)}.`}\n`
  );
}

function formatSum(reservations: readonly ReservationBody[]): string {
  let [objectCount, bytes] = [0, 0];
  for (const body of reservations) {
    objectCount += body.objectCount;
    bytes += body.bytes;
  }
  return `${formatObjects(objectCount)}, ${formatBytes(bytes)}`;
}

function isAhead(isoDate: string, nowMs: number): boolean {
  return Date.parse(isoDate) > nowMs;
}
