import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import { fileNameFault } from '../../../lambda/subjects/files/rules/names.ts';
import type { ApiClient, BodyOf } from '../../api-client.ts';
import { actionCommand, type CliSubject, flag, group, operand, option, required } from '../../command.ts';
import { deleteOptions, runDelete, saysYes } from '../../confirm.ts';
import type { CliContext } from '../../context.ts';
import { CliError, UsageError } from '../../errors.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import { allItems, eachPage, pageSizeMax, printList, withListOptions } from '../../list-pages.ts';
import { collect, parseRepo, parseTenant } from '../../options.ts';
import { listenForInterrupt, WaitLine } from '../../progress.ts';
import { formatAge, formatCount, formatUntil } from '../../render.ts';
import { type ApiOptions, cloneAddress, loginTenant, requireServerOf } from '../../server.ts';
import { renderTable } from '../../table.ts';
import { type View, viewOf } from '../../terminal.ts';
import { type DownloadDeps, downloadFailure, TransferProgress } from '../../transfer.ts';
import { type GetOutcome, getFiles } from './get.ts';
import { type LocalFile, localFiles, type PutOutcome, putFiles } from './put.ts';

const tenant = () => option('--tenant <tenant>', 'its tenant', parseTenant);
const repo = () => option('--repo <repo>', 'a repo of kind files', parseRepo);
const ofPlace = { tenant: tenant(), repo: repo() };
const namesOperand = (name: string) => operand(name, 'names of files, as `files list` shows them', collect);

/** Where the files are: what isn't passed is the clone's, or the login's. @throws {UsageError} */
async function placeOf(
  client: ApiClient,
  context: CliContext,
  options: ApiOptions & { tenant: string | undefined; repo: string | undefined },
): Promise<RepoPlace> {
  const isGiven = options.tenant !== undefined && options.repo !== undefined;
  const clone = isGiven ? undefined : await cloneAddress(context);
  const tenant = options.tenant ?? clone?.tenant ?? loginTenant(options, context);
  const repo = options.repo ?? (clone?.tenant === tenant ? clone?.repo : undefined);
  if (tenant === undefined) throw new UsageError('Whose files? Pass --tenant.');
  if (repo === undefined)
    throw new UsageError(`Which repo? Pass --repo. List them: lfs-quota repo list ${tenant}`);
  if (clone) requireServerOf(clone, client);
  return { tenant, repo };
}

const goOn = 'Run the command again: it continues with what is missing.';
const formatFiles = (count: number) => `${formatCount(count)} ${count === 1 ? 'file' : 'files'}`;
const bytesOf = (files: readonly { bytes?: number | undefined }[]) =>
  files.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
const sumOf = (files: readonly { bytes?: number | undefined }[]) =>
  `${formatFiles(files.length)}, ${formatBytes(bytesOf(files))}`;

/** Shows how far a transfer is, and what stopped it. @throws {CliError} */
async function transferring(
  context: CliContext,
  { isQuiet, place, totalBytes = 0 }: { isQuiet: boolean; place: string; totalBytes?: number },
  work: (deps: DownloadDeps, shown: Record<'onBytes' | 'onTotal', (bytes: number) => void>) => Promise<void>,
): Promise<void> {
  const line = new WaitLine(context, { isQuiet });
  const progress = new TransferProgress(context, line);
  const { signal: stop, sleep, release } = listenForInterrupt(context);
  const sum = { bytes: 0, totalBytes };
  const add = (to: keyof typeof sum) => (bytes: number) => {
    sum[to] += bytes;
    progress.show(sum);
  };
  try {
    await work({ stop, sleep }, { onBytes: add('bytes'), onTotal: add('totalBytes') });
  } catch (error) {
    line.clear();
    const incomplete = 'Not all files are transferred.';
    throw downloadFailure(error, { isStopped: stop.aborted, file: place, goOn, incomplete });
  } finally {
    line.clear();
    release();
  }
}

/** What became of some files, and of which way. */
type Row = readonly [name: string, files: readonly { bytes?: number | undefined }[]];

const textOf = (rows: readonly Row[]) =>
  rows
    .filter(([, files], index) => index === 0 || files.length > 0)
    .map(([name, files]) => `${name.padEnd(15)}${sumOf(files)}\n`)
    .join('');

const namedMax = 10;

function failed(
  what: string,
  lines: readonly string[],
  more: { failure: 'refused' | 'not-found' | 'failed'; hint: string },
) {
  const named = lines.slice(0, namedMax);
  if (lines.length > namedMax)
    named.push(`… and ${formatCount(lines.length - namedMax)} more: --json lists all`);
  return new CliError([what, ...named].join('\n'), more);
}

const putCommand = actionCommand({
  name: 'put',
  description: 'Upload files and folders; continues where it stopped',
  operands: { paths: operand('<path...>', 'files or folders', collect) },
  options: {
    ...ofPlace,
    as: option('--as <name>', 'the name of the file (default: as it is here)'),
    prefix: option('--prefix <prefix>', 'put before each name, such as avatars/'),
  },
  wanted: 'a token of the tenant with the scope write',
  run: async (client, { operands: { paths }, options, context }) => {
    const { as, prefix, json: isQuiet = false } = options;
    const place = await placeOf(client, context, options);
    const onLeftOut = (path: string) =>
      context.err(`${path}: left out, as it's neither a file nor a folder.\n`);
    const files = await localFiles(paths, { as, prefix, onLeftOut });
    if (as !== undefined && files[0]?.path !== paths[0])
      throw new UsageError('--as names one file. For a folder or several files, use --prefix.');
    const outcomes: PutOutcome[] = [];
    const totalBytes = bytesOf(files);
    await transferring(context, { isQuiet, place: place.repo, totalBytes }, (deps, { onBytes }) =>
      putFiles(deps, { client, place, files, onBytes, onOutcome: (outcome) => outcomes.push(outcome) }),
    );
    const tried = new Set(outcomes.map(({ file }) => file));
    const untried = files.filter((file) => !tried.has(file));
    context.out(
      isQuiet ? `${JSON.stringify(putJson(place, outcomes, untried))}\n` : putText(outcomes, files),
    );
    requireAllPut(place, outcomes, { untried, nowMs: context.nowMs() });
  },
});

const filesOf = (outcomes: readonly PutOutcome[], state: string) =>
  outcomes.flatMap((each) => ('upload' in each && each.upload.state === state ? [each.file] : []));

function putText(outcomes: readonly PutOutcome[], files: readonly LocalFile[]): string {
  const [uploaded, stored] = [filesOf(outcomes, 'upload'), filesOf(outcomes, 'stored')];
  const there = new Set([...uploaded, ...stored]);
  return textOf([
    ['uploaded', uploaded],
    ['already there', stored],
    ['missing', files.filter((file) => !there.has(file))],
  ]);
}

function putJson(place: RepoPlace, outcomes: readonly PutOutcome[], untried: readonly LocalFile[]) {
  const named = ({ name, bytes }: LocalFile) => ({ name, bytes });
  const tried = outcomes.map((each) => {
    if (!('upload' in each)) return { ...named(each.file), state: 'failed', message: each.message };
    const { url: _url, headers: _headers, expiresAt: _expiresAt, name: _name, ...upload } = each.upload;
    return { ...named(each.file), ...upload, state: upload.state === 'upload' ? 'uploaded' : upload.state };
  });
  return { ...place, files: [...tried, ...untried.map((file) => ({ ...named(file), state: 'untried' }))] };
}

/** @throws {CliError} that says why something isn't stored, and what to do. */
function requireAllPut(
  place: RepoPlace,
  outcomes: readonly PutOutcome[],
  { untried, nowMs }: { untried: readonly LocalFile[]; nowMs: number },
): void {
  let full: string | undefined;
  let isTaken = false;
  const lines = outcomes.flatMap((outcome) => {
    const { path, bytes } = outcome.file;
    if (!('upload' in outcome)) return [`${path}: ${outcome.message}`];
    const { state, storedBytes = 0, freeBytes = 0 } = outcome.upload;
    if (state === 'upload' || state === 'stored') return [];
    const size = formatBytes(bytes);
    isTaken ||= state === 'name-taken';
    if (state === 'over-limit') full ??= overLimitText(place, outcome.upload, nowMs);
    if (state === 'no-space')
      full ??= `The server's disk is full: ${formatBytes(freeBytes)} free for uploads.`;
    if (state !== 'name-taken') return [`${path}: its ${size} don't fit`];
    return [
      storedBytes > 0
        ? `${path}: ${outcome.upload.name} is taken by another file, of ${formatBytes(storedBytes)}`
        : `${path}: ${outcome.upload.name} is taken for about a day, after a delete or a broken upload`,
    ];
  });
  if (lines.length === 0) return;
  if (untried.length > 0) lines.push(`Not tried: ${sumOf(untried)}`);
  if (full !== undefined)
    throw failed(full, lines, { failure: 'refused', hint: `Free up space, or raise the limit. ${goOn}` });
  const what = `${formatFiles(lines.length)} ${lines.length === 1 ? "isn't" : "aren't"} stored:`;
  if (isTaken)
    throw failed(what, lines, {
      failure: 'refused',
      hint: 'A stored file never changes: choose another name with --as or --prefix.',
    });
  throw failed(what, lines, { failure: 'failed', hint: goOn });
}

type Upload = BodyOf<'requestUploads'>['uploads'][number];

function overLimitText({ tenant, repo }: RepoPlace, upload: Upload, nowMs: number): string {
  const { limit, usedBytes = 0, reservedBytes = 0, limitBytes = 0, shortBytes = 0, reservedUntil } = upload;
  const whose = limit === 'repo' ? `${tenant}/${repo}` : tenant;
  const uploading = reservedBytes > 0 ? `, ${formatBytes(reservedBytes)} of it for uploads in progress` : '';
  const until = reservedUntil ? ` Those end ${formatUntil(reservedUntil, nowMs)} at the latest.` : '';
  return (
    `Storage limit reached: ${whose} uses ${formatBytes(usedBytes)} of ${formatBytes(limitBytes)}${uploading}. ` +
    `${formatBytes(shortBytes)} short.${until}`
  );
}

const getCommand = actionCommand({
  name: 'get',
  description: 'Download files; what is here already is kept',
  operands: { names: namesOperand('[name...]') },
  options: {
    ...ofPlace,
    prefix: option('--prefix <prefix>', 'all files with this prefix'),
    output: option('--output <dir>', 'the folder for them (default: the current one)'),
    force: flag('--force', 'replace what is here'),
  },
  wanted: 'a token of the tenant',
  run: async (client, { operands, options, context }) => {
    const { prefix, output = '.', force: isForced = false, json: isQuiet = false } = options;
    requireNamesOrPrefix(operands.names, prefix);
    const place = await placeOf(client, context, options);
    const list = { route: 'listFiles', params: { ...place }, items: 'files' } as const;
    const names =
      prefix === undefined
        ? [...new Set(operands.names)]
        : (await allItems(client, { ...list, query: { prefix } })).map(({ name }) => name);
    for (const name of names) {
      const fault = fileNameFault(name);
      if (fault !== undefined) throw new UsageError(`${name}: a name must be ${fault}.`);
    }
    const outcomes: GetOutcome[] = [];
    const onOutcome = (outcome: GetOutcome) => outcomes.push(outcome);
    await transferring(context, { isQuiet, place: output }, (deps, shown) =>
      getFiles(deps, { client, place, names, output, isForced, onOutcome, nowMs: context.nowMs, ...shown }),
    );
    const by = (state: GetOutcome['state']) => outcomes.filter((each) => each.state === state);
    const kept = by('exists');
    if (isQuiet) context.out(`${JSON.stringify({ ...place, files: outcomes })}\n`);
    else context.out(textOf([['downloaded', by('downloaded')]]));
    if (kept.length > 0)
      context.err(`Kept, as they exist here: ${formatFiles(kept.length)}. To replace them, pass --force.\n`);
    requireAllGot(outcomes);
  },
});

function requireNamesOrPrefix(names: readonly string[] = [], prefix: string | undefined): void {
  if (names.length > 0 === (prefix !== undefined))
    throw new UsageError('Choose files: by name, or with --prefix.');
}

/** @throws {CliError} */
function requireAllGot(outcomes: readonly GetOutcome[]): void {
  const left = outcomes.filter(({ state }) => state !== 'downloaded' && state !== 'exists');
  if (left.length === 0) return;
  const areMissing = left.every(({ state }) => state !== 'failed');
  throw failed(
    `Not downloaded: ${formatFiles(left.length)}.`,
    left.map(
      ({ name, state, message }) => `${name}: ${message ?? (state === 'missing' ? 'not found' : state)}`,
    ),
    areMissing
      ? { failure: 'not-found', hint: 'List them: lfs-quota files list --repo REPO' }
      : { failure: 'failed', hint: goOn },
  );
}

type FileBody = BodyOf<'listFiles'>['files'][number];

const listFilesCommand = actionCommand({
  name: 'list',
  description: 'List files by name',
  base: withListOptions,
  options: { ...ofPlace, prefix: option('--prefix <prefix>', 'only names that begin with this') },
  run: async (client, { options, context }) => {
    const { prefix, json, pageSize = pageSizeMax } = options;
    const params = { ...(await placeOf(client, context, options)) };
    const query = { prefix };
    const list = {
      route: 'listFiles',
      params,
      query,
      items: 'files',
      options: { ...options, pageSize },
    } as const;
    if (json) return printList(context, client, { ...list, render: () => '' });
    const sum = { fileCount: 0, bytes: 0 };
    for await (const { body } of eachPage(client, list)) {
      client.busy.hide();
      context.out(fileLines(body.files, viewOf(context)));
      sum.fileCount += body.files.length;
      sum.bytes += bytesOf(body.files);
    }
    const none =
      prefix === undefined
        ? 'No files yet. Upload one: lfs-quota files put PATH'
        : 'No names begin with this.';
    context.out(
      sum.fileCount === 0
        ? `${none}\n`
        : `Total: ${formatFiles(sum.fileCount)}, ${formatBytes(sum.bytes)}.\n`,
    );
  },
});

/** `1023.99 GiB`; `1204 days ago`. */
const [sizeCharacters, ageCharacters] = [11, 13];

/** There may be many, so no table is made of them all: a page at a time, in columns of one width. */
function fileLines(files: readonly FileBody[], view: View): string {
  const rows = files.map(({ name, bytes, storedAt }) => [
    formatBytes(bytes).padStart(sizeCharacters),
    (storedAt === null ? '-' : formatAge(storedAt, view.nowMs)).padEnd(ageCharacters),
    name,
  ]);
  return renderTable(['size', 'stored', { name: 'name', least: 16, stays: true }], rows, {
    ...view,
    hasHeading: false,
  });
}

const deleteCommand = actionCommand({
  name: 'delete',
  description: 'Delete files; for about a day, their names stay taken',
  operands: { names: namesOperand('[name...]') },
  options: {
    tenant: required(tenant()),
    repo: required(repo()),
    prefix: option('--prefix <prefix>', 'all files with this prefix'),
    ...deleteOptions,
  },
  run: async (client, { operands: { names }, options, context }) => {
    const { tenant = '', repo = '', prefix } = options;
    requireNamesOrPrefix(names, prefix);
    const params = { tenant, repo };
    const queries = prefix === undefined ? [...new Set(names)].map((name) => ({ name })) : [{ prefix }];
    await runDelete(context, {
      client,
      options,
      route: 'deleteFiles',
      requests: queries.map((query) => ({ params, query })),
      question: "Delete them? You can't undo this. [y/N] ",
      isYes: saysYes,
      summary: (plans) => {
        const count = plans.reduce((sum, { fileCount }) => sum + fileCount, 0);
        return `${tenant}/${repo}: ${formatFiles(count)}, ${formatBytes(bytesOf(plans))}.\n`;
      },
    });
  },
});

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
    'files-full': 'Delete some, or use another repo: lfs-quota repo create TENANT NAME --kind files',
    'download-limit': 'See the downloads: lfs-quota downloads TENANT',
  },
};
