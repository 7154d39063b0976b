import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import { fileNameFault } from '../../../lambda/frame/access/rules/file-names.ts';
import type { ApiClient, BodyOf } from '../../api-client.ts';
import { actionCommand, type CliSubject, flag, group, operand, option, required } from '../../command.ts';
import { deleteOptions, runDelete, saysYes } from '../../confirm.ts';
import type { CliContext } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import { allItems, eachPage, pageSizeMax, printList, withListOptions } from '../../list-pages.ts';
import { collect, parseRepo, parseTenant } from '../../options.ts';
import { formatAge } from '../../render.ts';
import { type ApiOptions, cloneAddress, loginTenant, requireServerOf } from '../../server.ts';
import { renderTable } from '../../table.ts';
import { type View, viewOf } from '../../terminal.ts';
import { transferring } from '../../transfer.ts';
import { getFiles } from './get.ts';
import { continues, type Outcome, report, sumText } from './outcome.ts';
import { localFiles, putFiles } from './put.ts';

const place = (others = '') => ({
  tenant: option(
    '--tenant <tenant>',
    `the tenant${others && ` (default: ${others}your login's)`}`,
    parseTenant,
  ),
  repo: option('--repo <repo>', 'a repo of kind files', parseRepo),
});
const ofPlace = place("the clone's, or ");
const prefix = (description: string) => option('--prefix <prefix>', description);
const named = { names: operand('[name...]', 'names, as `files list` shows them', collect) };
const incomplete = 'Not all files are transferred.';

/** Where the files are: what isn't passed is the clone's, or the login's. @throws {UsageError} */
async function placeOf(
  client: ApiClient,
  context: CliContext,
  options: ApiOptions & { tenant: string | undefined; repo: string | undefined },
): Promise<RepoPlace> {
  const isGiven = options.tenant !== undefined && options.repo !== undefined;
  const clone = isGiven ? undefined : await cloneAddress(context);
  if (clone) requireServerOf(clone, client);
  const tenant = options.tenant ?? clone?.tenant ?? loginTenant(options, context);
  if (tenant === undefined) throw new UsageError('Which tenant? Pass --tenant.');
  const repo = options.repo ?? (clone?.tenant === tenant ? clone?.repo : undefined);
  if (repo !== undefined) return { tenant, repo };
  throw new UsageError(`Which repo? Pass --repo. List them: lfs-quota repo list ${tenant}`);
}

const putCommand = actionCommand({
  name: 'put',
  description: 'Upload files and folders; continues where it stopped',
  operands: { paths: operand('<path...>', 'files and folders', collect) },
  options: {
    ...ofPlace,
    as: option('--as <name>', 'store one file by this name'),
    prefix: prefix('put this before each name, such as avatars/'),
  },
  wanted: 'a token of the tenant with the scope write',
  run: async (client, { operands: { paths }, options, context }) => {
    const { as, prefix, json: isJson = false } = options;
    const place = await placeOf(client, context, options);
    const onLeftOut = (path: string) =>
      context.err(`${path}: left out, as it's neither a file nor a folder.\n`);
    const files = await localFiles(paths, { as, prefix, onLeftOut });
    if (as !== undefined && (files.length !== 1 || files[0]?.path !== paths[0]))
      throw new UsageError('--as is for one file. For a folder or several files, use --prefix.');
    const outcomes: Outcome[] = [];
    const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
    const shown = { isQuiet: isJson, totalBytes, file: place.repo, goOn: continues, incomplete };
    await transferring(context, shown, (deps, { onBytes }) =>
      putFiles(deps, files, { client, place, onBytes, onOutcome: (outcome) => outcomes.push(outcome) }),
    );
    report(context, outcomes, { place, isJson });
  },
});

const getCommand = actionCommand({
  name: 'get',
  description: 'Download files; keeps what exists here',
  operands: named,
  options: {
    ...ofPlace,
    prefix: prefix('all names that start with this'),
    output: option('--output <dir>', 'the folder for them (default: the current one)'),
    force: flag('--force', 'replace what exists here'),
  },
  wanted: 'a token of the tenant',
  run: async (client, { operands, options, context }) => {
    const { prefix, output = '.', force: isForced = false, json: isJson = false } = options;
    requireNamesOrPrefix(operands.names, prefix);
    const place = await placeOf(client, context, options);
    const list = { route: 'listFiles', params: { ...place }, query: { prefix }, items: 'files' } as const;
    const listed = prefix === undefined ? [] : await allItems(client, list);
    const names = new Set([...(operands.names ?? []), ...listed.map(({ name }) => name)]);
    for (const name of names) {
      const fault = fileNameFault(name);
      if (fault !== undefined) throw new UsageError(`${name}: a name must be ${fault}.`);
    }
    const outcomes: Outcome[] = [];
    const onOutcome = (outcome: Outcome) => outcomes.push(outcome);
    const getting = { client, place, output, isForced, nowMs: context.nowMs, onOutcome };
    const shown = { isQuiet: isJson, totalBytes: 0, file: output, goOn: continues, incomplete };
    await transferring(context, shown, (deps, on) => getFiles(deps, [...names], { ...getting, ...on }));
    report(context, outcomes, { place, isJson });
  },
});

function requireNamesOrPrefix(names: readonly string[] = [], prefix: string | undefined): void {
  if (names.length > 0 === (prefix !== undefined))
    throw new UsageError('Choose files: by name, or with --prefix.');
}

const listFilesCommand = actionCommand({
  name: 'list',
  description: 'List files by name',
  base: withListOptions,
  options: { ...ofPlace, prefix: prefix('only names that start with this') },
  run: async (client, { options, context }) => {
    const { prefix, json, pageSize = pageSizeMax } = options;
    const asked = { params: { ...(await placeOf(client, context, options)) }, query: { prefix } };
    const list = { ...asked, route: 'listFiles', items: 'files', options: { ...options, pageSize } } as const;
    if (json) return printList(context, client, { ...list, render: () => '' });
    const sum = { fileCount: 0, bytes: 0 };
    for await (const { body } of eachPage(client, list)) {
      client.busy.hide();
      context.out(fileLines(body.files, viewOf(context)));
      sum.fileCount += body.files.length;
      for (const { bytes } of body.files) sum.bytes += bytes;
    }
    const none = prefix === undefined ? 'No files yet.' : 'No name starts with this.';
    context.out(sum.fileCount === 0 ? `${none}\n` : `Total: ${sumText(sum)}.\n`);
  },
});

/** `1023.99 GiB`; `1204 days ago`. */
const [sizeCharacters, ageCharacters] = [11, 13];

/** There may be many, so no table is made of them all: a page at a time, in columns of one width. */
function fileLines(files: BodyOf<'listFiles'>['files'], view: View): string {
  const rows = files.map(({ name, bytes, storedAt }) => [
    formatBytes(bytes).padStart(sizeCharacters),
    (storedAt === null ? '-' : formatAge(storedAt, view.nowMs)).padEnd(ageCharacters),
    name,
  ]);
  const columns = ['size', 'stored', { name: 'name', least: 16, stays: true }];
  return renderTable(columns, rows, { ...view, hasHeading: false });
}

const deleteCommand = actionCommand({
  name: 'delete',
  description: 'Delete files; for about a day, their names stay taken',
  operands: named,
  options: {
    tenant: required(place().tenant),
    repo: required(place().repo),
    prefix: prefix('all names that start with this'),
    ...deleteOptions,
  },
  run: async (client, { operands: { names }, options, context }) => {
    const { tenant = '', repo = '', prefix } = options;
    requireNamesOrPrefix(names, prefix);
    const queries = prefix === undefined ? [...new Set(names)].map((name) => ({ name })) : [{ prefix }];
    await runDelete(context, {
      client,
      options,
      route: 'deleteFiles',
      requests: queries.map((query) => ({ params: { tenant, repo }, query })),
      question: "Delete them? You can't undo this. [y/N] ",
      isYes: saysYes,
      summary: (plans) => `${tenant}/${repo}: ${sumText(sumsOf(plans))}.\n`,
    });
  },
});

const sumsOf = (plans: readonly BodyOf<'deleteFiles'>[]) =>
  plans.reduce(
    (sum, { fileCount, bytes }) => ({ fileCount: sum.fileCount + fileCount, bytes: sum.bytes + bytes }),
    { fileCount: 0, bytes: 0 },
  );

/** `files put|get|list|delete`. */
export const files: CliSubject = {
  commands: {
    225: group('files', 'Upload, download, list or delete files of a repo', [
      putCommand,
      getCommand,
      listFilesCommand,
      deleteCommand,
    ]),
  },
  repoParts: [{ isOf: ({ kind }) => kind !== undefined, column: ['kind', ({ kind }) => kind ?? 'lfs'] }],
  examples: {
    'files put': [
      ['lfs-quota files put photos report.pdf --tenant acme --repo media'],
      ['lfs-quota files put logo.png --as brand/logo-2.png --tenant acme --repo media'],
    ],
    'files get': [
      ['lfs-quota files get photos/1.jpg report.pdf --tenant acme --repo media'],
      ['lfs-quota files get --prefix photos/ --output backup --tenant acme --repo media'],
    ],
    'files list': [['lfs-quota files list --prefix photos/ --tenant acme --repo media']],
    'files delete': [
      ['lfs-quota files delete --prefix photos/2025/ --dry-run --tenant acme --repo media', 'preview it'],
      ['lfs-quota files delete report.pdf --tenant acme --repo media'],
    ],
  },
  hints: {
    'wrong-kind': 'Create one for files: lfs-quota repo create TENANT NAME --kind files',
    'store-cannot': 'Test the store: lfs-quota doctor s3://BUCKET',
    'file-not-found': 'List them: lfs-quota files list --tenant TENANT --repo REPO',
    'download-limit': 'See the downloads: lfs-quota downloads TENANT',
  },
};
