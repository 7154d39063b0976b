import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { Option } from 'commander';
import { isOid } from '../../../lambda/core/rules/names.ts';
import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import { exportIdPattern } from '../../../lambda/subjects/exports/rules/job.ts';
import { wrongRequested } from '../../../lambda/subjects/exports/rules/objects.ts';
import type { ApiAnswer, ApiClient, BodyOf } from '../../api-client.ts';
import { least, right, tableOf } from '../../columns.ts';
import {
  actionCommand,
  type CliSubject,
  choice,
  flag,
  given,
  group,
  listCommand,
  operand,
  option,
  required,
  routeCommand,
  tenantOperand,
} from '../../command.ts';
import { asCalled, type CliContext } from '../../context.ts';
import { CliError, UsageError } from '../../errors.ts';
import { matching, parseRepo, parseTenant, withServiceOptions } from '../../options.ts';
import {
  formatAge,
  formatCount,
  formatDollars,
  formatDuration,
  formatObjects,
  formatRequests,
  shellWords,
} from '../../render.ts';
import { type View, viewOf } from '../../terminal.ts';
import { checkOutput, downloadArchive, filesFor, waitForExport } from './download.ts';
import { exportLocally, type LocalExport } from './local.ts';

type ExportBody = BodyOf<'getExport'>;

const ofExport = {
  tenant: tenantOperand,
  exportId: operand(
    '<export>',
    'id of the export',
    matching(exportIdPattern, 'List them: lfs-quota export list TENANT'),
  ),
};

const repo = option('--repo <repo>', 'only the objects of this repo', parseRepo);
const objects = option(
  '--objects <file>',
  'only these: lines of OID and NAME, as `git lfs ls-files --long` prints them',
);

const startCommand = actionCommand({
  name: 'start',
  description: 'Create an archive, and wait for it',
  operands: { tenant: tenantOperand },
  options: {
    repo,
    format: choice('--format <format>', 'default: tar', ['tar', 'zip']),
    objects,
    dryRun: flag('--dry-run', 'only show what it would take'),
    wait: given<boolean>(new Option('--no-wait', "don't wait")),
    output: option('--output <file>', 'download the archive to this file or folder'),
  },
  run: async (client, { operands: params, options, context }) => {
    const { repo, format, dryRun, output, json: isQuiet = false } = options;
    if (output !== undefined && (!options.wait || dryRun))
      throw new UsageError('--output needs an archive: leave out --no-wait and --dry-run.');
    if (output !== undefined) checkOutput(output);
    const { objects, repeats = 0 } = options.objects === undefined ? {} : readObjectsFile(options.objects);
    if (repeats > 0)
      context.err(`${repeats} lines repeat an object. It's exported once, under its first name.\n`);
    const started = await client.ask('startExport', { params, body: { repo, format, dryRun, objects } });
    if (!options.wait) return context.out(isQuiet ? `${started.text}\n` : begunText(started.body, context));
    const answer = await waitForExport({ client, context }, { job: started.body, isQuiet });
    throwIfFailed(answer.body);
    await show({ client, context }, { answer, output, isQuiet });
  },
});

const localCommand = actionCommand({
  name: 'local',
  description: 'Download all objects into a tar; resumes after a break',
  base: withServiceOptions,
  operands: { tenant: operand('<tenant>', "name of the token's tenant", parseTenant) },
  options: {
    repo,
    objects,
    output: required(
      option('--output <file>', "the archive; until it's complete, FILE.….parts is next to it"),
    ),
    force: flag('--force', 'replace the file if it exists'),
    json: flag('--json', 'print the result as JSON'),
  },
  wanted: 'a token of the tenant',
  run: async (client, { operands: { tenant }, options, context }) => {
    const { url, repo = null, objects, output: file, force: isForced = false, json } = options;
    const wanted = objects === undefined ? undefined : readWanted(objects);
    checkPlace(file, { isForced });
    // Without the token.
    const given = { url, repo: options.repo, objects, output: file };
    const words = Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, value],
    );
    const again = shellWords(['export', 'local', tenant, ...words, ...(isForced ? ['--force'] : [])]);
    const goOn = `Finished objects are kept. Resume: lfs-quota ${again}`;
    const wish = { tenant, repo, wanted };
    const made = await exportLocally({ client, context }, { wish, file, isForced, goOn });
    const hasNames = wanted?.some(({ name }) => name !== undefined) === true;
    const result = { tenant, repo, file: path.resolve(file), ...made };
    context.out(json ? `${JSON.stringify(result)}\n` : localText(made, { file, hasNames }));
    if (made.missing.length > 0)
      context.err(
        `Not stored any more, so left out: ${formatObjects(made.missing.length)}. The manifest lists them.\n`,
      );
  },
});

/** `export start|local|list|show|delete`: all objects of a tenant or repo as one archive. */
const exportCommands = group('export', 'Download a tenant or repo as an archive', [
  startCommand,
  localCommand,
  listCommand({
    name: 'list',
    description: 'List the exports of a tenant, the newest first',
    route: 'listExports',
    operands: { tenant: tenantOperand },
    items: 'exports',
    none: 'No exports yet. Start one: lfs-quota export start TENANT\n',
    print: tableOf<ExportBody>([
      ['export', ({ exportId }) => exportId],
      ['repo', ({ repo }) => repo ?? '(all)', least(10)],
      ['format', ({ dryRun, format, named }) => (dryRun ? 'dry run' : `${format}${named ? ', named' : ''}`)],
      ['by', askerOf, least(8)],
      ['state', ({ state }) => state],
      ['done', formatShare, right],
      ['size', ({ plan }) => (plan === null ? '-' : formatBytes(plan.archiveBytes)), right],
      ['started', ({ createdAt }, { nowMs }) => formatAge(createdAt, nowMs)],
      [
        'kept for',
        ({ state, expiresAt }, { nowMs }) => (state === 'done' ? formatLeft(expiresAt, nowMs) : '-'),
      ],
    ]),
  }),
  actionCommand({
    name: 'show',
    description: 'Show an export, with URLs of its archives, or download them',
    operands: ofExport,
    options: {
      output: option('--output <file>', 'download the archive to this file or folder; resumes after a break'),
    },
    run: async (client, { operands: params, options, context }) => {
      const { output, json: isQuiet = false } = options;
      if (output !== undefined) checkOutput(output);
      const answer = await client.ask('getExport', { params });
      await show({ client, context }, { answer, output, isQuiet });
    },
  }),
  routeCommand({
    name: 'delete',
    description: 'Cancel an export, or remove its archive',
    route: 'deleteExport',
    operands: ofExport,
    print: ({ exportId, state }) =>
      `The export ${exportId} is ${state === 'cancelled' ? 'cancelled, and what it made is removed' : 'deleted'}.\n`,
  }),
]);

/** Downloads an export, if that was asked for, and prints what it is. */
async function show(
  by: { client: ApiClient; context: CliContext },
  shown: { answer: ApiAnswer<ExportBody>; output: string | undefined; isQuiet: boolean },
): Promise<void> {
  const { answer, output, isQuiet } = shown;
  const { body: job, text } = answer;
  const files = output === undefined ? undefined : await downloadAll(by, { job, output, isQuiet });
  if (isQuiet) by.context.out(`${text}\n`);
  else by.context.out(files === undefined ? asShown(job, by.context) : restoreText(files, job));
}

/** @returns where the archives are, whatever the folder. */
async function downloadAll(
  by: { client: ApiClient; context: CliContext },
  { job, output, isQuiet }: { job: ExportBody; output: string; isQuiet: boolean },
): Promise<readonly string[]> {
  if (job.state !== 'done')
    throw new CliError(`No archive to download: the export is ${job.state}.`, {
      hint: `See its progress: lfs-quota export show ${job.tenant} ${job.exportId}`,
    });
  const files = filesFor(output, job);
  for (const [index, { file, isThere }] of files.entries())
    if (isThere)
      by.context.err(
        `${file} exists already, with this size: it's kept. To download it again, move it away, and run: ` +
          `${by.context.program} export show ${job.tenant} ${job.exportId} --output ${output}\n`,
      );
    else await downloadArchive(by, { job, index, file, output, isQuiet });
  return files.map(({ file }) => path.resolve(file));
}

function begunText({ tenant, exportId }: ExportBody, { program }: CliContext): string {
  return `The export ${exportId} started. See its progress: ${program} export show ${tenant} ${exportId}\n`;
}

function throwIfFailed({ tenant, state, failure }: ExportBody): void {
  if (state === 'done' || state === 'explained') return;
  const why = failure === null ? `The export is ${state}.` : `The export failed. ${failure.message}`;
  throw new CliError(why, { hint: `Start another: lfs-quota export start ${tenant}` });
}

function asShown(job: ExportBody, context: CliContext): string {
  return asCalled(renderExport(job, viewOf(context)), context);
}

/** @throws {UsageError} */
function readWanted(file: string): readonly NamedObject[] {
  const { objects } = readObjectsFile(file);
  const wrong = wrongRequested(objects);
  if (wrong)
    throw new UsageError(`${file}: the ${wrong.field} of ${objects[wrong.index]?.oid} ${wrong.message}.`);
  return objects;
}

function localText(
  { objectCount, sizeBytes }: LocalExport,
  { file, hasNames }: { file: string; hasNames: boolean },
): string {
  const made = `${file}: ${formatObjects(objectCount)}, ${formatBytes(sizeBytes)}.\n`;
  return `${made}${restoreText([path.resolve(file)], { format: 'tar', named: hasNames })}`;
}

interface NamedObject {
  readonly oid: string;
  readonly name?: string;
}

/**
 * Reads which objects to export: a line for each, `OID` or `OID NAME`, or as `git lfs ls-files --long` prints them,
 * `OID * NAME`. Empty lines mean nothing.
 *
 * @returns each oid once, with its first name, and how many lines named one again.
 * @throws {UsageError}
 */
function readObjectsFile(file: string): { objects: NamedObject[]; repeats: number } {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`Can't read the file ${file}: ${error instanceof Error ? error.message : error}.`);
  }
  const objects = new Map<string, NamedObject>();
  let repeats = 0;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const [, oid = '', name] = /^(\S+)(?: [*-])?(?: (.+))?$/.exec(line) ?? [];
    if (!isOid(oid))
      throw new UsageError(
        `Line ${index + 1} of ${file} doesn't start with an oid (64 lower-case hex digits). Use the output of: git lfs ls-files --long`,
      );
    if (objects.has(oid)) repeats += 1;
    else objects.set(oid, { oid, ...(name !== undefined && { name }) });
  }
  if (objects.size === 0) throw new UsageError(`The file ${file} has no objects.`);
  return { objects: [...objects.values()], repeats };
}

/** Looks, before anything is asked for, whether an archive can be put there. @throws {CliError} */
function checkPlace(file: string, { isForced }: { isForced: boolean }): void {
  const folder = path.dirname(file);
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new CliError(`Folder ${folder} not found.`, { hint: 'Create it, or use another file.' });
  if (!existsSync(file)) return;
  if (!statSync(file).isFile())
    throw new CliError(`${file} isn't a file.`, { hint: '--output needs a file name.' });
  if (!isForced)
    throw new CliError(`${file} already exists.`, {
      hint: 'Use another file, or replace it with --force.',
    });
}

/** A token's user or label, or what else the asker is. Older exports don't say. */
function askerOf({ by }: ExportBody): string {
  return by?.name ?? by?.kind ?? '-';
}

function renderExport(job: ExportBody, view: View): string {
  const { nowMs } = view;
  const { plan, progress, failure } = job;
  const objects =
    job.listedObjects === null
      ? ''
      : `, ${formatObjects(job.listedObjects)} of a list${job.named ? ', with names of its own' : ''}`;
  const lines = [
    `export    ${job.exportId}: ${job.repo === null ? job.tenant : `${job.tenant}/${job.repo}`} as ${job.format}${objects}`,
    `state     ${job.state}${progress.share === null ? '' : `, ${formatShare(job)}`}`,
    `started   ${formatAge(job.createdAt, nowMs)}, by ${askerOf(job)}`,
    ...(failure === null ? [] : [`failed    ${failure.message} (${failure.reason})`]),
    ...(plan === null ? [] : planLines(plan)),
  ];
  const made = progress.copiedBytes + progress.uploadedBytes + progress.hashedBytes;
  if (made > 0)
    lines.push(
      `done      ${formatBytes(progress.copiedBytes)} copied, ${formatBytes(progress.uploadedBytes)} uploaded, ` +
        formatRequests(progress.requests),
    );
  const text = `${lines.join('\n')}\n`;
  return job.state === 'done' ? `${text}\n${renderArchives(job, view)}` : text;
}

const wayTitles: Readonly<Record<NonNullable<ExportBody['plan']>['way'], string>> = {
  stream: 'read and upload everything',
  'copy-free': 'copy in parts of any size',
  'copy-grid': 'copy in parts of one size',
};

function planLines(plan: NonNullable<ExportBody['plan']>): string[] {
  const takes = `${formatRequests(plan.requests)}, ${formatDollars(plan.dollars)}, about ${formatDuration(plan.seconds * 1000)}`;
  const lines = [
    `objects   ${formatCount(plan.objectCount)} with ${formatBytes(plan.objectBytes)}`,
    `plan      ${wayTitles[plan.way]}: ${takes}`,
    `size      ${formatBytes(plan.archiveBytes)}: ${formatBytes(plan.copiedBytes)} copied by the store, ${formatBytes(plan.uploadedBytes)} uploaded`,
  ];
  if (plan.missing > 0) lines.push(`missing   ${formatObjects(plan.missing)}: listed in the archive`);
  if (plan.conflicts > 0)
    lines.push(`left out  ${formatObjects(plan.conflicts)}: others have their oid and another size`);
  return lines;
}

const archivesTable = tableOf<ExportBody['archives'][number]>([
  ['archive', ({ name }) => name, least(12)],
  ['size', ({ sizeBytes }) => formatBytes(sizeBytes), right],
]);

/** The archives of an export that is done, and what to do with them. */
function renderArchives(job: ExportBody, view: View): string {
  const { tenant, exportId, archives, expiresAt } = job;
  const urls = archives.flatMap(({ name, url }) =>
    url === null ? [] : [`  curl -f -C - -o ${shellWords([name])} ${shellWords([url])}\n`],
  );
  const files = archives.map(({ name }) => (job.named ? name : `../${name}`));
  const target = archives.length === 1 ? (archives[0]?.name ?? '') : '.';
  return [
    archivesTable(archives, view),
    `Kept until ${expiresAt}, for ${formatLeft(expiresAt, view.nowMs)}. It doesn't count as usage.\n`,
    `\nDownload or resume it:\n  lfs-quota export show ${tenant} ${exportId} --output ${shellWords([target])}\n`,
    ...(urls.length === 0 ? [] : [`Or, until ${archives[0]?.urlExpiresAt}, without a token:\n`, ...urls]),
    `\n${restoreText(files, job)}`,
  ].join('');
}

/** How to use archives in the end. @param files where they are, seen from the clone unless they have names of their own. */
function restoreText(
  files: readonly string[],
  { format, named }: Pick<ExportBody, 'format' | 'named'>,
): string {
  const into = named ? '' : format === 'tar' ? '-C .git ' : '-d .git ';
  const command = format === 'tar' ? `tar -x ${into}-f ` : `unzip ${into}`;
  const extract = files.map((file) => `  ${command}${shellWords([file])}\n`).join('');
  // A name can be one of git's own files, which can hold a command.
  if (named) return `Never extract it into .git: a file name can be one of Git's own.\n${extract}`;
  return (
    'With it git-lfs needs no server:\n' +
    `  GIT_LFS_SKIP_SMUDGE=1 git clone REPOSITORY work && cd work\n${extract}` +
    '  git lfs checkout\n'
  );
}

function formatShare({ progress: { share } }: ExportBody): string {
  return share === null ? '-' : `${(share * 100).toFixed(1)} %`;
}

function formatLeft(isoDate: string, nowMs: number): string {
  return formatDuration(Math.max(0, Date.parse(isoDate) - nowMs));
}

const exportId = '019a9d3c2f805f0c1e2d3b4a';

export const exports: CliSubject = {
  commands: { 395: exportCommands },
  examples: {
    'export start': [
      ['lfs-quota export start acme --output .', 'all repos as tar, into this folder'],
      ['lfs-quota export start acme --repo game --format zip --no-wait'],
      ['lfs-quota export start acme --repo game --dry-run', 'what would it take?'],
    ],
    'export local': [
      ['lfs-quota export local acme --output all.tar'],
      ['lfs-quota export local acme --repo game --output game.tar', 'again: resumes after a break'],
    ],
    'export list': [['lfs-quota export list acme']],
    'export show': [
      [`lfs-quota export show acme ${exportId}`],
      [`lfs-quota export show acme ${exportId} --output .`, 'download it'],
    ],
    'export delete': [[`lfs-quota export delete acme ${exportId}`]],
  },
  hints: {
    'export-not-found': 'List them: lfs-quota export list TENANT',
    'exports-off': 'The operator can enable them with exports.workers.',
    'exports-full':
      'List them: lfs-quota export list TENANT. Delete one: lfs-quota export delete TENANT EXPORT',
  },
};
