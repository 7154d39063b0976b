import { Argument, type Command } from 'commander';
import { downloadPageSchema } from '../../lambda/api/contract/downloads.ts';
import { type TenantBody, tenantPageSchema, tenantSchema } from '../../lambda/api/contract/tenants.ts';
import { formatBytes, formatPercent } from '../../lambda/domain/bytes.ts';
import type { ApiClient } from '../api-client.ts';
import type { Colour } from '../colour.ts';
import { type DeleteOptions, formatFreed, runDelete, withDeleteOptions } from '../confirm-delete.ts';
import { confirmLimit, type LimitOptions, withLimitOptions } from '../confirm-limit.ts';
import type { CliContext } from '../context.ts';
import { type ListOptions, printList, withListOptions } from '../list-pages.ts';
import {
  type ApiOptions,
  openClient,
  parseLimit,
  parseLimitOption,
  parseTenant,
  withApiOptions,
} from '../options.ts';
import { printAnswer } from '../print-answer.ts';
import { printable } from '../printable.ts';
import { formatAge, formatCount, formatLimit } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';

/** `tenant create|list|show|limit|download-limit|plan|new-repos|delete`. */
export function registerTenant(program: Command, context: CliContext): void {
  const group = program.command('tenant').description('create, list, change and delete tenants');
  registerCreate(group, context);
  registerList(group, context);
  registerShow(group, context);
  for (const limit of limitCommands) registerLimit(group, context, limit);
  registerPlan(group, context);
  registerNewRepos(group, context);
  registerDelete(group, context);
}

function registerCreate(group: Command, context: CliContext): void {
  withApiOptions(group.command('create'))
    .description('create a tenant')
    .argument('<name>', 'name of the tenant', parseTenant)
    .option('--limit <size>', 'storage limit, such as 1GiB (default: unlimited)', parseLimitOption)
    .option('--plan <plan>', 'name of its plan')
    .action(
      async (tenant: string, options: ApiOptions & { limit?: { bytes: number | null }; plan?: string }) => {
        await printAnswer(context, options, {
          method: 'POST',
          path: '/v1/tenants',
          body: {
            tenant,
            ...(options.limit === undefined ? {} : { limitBytes: options.limit.bytes }),
            ...(options.plan === undefined ? {} : { plan: options.plan }),
          },
          shape: tenantSchema,
          render: (body) => renderTenant(body, context.nowMs()),
        });
        if (!options.json)
          context.out(
            `\nNext, create a token for git: ${context.program} token create ${tenant} --scope write\n`,
          );
      },
    );
}

function registerList(group: Command, context: CliContext): void {
  withListOptions(group.command('list'))
    .description('list all tenants, the fullest first; with --json by name')
    .action(async (options: ListOptions) => {
      await printList(context, openClient(options, context), {
        path: '/v1/tenants',
        shape: tenantPageSchema,
        items: 'tenants',
        options,
        render: (pages) => {
          const tenants = pages.flatMap((page) => page.tenants);
          return tenants.length === 0
            ? `No tenants yet. Create one: ${context.program} tenant create NAME --limit 1GiB\n`
            : renderTenants(tenants.sort(byFill), viewOf(context));
        },
      });
    });
}

function registerShow(group: Command, context: CliContext): void {
  withApiOptions(group.command('show'))
    .description('show one tenant')
    .argument('<name>', 'name of the tenant', parseTenant)
    .action(async (tenant: string, options: ApiOptions) => {
      await printAnswer(context, options, {
        method: 'GET',
        path: `/v1/tenants/${tenant}`,
        shape: tenantSchema,
        render: (body) => renderTenant(body, context.nowMs()),
      });
    });
}

/** Changes a tenant, and prints what it is then. */
async function changeTenant(
  context: CliContext,
  { tenant, options, change }: { tenant: string; options: ApiOptions; change: object },
): Promise<void> {
  await printAnswer(context, options, {
    method: 'PATCH',
    path: `/v1/tenants/${tenant}`,
    body: change,
    shape: tenantSchema,
    render: (body) => renderTenant(body, context.nowMs()),
  });
}

function registerPlan(group: Command, context: CliContext): void {
  withApiOptions(group.command('plan'))
    .description('change the plan that a tenant is billed by; it is only kept')
    .argument('<name>', 'name of the tenant', parseTenant)
    .argument('<plan>', 'name of the plan')
    .action((tenant: string, plan: string, options: ApiOptions) =>
      changeTenant(context, { tenant, options, change: { plan } }),
    );
}

function registerNewRepos(group: Command, context: CliContext): void {
  withApiOptions(group.command('new-repos'))
    .description('say how a tenant gets a new repo')
    .argument('<name>', 'name of the tenant', parseTenant)
    .addArgument(
      new Argument(
        '<how>',
        'pushed: the first push makes it; created: it takes a push once it was created',
      ).choices(['pushed', 'created']),
    )
    .action((tenant: string, how: string, options: ApiOptions) =>
      changeTenant(context, { tenant, options, change: { reposMustExist: how === 'created' } }),
    );
}

interface LimitCommand {
  readonly name: string;
  readonly description: string;
  readonly example: string;
  readonly field: 'limitBytes' | 'downloadLimitBytes';
  /** What counts against it now. null: not known yet. */
  readonly readUsed: (client: ApiClient, tenant: string) => Promise<number | null>;
  readonly warning: (tenant: string, used: string, limit: string, excess: string) => string;
}

const limitCommands: readonly LimitCommand[] = [
  {
    name: 'limit',
    description: "change a tenant's storage limit",
    example: '10GiB',
    field: 'limitBytes',
    readUsed: async (client, tenant) => {
      const { body } = await client.send({
        method: 'GET',
        path: `/v1/tenants/${tenant}`,
        shape: tenantSchema,
      });
      return body.usage?.storedBytes ?? null;
    },
    warning: (tenant, used, limit, excess) =>
      `${tenant} stores ${used}, more than the new limit of ${limit}. Uploads fail until you delete ${excess}.`,
  },
  {
    name: 'download-limit',
    description: 'change how much a tenant may be offered for download in a month',
    example: '1TiB',
    field: 'downloadLimitBytes',
    readUsed: async (client, tenant) => {
      const path = `/v1/tenants/${tenant}/downloads?limit=1`;
      const { body } = await client.send({ method: 'GET', path, shape: downloadPageSchema });
      return body.month.bytes;
    },
    warning: (tenant, used, limit) =>
      `${tenant} used ${used} of downloads this month, more than the new limit of ${limit}. Downloads fail until next month.`,
  },
];

function registerLimit(group: Command, context: CliContext, limit: LimitCommand): void {
  withLimitOptions(withApiOptions(group.command(limit.name)))
    .description(limit.description)
    .argument('<name>', 'name of the tenant', parseTenant)
    .argument('<size>', `the new limit, such as ${limit.example}, or unlimited`, parseLimit)
    .action(async (tenant: string, bytes: number | null, options: LimitOptions) => {
      await confirmLimit(context, options, {
        bytes,
        readUsed: () => limit.readUsed(openClient(options, context), tenant),
        warning: (...sizes) => limit.warning(tenant, ...sizes),
      });
      await changeTenant(context, { tenant, options, change: { [limit.field]: bytes } });
    });
}

function registerDelete(group: Command, context: CliContext): void {
  withDeleteOptions(group.command('delete'))
    .description('delete a tenant and all of its repos permanently')
    .argument('<name>', 'name of the tenant', parseTenant)
    .action(async (tenant: string, options: DeleteOptions) => {
      const deleted = await runDelete(context, {
        client: openClient(options, context),
        options,
        question: `To delete it permanently, type ${tenant}: `,
        isYes: (answer) => answer === tenant,
        paths: [`/v1/tenants/${tenant}`],
        summary: (plans) =>
          `${tenant}: ${formatFreed(plans)}.\n` +
          'Its tokens are revoked, its repos are closed, and their objects are deleted. Its name stays taken.\n',
      });
      if (deleted === undefined || options.json) return;
      context.out(
        `Its objects are being deleted. See what is left: ${context.program} tenant show ${tenant}\n` +
          'When nothing is left, the tenant is not found any more.\n',
      );
    });
}

function renderTenant(body: TenantBody, nowMs: number): string {
  const lines = [
    `tenant   ${nameOf(body)}`,
    `plan     ${printable(body.plan ?? '-')}`,
    `limit    ${formatLimit(body.limitBytes)}`,
    `stored   ${body.usage === null ? 'not counted yet' : formatBytes(body.usage.storedBytes)}`,
    ...(body.downloadLimitBytes === null ? [] : [`download ${formatLimit(body.downloadLimitBytes)} a month`]),
    ...(body.reposMustExist ? ['repos    have to be created before a push'] : []),
    `created  ${formatAge(body.createdAt, nowMs)}`,
  ];
  return `${lines.join('\n')}\n`;
}

function renderTenants(tenants: readonly TenantBody[], view: View): string {
  const rows = tenants.map((body) => [
    nameOf(body),
    body.plan ?? '-',
    formatLimit(body.limitBytes),
    shareTaken(body),
    body.usage === null ? '-' : formatBytes(body.usage.storedBytes),
    body.usage === null ? '-' : formatCount(body.usage.objectCount),
    body.usage === null ? 'never' : formatAge(body.usage.countedAt, view.nowMs),
  ]);
  const columns = [
    { name: 'tenant', least: 16, stays: true },
    { name: 'plan', least: 8 },
    { name: 'limit', right: true },
    { name: 'taken', right: true, stays: true, colourOf: colourOfShare },
    { name: 'stored', right: true },
    { name: 'objects', right: true },
    'counted',
  ];
  return renderTable(columns, rows, view);
}

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

function nameOf({ tenant, deleting }: TenantBody): string {
  return deleting ? `${tenant} (being deleted)` : tenant;
}
