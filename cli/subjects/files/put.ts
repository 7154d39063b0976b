import { randomUUID } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import { fileNameFault } from '../../../lambda/frame/access/rules/file-names.ts';
import { filesPerRequest } from '../../../lambda/subjects/files/contract.ts';
import { errorCode } from '../../../local/system/durable-file.ts';
import type { ApiClient, BodyOf } from '../../api-client.ts';
import { transferEach } from '../../at-once.ts';
import { sha256Of } from '../../download-file.ts';
import { CliError, UsageError } from '../../errors.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import { piecesOf } from '../../move/archive.ts';
import { putObject, RefusedError, sendAgain, WrongBytesError } from '../../move/put.ts';
import type { DownloadDeps } from '../../transfer.ts';
import type { Outcome } from './outcome.ts';

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
}

/**
 * The files at paths, those of folders too, each with its name.
 *
 * @param input.onLeftOut called with what is no file in a folder, such as a link. @throws {UsageError} @throws {CliError}
 */
export async function localFiles(
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
  if (found.isFile()) yield { path: at, name: (prefix + name).normalize('NFC'), bytes: found.size };
  if (!found.isDirectory()) return;
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
  readonly sha256: string;
  readonly upload: Upload;
}

/** Once a file doesn't fit, no others are tried but those of its batch. @throws {CliError} @throws {TransferError} */
export async function putFiles(
  deps: DownloadDeps,
  files: readonly LocalFile[],
  putting: Putting,
): Promise<void> {
  const note = ({ file: { name, path: at, bytes } }: Pick<Offered, 'file'>, said: Upload | string) => {
    const isSent = typeof said !== 'string' && said.state === 'upload';
    if (!isSent) putting.onBytes(bytes);
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
      const said = await put.catch((error: unknown) => {
        if (error instanceof WrongBytesError) return 'it changed while it was uploaded';
        if (error instanceof RefusedError) return error.message;
        throw error;
      });
      note(offer, said);
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
    for (const file of files.slice(at, end)) batch.push({ file, sha256: await hashOf(deps, file) });
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

const hashOf = ({ stop }: DownloadDeps, { path: at, bytes: sizeBytes }: LocalFile) =>
  withFile(at, (file) => sha256Of(file, { sizeBytes, stop }));

/** @returns one for each, in their order. @throws {CliError} */
async function request(
  deps: DownloadDeps,
  batch: readonly Omit<Offered, 'upload'>[],
  { client, place }: Putting,
): Promise<readonly Upload[]> {
  const files = batch.map(({ file: { name, bytes }, sha256 }) => ({ name, bytes, sha256 }));
  const asking = { params: { ...place }, body: { files, lifetimeSeconds }, requestKey: randomUUID() };
  return (await client.askAgain(deps, 'requestUploads', asking)).body.uploads;
}

/** @returns what the server said last. @throws {TransferError} what the last attempt failed with. */
async function putFile(deps: DownloadDeps, offered: Offered, putting: Putting): Promise<Upload> {
  const { file, sha256 } = offered;
  let { upload } = offered;
  let isRefused = false;
  const attempt = async (onBytes: (bytes: number) => void): Promise<Upload> => {
    // Its URL has expired, or the file has arrived unheard. A URL that works is used again: another one would reserve as much.
    if (isRefused) [upload = upload] = await request(deps, [offered], putting);
    const { state, url: href = '', headers: header = {} } = upload;
    if (state !== 'upload') return upload;
    await withFile(file.path, (opened) =>
      putObject(deps, {
        open: async () => piecesOf(opened, { startByte: 0, sizeBytes: file.bytes }),
        to: 'store',
        upload: { href, header },
        object: { oid: sha256, sizeBytes: file.bytes },
        onBytes,
      }),
    ).catch((error: unknown) => {
      isRefused = error instanceof RefusedError;
      throw error;
    });
    return upload;
  };
  return sendAgain(deps, { onBytes: putting.onBytes, attempt });
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
        ? `another file, of ${formatBytes(upload.storedBytes)}, is ${name} already`
        : `${name} is taken for about a day, by a delete or a broken upload`,
    };
  const whose = limit === 'repo' ? `${place.tenant}/${place.repo}` : place.tenant;
  const uploading = reservedBytes > 0 ? ` (${formatBytes(reservedBytes)} uploading)` : '';
  const used = `${formatBytes(usedBytes)} of ${formatBytes(limitBytes)}${uploading}`;
  return { state, why: `Storage limit reached: ${whose} uses ${used}. ${formatBytes(shortBytes)} short.` };
}
