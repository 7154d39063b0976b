import type { Command } from 'commander';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import {
  type ReservationBody,
  reservationPageSchema,
} from '../../lambda/http/management/reservations/schemas.ts';
import type { CliContext } from '../context.ts';
import { type ListOptions, printList, withListOptions } from '../list-pages.ts';
import { openClient, parseRepo, parseTenant } from '../options.ts';
import { formatAge, formatCount, formatObjects, formatUntil } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';

/** `reservation list TENANT`. */
export function registerReservation(program: Command, context: CliContext): void {
  const group = program
    .command('reservation')
    .description('show what is promised to uploads under way; it cannot be taken back');
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
  ]);
  const columns = [
    { name: 'repo', least: 16 },
    'state',
    { name: 'objects', right: true },
    { name: 'size', right: true },
    'created',
    'URLs expire',
    'room is free',
  ];
  const arrived = reservations.filter((body) => body.arrived);
  const count = `${formatCount(reservations.length)} ${reservations.length === 1 ? 'reservation' : 'reservations'}`;
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
