import { open, stat } from 'node:fs/promises';
import { errorCode } from '../../../local/system/durable-file.ts';
import type { ApiClient, BodyOf } from '../../api-client.ts';
import { transferEach } from '../../at-once.ts';
import { CliError } from '../../errors.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import { piecesOf } from '../../move/archive.ts';
import { putObject, RefusedError, sendAgain } from '../../move/put.ts';
import { type DownloadDeps, TransferError } from '../../transfer.ts';

/** How a file here gets to the store. */

const partsAtOnce = 4;

export interface LocalFile {
  readonly path: string;
  /** In the repo. */
  readonly name: string;
  readonly bytes: number;
  /** When it was last written, or got its name, by the clock here. */
  readonly changedMs: number;
}

function throwUnreadable(at: string, cause: unknown): never {
  const message = `Can't read ${at} (${errorCode(cause) ?? cause}).`;
  throw new CliError(message, { hint: 'Nothing more is uploaded. Fix that, then retry.', cause });
}

/** @param use of the open file. */
export async function withFile<T>(
  at: string,
  use: (file: Awaited<ReturnType<typeof open>>) => Promise<T>,
): Promise<T> {
  const file = await open(at).catch((cause) => throwUnreadable(at, cause));
  return use(file).finally(() => file.close());
}

/** PUTs bytes of a file, once. @param input.oid undefined: of no known SHA-256. @throws {CliError} @throws {TransferError} */
export const putBytes = (
  deps: DownloadDeps,
  { path: at }: LocalFile,
  input: {
    startByte: number;
    sizeBytes: number;
    oid: string | undefined;
    upload: { url?: string | undefined; headers?: Record<string, string> | undefined };
    onBytes: (bytes: number) => void;
  },
) => {
  const { upload, onBytes, ...object } = input;
  const { url: href = '', headers: header = {} } = upload;
  return withFile(at, (file) =>
    putObject(deps, {
      open: async () => piecesOf(file, object),
      to: 'store',
      upload: { href, header },
      object,
      onBytes,
    }),
  );
};

type Upload = BodyOf<'requestUploads'>['uploads'][number];

interface InParts {
  readonly client: ApiClient;
  readonly place: RepoPlace;
  readonly file: LocalFile;
  upload: Upload;
  /** Asks for what is missing. */
  readonly again: () => Promise<Upload>;
  readonly onBytes: (bytes: number) => void;
}

/**
 * Uploads a file in parts. What breaks off is continued by another call. What can't be is canceled.
 *
 * @returns what the server said last. @throws {RefusedError} it was canceled. @throws {TransferError} @throws {CliError}
 */
export async function putInParts(deps: DownloadDeps, asked: InParts): Promise<Upload> {
  const { client, place, file, again } = asked;
  let sentBytes = 0;
  const onBytes = (bytes: number) => {
    sentBytes += bytes;
    asked.onBytes(bytes);
  };
  const sending = { ...asked, onBytes };
  const ofUpload = () => ({ params: { ...place, uploadId: sending.upload.uploadId ?? '' } });
  try {
    const { parts = [], startedAt = '' } = sending.upload;
    // Parts that are there may be of what it was before.
    if (parts.some(({ stored }) => stored) && Date.parse(startedAt) < file.changedMs)
      throw new RefusedError('It changed after its upload started.');
    for (let refusal: RefusedError | undefined; ; sending.upload = await again()) {
      await sendParts(deps, sending);
      const isOpen = sending.upload.state === 'upload';
      const confirming = { ...ofUpload(), body: { name: file.name } };
      const said = isOpen && (await client.askAgain(deps, 'confirmUpload', confirming).catch(refusalOf));
      if (said && !(said instanceof RefusedError)) return sending.upload;
      onBytes(-sentBytes);
      if (!said) return sending.upload;
      // A part came again, or the name is taken by now: that is what it's asked for.
      if (refusal) throw refusal;
      refusal = said;
    }
  } catch (error) {
    onBytes(-sentBytes);
    const why = error instanceof TransferError ? (error.cause ?? error) : error;
    if (!(why instanceof RefusedError)) throw error;
    const canceling = { ...ofUpload(), query: { name: file.name } };
    const cancel = client.askAgain(deps, 'cancelUpload', canceling);
    const ends = await cancel.then(
      () => 'is canceled: retry in about 2 hours',
      () => 'ends within about a day: retry then',
    );
    throw new RefusedError(`${why.message} Its upload ${ends}, or use another name.`);
  }
}

function refusalOf(error: unknown): RefusedError {
  if (error instanceof CliError && /^(refused|not-found)$/.test(error.failure))
    return new RefusedError(error.message);
  throw error;
}

/** Sends what is missing, while the upload is in progress. */
const sendParts = (deps: DownloadDeps, sending: InParts) =>
  transferEach(deps, {
    atOnce: partsAtOnce,
    failuresMax: 1,
    itemsOf: () => ReadableStream.from(sending.upload.parts ?? []).values(),
    nameOf: ({ number }) => `part ${number}`,
    transfer: ({ number }, stop) =>
      sendPart({ ...deps, stop }, number, sending).finally(async () => {
        const { path: at, bytes, changedMs } = sending.file;
        const now = await stat(at).catch(() => undefined);
        if (now?.size !== bytes || now.ctimeMs !== changedMs)
          throw new RefusedError('It changed while it was uploaded.');
      }),
  });

function sendPart(deps: DownloadDeps, number: number, sending: InParts): Promise<void> {
  const part = () => sending.upload.parts?.find((each) => each.number === number);
  let refusedUrl = '';
  const attempt = async (onBytes: (bytes: number) => void) => {
    // It has expired. For another part, all of them may have been signed again since.
    if (part()?.url === refusedUrl) sending.upload = await sending.again();
    const { bytes: sizeBytes = 0, ...upload } = part() ?? {};
    if (upload.url === undefined) return onBytes(sizeBytes);
    const before = sending.upload.parts?.filter((each) => each.number < number) ?? [];
    const startByte = before.reduce((sum, { bytes }) => sum + bytes, 0);
    const bytes = { startByte, sizeBytes, oid: undefined, upload, onBytes };
    await putBytes(deps, sending.file, bytes).catch((error: unknown) => {
      if (error instanceof RefusedError) refusedUrl = upload.url ?? '';
      throw error;
    });
  };
  return sendAgain(deps, { onBytes: sending.onBytes, attempt });
}
