import { randomUUID } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { sha256Hex } from '../../../lambda/core/rules/hash.ts';
import { defaultSettings } from '../../../lambda/core/rules/settings.ts';
import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import { fileNameFault } from '../../../lambda/frame/access/rules/file-names.ts';
import { filesPerRequest } from '../../../lambda/subjects/files/contract.ts';
import { errorCode } from '../../../local/system/durable-file.ts';
import type { ApiClient, BodyOf } from '../../api-client.ts';
import { transferEach } from '../../at-once.ts';
import { actionCommand, type CliSubject, flag, operand, option } from '../../command.ts';
import { deleteObjectOptions, deleteObjects, linesOf, listStored } from '../../commands/files.ts';
import { runDelete, saysYes } from '../../confirm.ts';
import { sha256Of } from '../../download-file.ts';
import { CliError, UsageError } from '../../errors.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import { allItems, eachPage, pageSizeMax, printList, withListOptions } from '../../list-pages.ts';
import { piecesOf } from '../../move/archive.ts';
import { putObject, RefusedError, sendAgain, WrongBytesError } from '../../move/put.ts';
import { collect } from '../../options.ts';
import { ofPlace, placeOf } from '../../place.ts';
import { viewOf } from '../../terminal.ts';
import { continues, type DownloadDeps, TransferError, transferring } from '../../transfer.ts';
import { getFiles } from './get.ts';
import { type Outcome, report, sumText } from './outcome.ts';

/**
 * What is asked for together. A name whose upload isn't finished in time is taken for a day, so no file may wait long for those
 * before it.
 */
const batchMax = { files: filesPerRequest, bytes: 256 * 1024 ** 2 };
const lifetimeSeconds = 1800;
const putsAtOnce = 4;

interface LocalFile {
  readonly path: string;
  /** In the repo. */
  readonly name: string;
  readonly bytes: number;
  /** When it was last written, or got its name, by the clock here. */
  readonly changedMs: number;
}

/** What the parts of a file are known by: where it is, and when it was last changed. */
export function versionOf({ path: at, changedMs }: Pick<LocalFile, 'path' | 'changedMs'>): string {
  return `${sha256Hex(`${hostname()}\n${path.resolve(at)}`).slice(0, 32)} ${changedMs}`;
}

const placeIn = (version = '') => version.split(' ', 1)[0];

/**
 * The files at paths, those of folders too, each with its name.
 *
 * @param input.onLeftOut called with what is no file in a folder, such as a link. @throws {UsageError} @throws {CliError}
 */
async function localFiles(
  paths: readonly string[],
  input: { as: string | undefined; prefix: string | undefined; onLeftOut: (path: string) => void },
): Promise<LocalFile[]> {
  const { as, prefix = '', onLeftOut } = input;
  const files = new Map<string, LocalFile>();
  for (const each of paths) {
    // Of `.` and `photos/.` there's no name.
    const name = as ?? path.basename(each).replace(/^\.{1,2}$/, '');
    for await (const file of filesAt(each, { prefix, name, onLeftOut })) {
      const fault = fileNameFault(file.name);
      if (fault !== undefined) throw new UsageError(`${file.path}: its name ${file.name} must be ${fault}.`);
      const other = files.get(file.name);
      if (other) throw new UsageError(`${other.path} and ${file.path} would both be ${file.name}`);
      files.set(file.name, file);
    }
  }
  return [...files.values()];
}

async function* filesAt(
  at: string,
  { prefix, name, onLeftOut }: { prefix: string; name: string; onLeftOut: (path: string) => void },
): AsyncGenerator<LocalFile> {
  const found = await stat(at).catch((cause) => throwUnreadable(at, cause));
  const { size: bytes, ctimeMs: changedMs } = found;
  if (found.isFile()) return yield { path: at, name: (prefix + name).normalize('NFC'), bytes, changedMs };
  if (!found.isDirectory())
    throw new UsageError(`${at} is neither a file nor a folder. Store its bytes in a file first.`);
  const inside = name === '' ? prefix : `${prefix}${name}/`;
  for (const entry of await readdir(at, { withFileTypes: true }).catch((cause) =>
    throwUnreadable(at, cause),
  )) {
    const each = path.join(at, entry.name);
    if (entry.isFile() || entry.isDirectory())
      yield* filesAt(each, { prefix: inside, name: entry.name, onLeftOut });
    else onLeftOut(each);
  }
}

function throwUnreadable(at: string, cause: unknown): never {
  const message = `Can't read ${at} (${errorCode(cause) ?? cause}).`;
  throw new CliError(message, { hint: 'Nothing more is uploaded. Fix that, then retry.', cause });
}

interface Putting {
  readonly client: ApiClient;
  readonly place: RepoPlace;
  readonly onBytes: (bytes: number) => void;
  readonly onOutcome: (outcome: Outcome) => void;
}

type Upload = BodyOf<'requestUploads'>['uploads'][number];

interface Offered {
  readonly file: LocalFile;
  /** undefined: no PUT carries as much, and parts have none. */
  readonly sha256: string | undefined;
  /** What the server said last. */
  upload: Upload;
  sentBytes: number;
}

/** Once a file doesn't fit, no others are tried but those of its batch. @throws {CliError} @throws {TransferError} */
async function putFiles(deps: DownloadDeps, files: readonly LocalFile[], putting: Putting): Promise<void> {
  const note = ({ file: { name, path: at, bytes }, sentBytes }: Offered, said: Upload | string) => {
    putting.onBytes(bytes - sentBytes);
    const judged =
      typeof said === 'string' ? ({ state: 'failed', why: said } as const) : judge(said, putting);
    const why =
      judged.why === undefined || judged.state === 'over-limit' ? judged.why : `${at}: ${judged.why}`;
    putting.onOutcome({ name, bytes, ...judged, ...(why !== undefined && { why }) });
  };
  await transferEach(deps, {
    atOnce: putsAtOnce,
    itemsOf: (stop) => offers({ ...deps, stop }, files, putting),
    nameOf: ({ file }) => file.path,
    async transfer(offer, stop) {
      const put = putFile({ ...deps, stop }, offer, putting);
      const failed = await put.catch((error: unknown) => {
        if (error instanceof WrongBytesError) return 'it changed while it was uploaded';
        if (error instanceof RefusedError) return error.message;
        throw error;
      });
      note(offer, failed ?? offer.upload);
    },
    onFailed: (offer, { message }) => note(offer, message),
  });
}

async function* offers(
  deps: DownloadDeps,
  files: readonly LocalFile[],
  putting: Putting,
): AsyncGenerator<Offered> {
  for (let at = 0, end = 0; at < files.length; at = end) {
    let bytes = 0;
    while (end < files.length && end - at < batchMax.files && (end === at || bytes < batchMax.bytes)) {
      bytes += files[end]?.bytes ?? 0;
      end += 1;
    }
    const batch: Omit<Offered, 'upload'>[] = [];
    for (const file of files.slice(at, end))
      batch.push({ file, sha256: await hashOf(deps, file), sentBytes: 0 });
    const uploads = await request(deps, batch, putting);
    yield* batch.map((each, index) => ({ ...each, upload: uploads[index] as Upload }));
    if (!uploads.some(({ state }) => state === 'over-limit' || state === 'no-space')) continue;
    for (const { name, bytes } of files.slice(end)) putting.onOutcome({ name, bytes, state: 'untried' });
    return;
  }
}

/** @param use of the open file. */
async function withFile<T>(
  at: string,
  use: (file: Awaited<ReturnType<typeof open>>) => Promise<T>,
): Promise<T> {
  const file = await open(at).catch((cause) => throwUnreadable(at, cause));
  return use(file).finally(() => file.close());
}

const hashOf = async ({ stop }: DownloadDeps, { path: at, bytes: sizeBytes }: LocalFile) =>
  sizeBytes > defaultSettings.objectBytesMax
    ? undefined
    : withFile(at, (file) => sha256Of(file, { sizeBytes, stop }));

/** @returns one for each, in their order. @throws {CliError} */
async function request(
  deps: DownloadDeps,
  batch: readonly Omit<Offered, 'upload'>[],
  { client, place }: Putting,
): Promise<readonly Upload[]> {
  const files = batch.map(({ file, sha256 }) => {
    const { name, bytes } = file;
    return { name, bytes, sha256, inParts: true, version: versionOf(file) };
  });
  const asking = { params: { ...place }, body: { files, lifetimeSeconds }, requestKey: randomUUID() };
  return (await client.askAgain(deps, 'requestUploads', asking)).body.uploads;
}

async function renew(deps: DownloadDeps, offered: Offered, putting: Putting): Promise<void> {
  const [upload = offered.upload] = await request(deps, [offered], putting);
  requireOwn(offered.file, upload);
  offered.upload = upload;
}

/** Parts of two files would be one. @throws {RefusedError} */
function requireOwn(file: LocalFile, { name, parts, version }: Upload): void {
  if (parts && placeIn(version) !== placeIn(versionOf(file)))
    throw new RefusedError(`Another file is being uploaded as ${name}. Use another name.`);
}

/** What breaks off in parts is continued by another call, what can't be is canceled. @throws {TransferError} @throws {CliError} */
async function putFile(deps: DownloadDeps, offered: Offered, putting: Putting): Promise<void> {
  const { file } = offered;
  const { parts, version } = offered.upload;
  if (!parts) return send(deps, offered, putting);
  requireOwn(file, offered.upload);
  try {
    if (version !== versionOf(file)) throw new RefusedError('It changed after its upload started.');
    await transferEach(deps, {
      atOnce: putsAtOnce,
      failuresMax: 1,
      itemsOf: () => ReadableStream.from(parts.keys()).values(),
      nameOf: (at) => `part ${at + 1}`,
      transfer: (at, stop) =>
        send({ ...deps, stop }, offered, putting, at).finally(() => requireUnchanged(file)),
    });
    if (offered.upload.state === 'upload') await confirm(deps, offered, putting);
  } catch (error) {
    const why = error instanceof TransferError ? (error.cause ?? error) : error;
    if (!(why instanceof RefusedError)) throw error;
    const params = { ...putting.place, uploadId: offered.upload.uploadId ?? '' };
    const canceling = { params, query: { name: file.name } };
    const ends = await putting.client.askAgain(deps, 'cancelUpload', canceling).then(
      () => 'is canceled: retry in about 2 hours',
      () => 'ends in about a day: retry then',
    );
    throw new RefusedError(`${why.message} Its upload ${ends}, or use another name.`);
  }
}

/** Joined before a server was asked so often that it counts as down: three minutes of a slow disk. */
const joinedBytes = 4 * 1024 ** 3;

/**
 * Has the server make the parts the file, or say what is in the way. A store may join them for longer than a server lets anybody
 * wait. So it's asked on while it answers, as long as that may take. @throws {CliError} @throws {TransferError}
 */
async function confirm(
  deps: DownloadDeps,
  offered: Offered,
  putting: Putting,
  toJoinBytes = offered.file.bytes,
): Promise<void> {
  const params = { ...putting.place, uploadId: offered.upload.uploadId ?? '' };
  const confirming = { params, body: { name: offered.file.name } };
  await putting.client.askAgain(deps, 'confirmUpload', confirming).catch(async (error: unknown) => {
    if (!(error instanceof CliError)) throw error;
    if (error.failure === 'unavailable') {
      if (error.cause !== undefined || toJoinBytes <= 0) throw error;
      return confirm(deps, offered, putting, toJoinBytes - joinedBytes);
    }
    await renew(deps, offered, putting);
    if (offered.upload.state === 'upload') throw new TransferError(error.message);
  });
}

async function requireUnchanged({ path: at, bytes, changedMs }: LocalFile): Promise<void> {
  const now = await stat(at).catch(() => undefined);
  if (now?.size !== bytes || now.ctimeMs !== changedMs)
    throw new RefusedError('It changed while it was uploaded.');
}

/** Sends a file, or one of its parts, unless it's there. @throws {TransferError} what the last attempt failed with. */
function send(deps: DownloadDeps, offered: Offered, putting: Putting, at = 0): Promise<void> {
  const { file, sha256: oid } = offered;
  const parts = () => offered.upload.parts ?? [{ ...offered.upload, bytes: file.bytes }];
  let refusedUrl = '';
  const attempt = async (onBytes: (bytes: number) => void): Promise<void> => {
    // Its URL has expired, or it has arrived unheard. A URL that works is used again: another one would reserve as much.
    if (parts()[at]?.url === refusedUrl) await renew(deps, offered, putting);
    const { bytes: sizeBytes = 0, url: href, headers: header = {} } = parts()[at] ?? {};
    if (offered.upload.state !== 'upload') return;
    if (href === undefined) return onBytes(sizeBytes);
    const startByte = parts()
      .slice(0, at)
      .reduce((sum, { bytes }) => sum + bytes, 0);
    await withFile(file.path, (opened) =>
      putObject(deps, {
        open: async () => piecesOf(opened, { startByte, sizeBytes }),
        to: 'store',
        upload: { href, header },
        object: { oid: offered.upload.parts ? undefined : oid, sizeBytes },
        onBytes,
      }),
    ).catch((error: unknown) => {
      if (error instanceof RefusedError) refusedUrl = href;
      throw error;
    });
  };
  const onBytes = (bytes: number) => {
    offered.sentBytes += bytes;
    putting.onBytes(bytes);
  };
  return sendAgain(deps, { onBytes, attempt });
}

/** What an answer makes of a file, with the figures. */
function judge(upload: Upload, { place }: Putting): Pick<Outcome, 'state' | 'why'> {
  const { name, state, limit, usedBytes = 0, reservedBytes = 0, limitBytes = 0, shortBytes = 0 } = upload;
  if (state === 'upload') return { state: 'uploaded' };
  if (state === 'stored') return { state };
  if (state === 'no-space')
    return { state, why: `the server's disk has ${formatBytes(upload.freeBytes ?? 0)} free for uploads` };
  if (state === 'name-taken')
    return {
      state,
      why: upload.storedBytes
        ? `a file of ${formatBytes(upload.storedBytes)} is ${name} already, not known to be the same`
        : `${name} is taken for about a day, by a delete or a broken upload`,
    };
  const whose = limit === 'repo' ? `${place.tenant}/${place.repo}` : place.tenant;
  const uploading = reservedBytes > 0 ? ` (${formatBytes(reservedBytes)} uploading)` : '';
  const used = `${formatBytes(usedBytes)} of ${formatBytes(limitBytes)}${uploading}`;
  return { state, why: `Storage limit reached: ${whose} uses ${used}. ${formatBytes(shortBytes)} short.` };
}

const prefix = (description: string) => option('--prefix <prefix>', description);
const named = { names: operand('[name...]', 'names, as `files list` shows them', collect) };
const incomplete = 'Not all files are transferred.';

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
    const outcomes: Outcome[] = [];
    const names = new Set([...(operands.names ?? []), ...listed.map(({ name }) => name)]);
    for (const name of names) {
      const fault = fileNameFault(name);
      if (fault === undefined) continue;
      const why = `${name}: a name must be ${fault}.`;
      if (operands.names?.includes(name)) throw new UsageError(why);
      // Others may have put it into the bucket. It's in nobody's way.
      names.delete(name);
      outcomes.push({ name, state: 'failed', why });
    }
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

const listCommand = actionCommand({
  name: 'list',
  description: 'List what is stored, by repo and name; of Git LFS, by oid',
  base: withListOptions,
  options: { ...ofPlace, prefix: prefix('only files with names that start with this') },
  run: async (client, { options, context }) => {
    const { prefix, json, pageSize = pageSizeMax } = options;
    if (prefix === undefined) return listStored(client, context, options);
    const asked = { params: { ...(await placeOf(client, context, options)) }, query: { prefix } };
    const list = { ...asked, route: 'listFiles', items: 'files', options: { ...options, pageSize } } as const;
    if (json) return printList(context, client, { ...list, render: () => '' });
    const sum = { fileCount: 0, bytes: 0 };
    for await (const { body } of eachPage(client, list)) {
      client.busy.hide();
      const stored = body.files.map(({ bytes, ...file }) => ({ ...file, sizeBytes: bytes }));
      context.out(linesOf(stored, { view: viewOf(context), isOfRepo: true }));
      sum.fileCount += body.files.length;
      for (const { bytes } of body.files) sum.bytes += bytes;
    }
    context.out(sum.fileCount === 0 ? 'No name starts with this.\n' : `Total: ${sumText(sum)}.\n`);
  },
});

/** A token that may use some names alone may not ask. */
const isOfFiles = (client: ApiClient, params: RepoPlace) =>
  client.find('getRepo', { params: { ...params } }).then(
    (repo) => repo?.kind === 'files',
    (error: unknown) => {
      if (error instanceof CliError && error.failure === 'unauthorized') return true;
      throw error;
    },
  );

const deleteCommand = actionCommand({
  name: 'delete',
  description: 'Delete files at once, Git LFS objects after a grace time',
  operands: { names: operand('[name...]', 'names of files, or oids of objects', collect) },
  options: { ...deleteObjectOptions, prefix: prefix('all files with names that start with this') },
  run: async (client, { operands: { names = [] }, options, context }) => {
    const { tenant, repo, prefix } = options;
    requireNamesOrPrefix(names, prefix);
    if (!(await isOfFiles(client, { tenant, repo }))) {
      if (prefix !== undefined)
        throw new UsageError(`${tenant}/${repo} isn't of kind files. Delete its objects by oid.`);
      return deleteObjects(client, context, { oids: names, options });
    }
    const queries = prefix === undefined ? [...new Set(names)].map((name) => ({ name })) : [{ prefix }];
    const deleted = await runDelete(context, {
      client,
      options,
      route: 'deleteFiles',
      requests: queries.map((query) => ({ params: { tenant, repo }, query })),
      question: "Delete them? You can't undo this, and for about a day their names stay taken. [y/N] ",
      isYes: saysYes,
      summary: (plans) => `${tenant}/${repo}: ${sumText(sumsOf(plans))}.\n`,
    });
    if (deleted !== undefined && !options.json) context.out('Deleted.\n');
  },
});

const sumsOf = (plans: readonly BodyOf<'deleteFiles'>[]) =>
  plans.reduce(
    (sum, { fileCount, bytes }) => ({ fileCount: sum.fileCount + fileCount, bytes: sum.bytes + bytes }),
    { fileCount: 0, bytes: 0 },
  );

/** What `files` does with repos of files, and with both kinds. */
export const files: CliSubject = {
  files: { 3: putCommand, 6: getCommand, 10: listCommand, 30: deleteCommand },
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
    'wrong-kind': 'See its kind: lfs-quota repo show TENANT REPO',
    'store-cannot': 'Test the store: lfs-quota doctor s3://BUCKET',
    'file-not-found': 'List them: lfs-quota files list --tenant TENANT --repo REPO',
    'download-limit': 'See the downloads: lfs-quota downloads TENANT',
  },
};
