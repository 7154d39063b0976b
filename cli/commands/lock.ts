import { type Command, Option } from 'commander';
import {
  type FileLockBody,
  fileLockPageSchema,
  releasedLocksSchema,
} from '../../lambda/api/contract/locks.ts';
import type { ApiClient } from '../api-client.ts';
import { notConfirmed, saysYes } from '../confirm-delete.ts';
import type { CliContext } from '../context.ts';
import { CliError, UsageError } from '../errors.ts';
import { eachPage, type ListOptions, pageSizeMax, printList, withListOptions } from '../list-pages.ts';
import { type ApiOptions, openClient, parseRepo, parseTenant, withApiOptions } from '../options.ts';
import { formatAge, formatCount } from '../render.ts';
import { renderTable } from '../table.ts';
import { type View, viewOf } from '../view.ts';

interface Filter {
  readonly owner?: string;
  readonly path?: string;
}

interface LockDeleteOptions extends ApiOptions, Filter {
  readonly all?: boolean;
  readonly yes?: boolean;
}

/** `lock list|delete`. */
export function registerLock(program: Command, context: CliContext): void {
  const group = program
    .command('lock')
    .description('list the file locks of a repo, and release them in bulk');
  registerList(group, context);
  registerDelete(group, context);
}

const ofOwner = () =>
  new Option('--owner <owner>', 'only those of this user or token, as `lock list` shows it');

function registerList(group: Command, context: CliContext): void {
  withListOptions(group.command('list'))
    .description('list the file locks of a repo')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<repo>', 'name of the repo', parseRepo)
    .addOption(ofOwner())
    .action(async (tenant: string, repo: string, options: ListOptions & Filter) => {
      await printList(context, openClient(options, context), {
        path: pathOf(tenant, repo),
        filter: filterOf(options),
        shape: fileLockPageSchema,
        items: 'locks',
        options: { ...options, pageSize: options.pageSize ?? pageSizeMax },
        render: (pages) => {
          const locks = pages.flatMap((page) => page.locks);
          return locks.length === 0 ? 'No locks.\n' : renderLocks(locks, viewOf(context));
        },
      });
    });
}

function registerDelete(group: Command, context: CliContext): void {
  withApiOptions(group.command('delete'))
    .description('release file locks, whoever owns them')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<repo>', 'name of the repo', parseRepo)
    .addOption(ofOwner())
    .option('--path <path>', 'only the one of this file')
    .option('--all', 'all of the repo')
    .option('-y, --yes', 'do not ask for confirmation; required without a terminal')
    .action(async (tenant: string, repo: string, options: LockDeleteOptions) => {
      const client = openClient(options, context);
      const filter = filterOf(options);
      const hasFilter = Object.keys(filter).length > 0;
      if (hasFilter === (options.all ?? false))
        throw new UsageError('Say which locks: --owner, --path or both, or else --all.');
      const locks = { path: pathOf(tenant, repo), filter };
      if (!options.yes) await confirm({ client, context, ...locks });
      await releaseAll({ client, context, ...locks, options });
    });
}

interface LockDialog {
  readonly client: ApiClient;
  readonly context: CliContext;
  readonly path: string;
  readonly filter: Readonly<Record<string, string>>;
}

/**
 * Shows the locks that would be released, and asks.
 *
 * @throws {UsageError} when there is no terminal. @throws {CliError} when the person does not confirm.
 */
async function confirm({ client, context, path, filter }: LockDialog): Promise<void> {
  const { ask } = context;
  if (ask === undefined)
    throw new UsageError('There is no terminal to ask for confirmation. Add --yes to release them.');
  const options = { pageSize: pageSizeMax };
  const pages = eachPage(client, { path, filter, shape: fileLockPageSchema, items: 'locks', options });
  const locks: FileLockBody[] = [];
  for await (const { body } of pages) locks.push(...body.locks);
  if (locks.length === 0)
    throw new CliError('There is no such lock.', {
      hint: 'See which there are with `lfs-quota lock list TENANT REPO`.',
      failure: 'not-found',
    });
  context.err(renderLocks(locks, viewOf(context, 'err')));
  const question = locks.length === 1 ? 'Release it? [y/N] ' : `Release all ${locks.length}? [y/N] `;
  if (!saysYes((await ask(question)).trim())) throw notConfirmed('No lock was released.');
}

/** One request releases some. */
async function releaseAll(dialog: LockDialog & { options: ApiOptions }): Promise<void> {
  const { client, context, path, filter, options } = dialog;
  const query = new URLSearchParams(filter);
  const request = {
    method: 'DELETE' as const,
    path: query.size === 0 ? path : `${path}?${query}`,
    shape: releasedLocksSchema,
  };
  let count = 0;
  let last = {};
  await client.busy.during(
    () => `released: ${formatLocks(count)}`,
    async () => {
      for (let hasMore = true; hasMore; ) {
        const { body } = await client.send(request);
        count += body.releasedCount;
        hasMore = body.hasMore;
        last = body;
      }
    },
  );
  if (options.json) context.out(`${JSON.stringify({ ...last, releasedCount: count })}\n`);
  else context.out(`Released ${formatLocks(count)}.\n`);
}

function renderLocks(locks: readonly FileLockBody[], view: View): string {
  const rows = locks
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ path, owner, ownerName, lockedAt }) => [
      path,
      owner === ownerName ? owner : `${owner} (${ownerName})`,
      formatAge(lockedAt, view.nowMs),
    ]);
  const columns = [{ name: 'path', least: 20 }, { name: 'owner', least: 16 }, 'locked'];
  return `${renderTable(columns, rows, view)}Total: ${formatLocks(locks.length)}.\n`;
}

const formatLocks = (count: number) => `${formatCount(count)} ${count === 1 ? 'lock' : 'locks'}`;

const pathOf = (tenant: string, repo: string) => `/v1/tenants/${tenant}/repos/${repo}/locks`;

function filterOf({ owner, path }: Filter): Record<string, string> {
  return { ...(owner !== undefined && { owner }), ...(path !== undefined && { path }) };
}
