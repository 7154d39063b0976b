import type { ApiClient, Asking, BodyOf } from '../../api-client.ts';
import { least, tableOf } from '../../columns.ts';
import { actionCommand, type CliSubject, flag, group, listCommand, ofRepo, option } from '../../command.ts';
import { requireYes } from '../../confirm.ts';
import type { CliContext } from '../../context.ts';
import { CliError, UsageError } from '../../errors.ts';
import { allItems, pageSizeMax } from '../../list-pages.ts';
import { formatAge, formatCounted } from '../../render.ts';
import { type View, viewOf } from '../../terminal.ts';

type FileLockBody = BodyOf<'listFileLocks'>['locks'][number];

const locksTable = tableOf<FileLockBody>([
  ['path', ({ path }) => path, least(20)],
  ['owner', ({ owner, ownerName }) => (owner === ownerName ? owner : `${owner} (${ownerName})`), least(16)],
  ['locked', ({ lockedAt }, { nowMs }) => formatAge(lockedAt, nowMs)],
]);

function renderLocks(locks: readonly FileLockBody[], view: View): string {
  const sorted = locks.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return `${locksTable(sorted, view)}Total: ${formatLocks(locks.length)}.\n`;
}

const owner = option('--owner <owner>', 'only those of this user or token');

const lockCommands = group('lock', 'List or force-unlock file locks', [
  listCommand({
    name: 'list',
    description: 'List the file locks of a repo',
    route: 'listFileLocks',
    operands: ofRepo,
    options: { owner },
    items: 'locks',
    query: ({ options }) => ({ owner: options.owner }),
    pageSize: pageSizeMax,
    none: 'No locks.\n',
    print: renderLocks,
  }),
  actionCommand({
    name: 'delete',
    description: 'Force-unlock files',
    operands: ofRepo,
    options: {
      owner,
      path: option('--path <path>', "only this file's lock"),
      all: flag('--all', 'all of the repo'),
      yes: flag('-y, --yes', 'skip the prompt; required without a terminal'),
    },
    run: async (client, { operands: params, options, context }) => {
      const { path, all = false } = options;
      const asking = { params, query: { owner: options.owner, path } };
      if (Object.values(asking.query).some((value) => value !== undefined) === all)
        throw new UsageError('Choose locks: --owner, --path or both, or --all.');
      if (!options.yes) await confirm(client, context, asking);
      const released = await releaseAll(client, asking);
      context.out(
        options.json ? `${JSON.stringify(released)}\n` : `Unlocked ${formatLocks(released.releasedCount)}.\n`,
      );
    },
  }),
]);

type Which = Required<Pick<Asking<'releaseFileLocks'>, 'params' | 'query'>>;

/**
 * Shows the locks that would be released, and asks.
 *
 * @throws {UsageError} when there is no terminal. @throws {CliError} when the person does not confirm.
 */
async function confirm(client: ApiClient, context: CliContext, which: Which): Promise<void> {
  const withoutTerminal = "Can't prompt without a terminal. Pass --yes to unlock them.";
  if (context.ask === undefined) throw new UsageError(withoutTerminal);
  const locks = await allItems(client, { route: 'listFileLocks', ...which, items: 'locks' });
  if (locks.length === 0)
    throw new CliError('Lock not found.', {
      hint: 'List them: lfs-quota lock list TENANT REPO',
      failure: 'not-found',
    });
  context.err(renderLocks(locks, viewOf(context, 'err')));
  const question =
    locks.length === 1 ? 'Force-unlock it? [y/N] ' : `Force-unlock all ${locks.length}? [y/N] `;
  await requireYes(context, { question, withoutTerminal, otherwise: 'Nothing was unlocked.' });
}

/** One request releases some. @returns the last answer, with how many it were in all. */
async function releaseAll(client: ApiClient, which: Which): Promise<BodyOf<'releaseFileLocks'>> {
  let releasedCount = 0;
  return await client.busy.during(
    () => `released: ${formatLocks(releasedCount)}`,
    async () => {
      for (;;) {
        const { body } = await client.ask('releaseFileLocks', which);
        releasedCount += body.releasedCount;
        if (!body.hasMore) return { ...body, releasedCount };
      }
    },
  );
}

const formatLocks = (count: number) => formatCounted(count, 'lock');

export const locks: CliSubject = {
  commands: { 230: lockCommands },
  examples: {
    'lock list': [['lfs-quota lock list acme game'], ['lfs-quota lock list acme game --owner ada']],
    'lock delete': [
      ['lfs-quota lock delete acme game --path art/hero.psd'],
      ['lfs-quota lock delete acme game --owner ada', 'shows them, and prompts'],
      ['lfs-quota lock delete acme game --all --yes'],
    ],
  },
};
