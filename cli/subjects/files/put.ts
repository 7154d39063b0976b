import { randomUUID } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { filesPerRequest } from '../../../lambda/subjects/files/contract.ts';
import { fileNameFault } from '../../../lambda/subjects/files/rules/names.ts';
import { errorCode } from '../../../local/system/durable-file.ts';
import type { ApiClient, BodyOf } from '../../api-client.ts';
import { transferEach } from '../../at-once.ts';
import { sha256Of } from '../../download-file.ts';
import { CliError, UsageError } from '../../errors.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import { piecesOf } from '../../move/archive.ts';
import { putObject, RefusedError, sendAgain, WrongBytesError } from '../../move/put.ts';
import type { DownloadDeps } from '../../transfer.ts';

/** Uploads of local files. Asked for a file that is stored already, the server says so: so a second call continues the first. */

/**
 * What is asked for together. A name is taken for a day when its upload isn't finished in time, so no file may wait long for the
 * ones before it.
 */
const batchMax = { files: filesPerRequest, bytes: 256 * 1024 ** 2 };
const lifetimeSeconds = 1800;
const putsAtOnce = 4;

export interface LocalFile {
  readonly path: string;
  /** In the repo. */
  readonly name: string;
  readonly bytes: number;
}

type Upload = BodyOf<'requestUploads'>['uploads'][number];

/** What became of a file. `upload`: it was uploaded. */
export type PutOutcome = { readonly file: LocalFile } & (
  | { readonly upload: Upload }
  | { readonly message: string }
);

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
      if (fault !== undefined)
        throw new UsageError(`${file.path}: its name must be ${fault}. It would be ${file.name}`);
      const other = files.get(file.name);
      if (other) throw new UsageError(`${other.path} and ${file.path} would both be ${file.name}`);
      files.set(file.name, file);
    }
  }
  return [...files.values()];
}

interface At {
  readonly prefix: string;
  readonly name: string;
  readonly onLeftOut: (path: string) => void;
}

async function* filesAt(at: string, { prefix, name, onLeftOut }: At): AsyncGenerator<LocalFile> {
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
}

interface HashedFile {
  readonly file: LocalFile;
  readonly sha256: string;
}

/**
 * Uploads files, those of a batch in any order. Once one doesn't fit, no other batch is asked for.
 *
 * @param onOutcome of each that was tried. @throws {CliError} @throws {TransferError} when the store doesn't respond any more.
 */
export async function putFiles(
  deps: DownloadDeps,
  input: Putting & {
    readonly files: readonly LocalFile[];
    readonly onOutcome: (outcome: PutOutcome) => void;
  },
): Promise<void> {
  const { files, onBytes, onOutcome } = input;
  const note = (outcome: PutOutcome) => {
    if (!('upload' in outcome) || outcome.upload.state !== 'upload') onBytes(outcome.file.bytes);
    onOutcome(outcome);
  };
  await transferEach(deps, {
    atOnce: putsAtOnce,
    itemsOf: (stop) => offers({ ...deps, stop }, input, files),
    nameOf: ({ file }) => file.path,
    async transfer(offer, stop) {
      const put = putFile({ ...deps, stop }, input, offer);
      const { file } = offer;
      note(
        await put.then(
          (upload) => ({ file, upload }),
          (error) => {
            if (!(error instanceof RefusedError)) throw error;
            const isChanged = error instanceof WrongBytesError;
            return { file, message: isChanged ? 'it changed while it was uploaded' : error.message };
          },
        ),
      );
    },
    onFailed: ({ file }, { message }) => note({ file, message }),
  });
}

async function* offers(
  deps: DownloadDeps,
  putting: Putting,
  files: readonly LocalFile[],
): AsyncGenerator<HashedFile & { readonly upload: Upload }> {
  for (let at = 0; at < files.length; ) {
    const batch: HashedFile[] = [];
    let bytes = 0;
    for (let next = files[at]; next; next = files[at]) {
      bytes += next.bytes;
      if (batch.length > 0 && (bytes > batchMax.bytes || batch.length >= batchMax.files)) break;
      batch.push({ file: next, sha256: await sha256OfFile(deps, next) });
      at += 1;
    }
    const uploads = await request(deps, putting, batch);
    for (const [index, hashed] of batch.entries()) yield { ...hashed, upload: uploads[index] as Upload };
    if (uploads.some(({ state }) => state === 'over-limit' || state === 'no-space')) return;
  }
}

async function sha256OfFile({ stop }: DownloadDeps, { path: at, bytes }: LocalFile): Promise<string> {
  const file = await open(at).catch((cause) => throwUnreadable(at, cause));
  try {
    return await sha256Of(file, { sizeBytes: bytes, stop });
  } finally {
    await file.close();
  }
}

/** @returns one for each, in their order. @throws {CliError} */
async function request(
  deps: DownloadDeps,
  { client, place }: Putting,
  batch: readonly HashedFile[],
): Promise<readonly Upload[]> {
  const files = batch.map(({ file: { name, bytes }, sha256 }) => ({ name, bytes, sha256 }));
  const asking = { params: { ...place }, body: { files, lifetimeSeconds }, requestKey: randomUUID() };
  return (await client.askAgain(deps, 'requestUploads', asking)).body.uploads;
}

/** @returns what the server said last. @throws {TransferError} what the last attempt failed with. */
async function putFile(
  deps: DownloadDeps,
  putting: Putting,
  { file, sha256, upload: first }: HashedFile & { readonly upload: Upload },
): Promise<Upload> {
  let upload = first;
  let isRefused = false;
  const attempt = async (onBytes: (bytes: number) => void): Promise<Upload> => {
    // Its URL has expired; or the file has arrived, and nobody heard of it. A URL that works is used again: the space of another
    // one would be reserved, too.
    if (isRefused) [upload = first] = await request(deps, putting, [{ file, sha256 }]);
    const { state, url: href = '', headers: header = {} } = upload;
    if (state !== 'upload') return upload;
    const opened = await open(file.path).catch((cause) => throwUnreadable(file.path, cause));
    try {
      await putObject(deps, {
        open: async () => piecesOf(opened, { startByte: 0, sizeBytes: file.bytes }),
        to: 'store',
        upload: { href, header },
        object: { oid: sha256, sizeBytes: file.bytes },
        onBytes,
      });
    } catch (error) {
      isRefused = error instanceof RefusedError;
      throw error;
    } finally {
      await opened.close();
    }
    return upload;
  };
  return sendAgain(deps, { onBytes: putting.onBytes, attempt });
}
