import { formatBytes, formatPercent } from '../../lambda/core/rules/sizes.ts';
import type { ApiClient, BodyOf } from '../api-client.ts';
import { least, right, tableOf } from '../columns.ts';
import {
  actionCommand,
  type CliSubject,
  choiceOperand,
  group,
  listCommand,
  operand,
  option,
  type Rows,
  routeCommand,
  rowsOf,
  tenantNameOperand,
} from '../command.ts';
import { confirmLimit, deleteOptions, formatFreed, limitOptions, runDelete } from '../confirm.ts';
import { parseLimit, parseLimitOption } from '../options.ts';
import { formatAge, formatCount, formatLimit } from '../render.ts';
import type { Colour, View } from '../terminal.ts';
import { storageClassOperand } from './repo.ts';

type TenantBody = BodyOf<'getTenant'>;

const ofTenant = { tenant: tenantNameOperand };
const what = choiceOperand('<what>', 'pushes: only uploads; all: downloads and logins, too', [
  'pushes',
  'all',
]);
const print = (body: TenantBody, { view }: { view: View }) => renderTenant(body, view.nowMs);

const rows: Rows = {
  10: routeCommand({
    name: 'create',
    description: 'Create a tenant',
    route: 'createTenant',
    operands: ofTenant,
    options: {
      limit: option('--limit <size>', 'storage limit, such as 1GiB (default: unlimited)', parseLimitOption),
      plan: option('--plan <plan>', 'name of its plan'),
    },
    body: ({ operands: { tenant }, options: { limit, plan } }) => ({
      tenant,
      limitBytes: limit?.bytes,
      plan,
    }),
    print,
    after: async (_, { operands: { tenant }, options, context }) => {
      if (options.json) return;
      context.out(
        `\nNext, create a token for Git: ${context.program} token create ${tenant} --scope write\n`,
      );
    },
  }),
  20: listCommand({
    name: 'list',
    description: 'List all tenants, the fullest first; with --json by name',
    route: 'listTenants',
    operands: {},
    items: 'tenants',
    none: ({ context }) => `No tenants yet. Create one: ${context.program} tenant create NAME --limit 1GiB\n`,
    print: (tenants, view) => renderTenants(tenants.sort(byFill), view),
  }),
  30: routeCommand({
    name: 'show',
    description: 'Show one tenant',
    route: 'getTenant',
    operands: ofTenant,
    print,
  }),

  50: routeCommand({
    name: 'plan',
    description: "Change a tenant's plan, a text of yours",
    route: 'updateTenant',
    operands: { ...ofTenant, plan: operand('<plan>', 'name of the plan') },
    body: ({ operands: { plan } }) => ({ plan }),
    print,
  }),
  55: routeCommand({
    name: 'new-repos',
    description: 'Choose whether pushes can create repos',
    route: 'updateTenant',
    operands: {
      ...ofTenant,
      how: choiceOperand('<how>', 'pushed: the first push creates it; created: you must create it first', [
        'pushed',
        'created',
      ]),
    },
    body: ({ operands: { how } }) => ({ reposMustExist: how === 'created' }),
    print,
  }),
  60: routeCommand({
    name: 'storage-class',
    description: 'Set the storage class of new objects',
    route: 'updateTenant',
    operands: { ...ofTenant, class: storageClassOperand("none: the bucket's own") },
    body: ({ operands }) => ({ storageClass: operands.class === 'none' ? null : operands.class }),
    print,
  }),
  62: routeCommand({
    name: 'suspend',
    description: 'Suspend a tenant: its tokens stay, and get 403',
    route: 'updateTenant',
    operands: { ...ofTenant, what },
    options: { message: option('--message <sentence>', 'what its users see, in Git too') },
    body: ({ operands: { what: suspended }, options: { message } }) => ({
      suspended,
      ...(message !== undefined && { suspendedMessage: message }),
    }),
    print,
  }),
  65: routeCommand({
    name: 'resume',
    description: 'Resume a suspended tenant',
    route: 'updateTenant',
    operands: ofTenant,
    body: () => ({ suspended: null }),
    print,
  }),
  90: actionCommand({
    name: 'delete',
    description: 'Delete a tenant and all of its repos permanently',
    operands: ofTenant,
    options: deleteOptions,
    run: async (client, { operands: params, options, context }) => {
      const { tenant } = params;
      const deleted = await runDelete(context, {
        client,
        options,
        route: 'deleteTenant',
        requests: [{ params }],
        question: `You can't undo this or reuse the name. To delete it permanently, type ${tenant}: `,
        isYes: (answer) => answer === tenant,
        summary: (plans) =>
          `${tenant}: ${formatFreed(plans)}.\n` +
          "Its tokens are revoked, and its objects are deleted. You can't reuse the name.\n",
      });
      if (deleted === undefined || options.json) return;
      context.out(
        `Its objects are being deleted. See what's left: ${context.program} tenant show ${tenant}\n` +
          "When it's finished, the tenant isn't found any more.\n",
      );
    },
  }),
};

/** A command that changes a limit. @param input.readUsed what counts against it now. null: not known yet. */
const limitCommand = (input: {
  name: string;
  description: string;
  example: string;
  field: 'limitBytes' | 'downloadLimitBytes';
  readUsed: (client: ApiClient, tenant: string) => Promise<number | null>;
  warning: (tenant: string, used: string, limit: string, excess: string) => string;
}) =>
  routeCommand({
    ...input,
    route: 'updateTenant',
    operands: {
      ...ofTenant,
      size: operand('<size>', `the new limit, such as ${input.example}, or unlimited`, parseLimit),
    },
    options: limitOptions,
    before: (client, { operands: { tenant, size: bytes }, options, context }) =>
      confirmLimit(context, options, {
        bytes,
        readUsed: () => input.readUsed(client, tenant),
        warning: (...sizes) => input.warning(tenant, ...sizes),
      }),
    body: ({ operands }) => ({ [input.field]: operands.size }),
    print,
  });

const limitRows = (offered: CliSubject['offered']): Rows => ({
  40: limitCommand({
    name: 'limit',
    description: "Change a tenant's storage limit",
    example: '10GiB',
    field: 'limitBytes',
    readUsed: async (client, tenant) =>
      (await client.ask('getTenant', { params: { tenant } })).body.usage?.storedBytes ?? null,
    warning: (tenant, used, limit, excess) =>
      `${tenant} stores ${used}, above the new limit of ${limit}. Uploads fail until you delete ${excess}.`,
  }),
  45: limitCommand({
    name: 'download-limit',
    description: "Change a tenant's monthly download limit",
    example: '1TiB',
    field: 'downloadLimitBytes',
    readUsed: async (client, tenant) => (await offered?.(client, tenant))?.bytes ?? null,
    warning: (tenant, used, limit) =>
      `${tenant} used ${used} this month, above the new limit of ${limit}. Downloads fail until next month.`,
  }),
});

/** `tenant create|list|show|limit|download-limit|plan|new-repos|storage-class|suspend|resume|delete`, and what subjects have. */
export const tenantCommands = (subjects: readonly CliSubject[]) => {
  const [offered] = subjects.flatMap((subject) => subject.offered ?? []);
  const more = [limitRows(offered), ...subjects.map(({ tenant }) => tenant)];
  return group('tenant', 'Create, list, change, suspend or delete tenants', rowsOf(rows, more));
};

function renderTenant(body: TenantBody, nowMs: number): string {
  const lines = [
    `tenant   ${nameOf(body)}`,
    `plan     ${body.plan ?? '-'}`,
    `limit    ${formatLimit(body.limitBytes)}`,
    `stored   ${body.usage === null ? 'not scanned yet' : formatBytes(body.usage.storedBytes)}`,
    ...(body.downloadLimitBytes === null ? [] : [`download ${formatLimit(body.downloadLimitBytes)} a month`]),
    ...(body.reposMustExist ? ['repos    must be created before a push'] : []),
    ...(body.storageClass ? [`class    ${body.storageClass} for new objects`] : []),
    ...(body.suspended ? [`state    suspended (${body.suspended}): ${body.suspendedMessage ?? '-'}`] : []),
    `created  ${formatAge(body.createdAt, nowMs)}`,
  ];
  return `${lines.join('\n')}\n`;
}

const renderTenants = tableOf<TenantBody>([
  ['tenant', nameOf, { least: 16, stays: true }],
  ['plan', ({ plan }) => plan ?? '-', least(8)],
  ['limit', ({ limitBytes }) => formatLimit(limitBytes), right],
  ['used', shareTaken, { right: true, stays: true, colourOf: colourOfShare }],
  ['stored', ({ usage }) => (usage === null ? '-' : formatBytes(usage.storedBytes)), right],
  ['objects', ({ usage }) => (usage === null ? '-' : formatCount(usage.objectCount)), right],
  ['scanned', ({ usage }, { nowMs }) => (usage === null ? 'never' : formatAge(usage.scannedAt, nowMs))],
]);

/** From this share of the limit on, in percent, a tenant is worth a look. */
const nearlyFullPercent = 90;

function colourOfShare(cell: string): Colour | undefined {
  const percent = cell.startsWith('over') ? Number.POSITIVE_INFINITY : Number.parseFloat(cell);
  if (percent >= 100) return 'red';
  return percent >= nearlyFullPercent ? 'yellow' : undefined;
}

/** The fullest first, then those without a limit or a count, by what they store. */
function byFill(a: TenantBody, b: TenantBody): number {
  return fillOf(b) - fillOf(a) || (b.usage?.storedBytes ?? 0) - (a.usage?.storedBytes ?? 0);
}

/** -1: nobody can say. A limit of nothing is full. */
function fillOf({ usage, limitBytes }: TenantBody): number {
  if (usage === null || limitBytes === null) return -1;
  const taken = usage.storedBytes + usage.reservedBytes;
  return limitBytes > 0 ? taken / limitBytes : taken > 0 ? Number.MAX_VALUE : 1;
}

/** How much of the limit is stored or reserved, as the bar of `usage` shows it. */
function shareTaken({ usage, limitBytes }: TenantBody): string {
  if (usage === null || limitBytes === null) return '-';
  return formatPercent(usage.storedBytes + usage.reservedBytes, limitBytes);
}

function nameOf({ tenant, deleting, suspended }: TenantBody): string {
  if (deleting) return `${tenant} (being deleted)`;
  return suspended ? `${tenant} (suspended)` : tenant;
}
