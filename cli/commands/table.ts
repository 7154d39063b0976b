import type { Command } from 'commander';
import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import type { ApiClient, BodyOf } from '../api-client.ts';
import { actionCommand, flag, group, option, type Register, required } from '../command.ts';
import { requireYes } from '../confirm.ts';
import type { CliContext } from '../context.ts';
import { CliError, UsageError } from '../errors.ts';
import { allItems, eachPage } from '../list-pages.ts';
import { parseLimitOption, storePlaceOf, withServiceOptions } from '../options.ts';
import { WaitLine, waitUntilEnded } from '../progress.ts';
import { formatCount, formatObjects } from '../render.ts';
import { explained, type HoldOptions, holdOf, saveBackup, uploadsFromOption, uploadsText } from './backup.ts';

interface AwsOptions {
  readonly name: string;
  readonly region?: string;
}

interface TableOptions extends Partial<AwsOptions> {
  readonly data?: string;
}

const [nameOption, regionOption] = [
  ['--name <table>', 'table in DynamoDB: the output TableName'],
  ['--region <name>', 'its region (env: AWS_REGION; default: us-east-1)'],
] as const;

/** Of a server's data folder, or in DynamoDB with the credentials of whoever calls it. */
const onTable = (command: Command, dataText: string) =>
  command
    .option('--data <dir>', dataText)
    .option(...nameOption)
    .option(...regionOption);

/** @returns the name of a table in DynamoDB. undefined: the data folder's is meant. @throws {UsageError} */
function nameIn({ data, name }: TableOptions): string | undefined {
  if ((data === undefined) === (name === undefined))
    throw new UsageError("Choose a table: --data DIR for a server's, --name TABLE for one in DynamoDB.");
  return name;
}

async function awsTable(options: AwsOptions, context: CliContext) {
  const { openAwsTable, itemsOfTable, importTable, finishTable } = await import(
    '../../local/backup/dynamodb.ts'
  );
  const table = openAwsTable({ ...options, region: storePlaceOf(options, context).region });
  return { table, itemsOfTable, importTable, finishTable };
}

const backupCommand: Register = (parent, context) =>
  onTable(parent.command('backup'), "a server's data folder, also while it runs")
    .summary('Save a table in a file')
    .description('Save a table in a file, without objects. In DynamoDB, nothing may write to it')
    .argument('<file>', 'the file to write, or - for standard output')
    .action((file: string, options: TableOptions) =>
      explained(async () => {
        const name = nameIn(options);
        if (name === undefined) {
          const { data = '' } = options;
          const { backupOf } = await import('../../local/data/backups.ts');
          return saveBackup(context, { file, text: backupOf(data), of: data });
        }
        const { table, itemsOfTable } = await awsTable({ ...options, name }, context);
        const { backupText } = await import('../../local/backup/backup-file.ts');
        await saveBackup(context, {
          file,
          text: backupText('dynamodb', jsonOf(itemsOfTable(table))),
          of: name,
        });
      }),
    );

async function* jsonOf(parts: AsyncIterable<readonly object[]>): AsyncGenerator<string[]> {
  for await (const items of parts) yield items.map((item) => JSON.stringify(item));
}

const restoreCommand: Register = (parent, context) =>
  onTable(parent.command('restore'), 'a new or empty folder for a server')
    .summary('Create a table from a backup')
    .description('Create a data folder from a backup, or fill a table of AWS that has no tenants')
    .argument('<file>', 'the backup, or - for standard input with --data')
    .option(...uploadsFromOption)
    .option('--again', 'with --name: write again what an interrupted restore wrote')
    .action((file: string, options: TableOptions & HoldOptions & { again?: boolean }) =>
      explained(async () => {
        const name = nameIn(options);
        const uploadsFromMs = await holdOf(options);
        const { fileText } = await import('../../local/backup/backup-file.ts');
        if (name === undefined) {
          const { restoreBackup } = await import('../../local/data/backups.ts');
          const text = file === '-' ? process.stdin.setEncoding('utf8') : fileText(file);
          const folder = await restoreBackup(options.data ?? '', text, { nowMs: Date.now(), uploadsFromMs });
          return context.out(`Restored ${folder}.\n${uploadsText(uploadsFromMs)}`);
        }
        const { table, importTable } = await awsTable({ ...options, name }, context);
        const line = new WaitLine(context, { isQuiet: true });
        await importTable(table, {
          text: () => fileText(file),
          uploadsFromMs,
          isResumed: options.again === true,
          onProgress: (items) => line.show(`${formatCount(items)} items`),
        }).finally(() => line.clear());
        context.out(`Restored ${file} into ${name}.\n${uploadsText(uploadsFromMs)}`);
      }),
    );

/** From `finish` until the deployment uses the table. */
const switchMs = 3_600_000;

const finishCommand: Register = (parent, context) =>
  parent
    .command('finish')
    .requiredOption(...nameOption)
    .option(...regionOption)
    .description('Prepare a table that AWS restored. Deploy with it within an hour')
    .option(...uploadsFromOption)
    .action((options: AwsOptions & HoldOptions) =>
      explained(async () => {
        const { table, finishTable } = await awsTable(options, context);
        const uploadsFromMs = await holdOf(options, switchMs);
        const tenants = await finishTable(table, uploadsFromMs);
        context.out(`${options.name} is ready: ${formatCount(tenants)} tenants.\n`);
        context.out(uploadsText(uploadsFromMs));
      }),
    );

type TenantBody = BodyOf<'getTenant'>;

const lost = [
  'You get back the tenants and their usage. Each gets the same limit.',
  'You lose repo limits, tokens, users, rules, invitations, webhooks, e-mails and locks.',
  'You also lose public and linked repos, garbage collections, download counts, history and the audit log.',
  '',
].join('\n');

const rebuildCommand = actionCommand({
  name: 'rebuild',
  base: withServiceOptions,
  description: 'Recreate a lost table from the bucket: tenants and their usage',
  options: {
    limit: required(option('--limit <size>', 'limit of each tenant, or unlimited', parseLimitOption)),
    uploadsFrom: option(...uploadsFromOption),
    yes: flag('-y, --yes', 'skip the prompt; required without a terminal'),
  },
  wanted: 'the admin token',
  run: async (client, { options, context }) => {
    const names: string[] = [];
    for await (const { body } of eachPage(client, { ...list, route: 'listLostTenants', options: {} }))
      names.push(...body.tenants);
    const uploadsFromMs = await holdOf(options);
    if (names.length === 0) return context.out('Every folder of the bucket has its tenant.\n');
    const shown = `${names.slice(0, shownMax).join(', ')}${names.length > shownMax ? ', …' : ''}`;
    context.err(`${formatCount(names.length)} folders without a tenant: ${shown}\n`);
    context.err(`${lost}${uploadsText(uploadsFromMs)}`);
    if (!options.yes)
      await requireYes(context, {
        question: `Create them at ${client.baseUrl}? [y/N] `,
        withoutTerminal: "Can't prompt without a terminal. Pass --yes to continue.",
        otherwise: 'Canceled. Nothing created.',
      });
    const created = await createAll(client, context, {
      names,
      limitBytes: options.limit.bytes,
      uploadsFromMs,
    });
    const scanned = await awaitScans(client, context, created);
    const sumOf = (of: (usage: NonNullable<TenantBody['usage']>) => number) =>
      scanned.reduce((sum, { usage }) => sum + (usage ? of(usage) : 0), 0);
    const objects = formatObjects(sumOf(({ objectCount }) => objectCount));
    const bytes = formatBytes(sumOf(({ storedBytes }) => storedBytes));
    context.out(
      `${formatCount(created.length)} tenants: ${objects}, ${bytes}.\n` +
        'Next, create tokens: lfs-quota token create TENANT --scope manage\n',
    );
  },
});

const shownMax = 5;
const list = { params: {}, items: 'tenants' } as const;

/** @returns those that exist now. A refused one, such as a deleted tenant's name, is said and left out. */
async function createAll(
  client: ApiClient,
  context: CliContext,
  input: { names: readonly string[]; limitBytes: number | null; uploadsFromMs: number },
): Promise<string[]> {
  const { names, limitBytes } = input;
  const uploadsFrom = new Date(input.uploadsFromMs).toISOString();
  const created: string[] = [];
  for (const tenant of names) {
    try {
      await client.ask('createTenant', { body: { tenant, limitBytes, uploadsFrom } });
      created.push(tenant);
    } catch (error) {
      if (!(error instanceof CliError) || error.failure !== 'refused') throw error;
      context.err(`${tenant}: left as it is. ${error.message}\n`);
    }
  }
  return created;
}

/** @returns the tenants, once all of them are scanned. */
function awaitScans(client: ApiClient, context: CliContext, names: readonly string[]): Promise<TenantBody[]> {
  const wanted = new Set(names);
  return waitUntilEnded(context, {
    poll: async () => {
      const all = await allItems(client, { ...list, route: 'listTenants' });
      return all.filter(({ tenant, usage }) => usage && wanted.has(tenant));
    },
    textOf: ({ length }) =>
      length < names.length ? `scanned ${length} of ${names.length} tenants` : undefined,
    what: 'Scanning',
    hint: 'See: lfs-quota tenant list',
    isQuiet: false,
  });
}

export const tableCommands = group('table', 'Back up, restore, move or rebuild the table', [
  backupCommand,
  restoreCommand,
  finishCommand,
  rebuildCommand,
]);
