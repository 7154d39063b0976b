import { type Command, InvalidArgumentError } from 'commander';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import { type TenantBody, tenantPageShape, tenantShape } from '../api-schemas.ts';
import type { CliContext } from '../context.ts';
import { type ApiOptions, openClient, parseLimit, parseTenant, withApiOptions } from '../options.ts';
import { formatAge, formatCount, formatLimit, printable, renderTable } from '../render.ts';
import { registerTenantDelete } from './tenant-delete.ts';

/** `tenant create|list|show|limit|delete`. */
export function registerTenant(program: Command, context: CliContext): void {
  const group = program
    .command('tenant')
    .description('create tenants, see them, change their limits, delete them');
  registerCreate(group, context);
  registerList(group, context);
  registerShow(group, context);
  registerLimit(group, context);
  registerTenantDelete(group, context);
}

function registerCreate(group: Command, context: CliContext): void {
  withApiOptions(group.command('create'))
    .description('create a tenant')
    .argument('<name>', "the tenant's name", parseTenant)
    .option('--limit <size>', 'most that it may store, such as 1GiB (default: unlimited)', parseLimit)
    .option('--plan <plan>', 'a name for what it pays for')
    .action(async (tenant: string, options: ApiOptions & { limit?: number | null; plan?: string }) => {
      const answer = await openClient(options, context).send({
        method: 'POST',
        path: '/v1/tenants',
        body: {
          tenant,
          ...(options.limit === undefined ? {} : { limitBytes: options.limit }),
          ...(options.plan === undefined ? {} : { plan: options.plan }),
        },
        shape: tenantShape,
      });
      context.out(options.json ? `${answer.text}\n` : renderTenant(answer.body, context.nowMs()));
      if (!options.json) context.out(`\nNext: token create ${tenant} --scope write\n`);
    });
}

function registerList(group: Command, context: CliContext): void {
  withApiOptions(group.command('list'))
    .description('all tenants by name; with --json one page')
    .option('--after <name>', 'begin after this tenant')
    .option('--page-size <n>', 'tenants to ask for at once', parsePageSize)
    .action(async (options: ApiOptions & { after?: string; pageSize?: number }) => {
      const client = openClient(options, context);
      const tenants: TenantBody[] = [];
      let after: string | null | undefined = options.after;
      do {
        const query = new URLSearchParams();
        if (after) query.set('after', after);
        if (options.pageSize !== undefined) query.set('limit', String(options.pageSize));
        const path = query.size === 0 ? '/v1/tenants' : `/v1/tenants?${query}`;
        const page = await client.send({ method: 'GET', path, shape: tenantPageShape });
        if (options.json) return context.out(`${page.text}\n`);
        tenants.push(...page.body.tenants);
        after = page.body.next;
      } while (after);
      if (tenants.length > 0) return context.out(renderTenants(tenants, context.nowMs()));
      context.out(
        options.after === undefined
          ? 'No tenants yet. Create one with `tenant create NAME --limit 1GiB`.\n'
          : `No tenants after ${options.after}.\n`,
      );
    });
}

function registerShow(group: Command, context: CliContext): void {
  withApiOptions(group.command('show'))
    .description('one tenant')
    .argument('<name>', "the tenant's name", parseTenant)
    .action(async (tenant: string, options: ApiOptions) => {
      const request = { method: 'GET', path: `/v1/tenants/${tenant}`, shape: tenantShape } as const;
      const answer = await openClient(options, context).send(request);
      context.out(options.json ? `${answer.text}\n` : renderTenant(answer.body, context.nowMs()));
    });
}

function registerLimit(group: Command, context: CliContext): void {
  withApiOptions(group.command('limit'))
    .description('change what a tenant may store')
    .argument('<name>', "the tenant's name", parseTenant)
    .argument('<size>', 'such as 10GiB, or unlimited', parseLimit)
    .action(async (tenant: string, limitBytes: number | null, options: ApiOptions) => {
      const answer = await openClient(options, context).send({
        method: 'PATCH',
        path: `/v1/tenants/${tenant}`,
        body: { limitBytes },
        shape: tenantShape,
      });
      context.out(options.json ? `${answer.text}\n` : renderTenant(answer.body, context.nowMs()));
    });
}

function parsePageSize(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('Give a whole number from 1 to 9999.');
  return Number(text);
}

function renderTenant(body: TenantBody, nowMs: number): string {
  const lines = [
    `tenant   ${nameOf(body)}`,
    `plan     ${printable(body.plan ?? '-')}`,
    `limit    ${formatLimit(body.limitBytes)}`,
    `stored   ${body.usage === null ? 'never counted' : formatBytes(body.usage.storedBytes)}`,
    `created  ${formatAge(body.createdAt, nowMs)}`,
  ];
  return `${lines.join('\n')}\n`;
}

function renderTenants(tenants: readonly TenantBody[], nowMs: number): string {
  const rows = tenants.map((body) => [
    nameOf(body),
    body.plan ?? '-',
    formatLimit(body.limitBytes),
    body.usage === null ? '-' : formatBytes(body.usage.storedBytes),
    body.usage === null ? '-' : formatCount(body.usage.objectCount),
    body.usage === null ? 'never' : formatAge(body.usage.countedAt, nowMs),
  ]);
  return renderTable(['tenant', 'plan', 'limit', 'stored', 'objects', 'counted'], rows, { right: [2, 3, 4] });
}

function nameOf({ tenant, deleting }: TenantBody): string {
  return deleting ? `${tenant} (being deleted)` : tenant;
}
