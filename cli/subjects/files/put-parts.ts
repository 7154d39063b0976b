import type { ApiClient, BodyOf } from '../../api-client.ts';
import { transferEach } from '../../at-once.ts';
import { CliError } from '../../errors.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import { piecesOf } from '../../move/archive.ts';
import { putObject, RefusedError, sendAgain } from '../../move/put.ts';
import { type DownloadDeps, TransferError } from '../../transfer.ts';
import { isUnchanged, type LocalFile, withFile } from './local-files.ts';

const partsAtOnce = 4;

type Upload = BodyOf<'requestUploads'>['uploads'][number];

interface InParts {
  readonly client: ApiClient;
  readonly place: RepoPlace;
  readonly file: LocalFile;
  readonly upload: Upload;
  /** Asks for what is missing. */
  readonly again: () => Promise<Upload>;
  readonly onBytes: (bytes: number) => void;
}

/**
 * Uploads a file that one PUT can't carry. What breaks off is continued by another call. What can't be is canceled.
 *
 * @returns what the server said last. @throws {RefusedError} it can't end. @throws {TransferError} @throws {CliError}
 */
export async function putInParts(deps: DownloadDeps, input: InParts): Promise<Upload> {
  const { file, again } = input;
  let { upload } = input;
  let sentBytes = 0;
  const onBytes = (bytes: number) => {
    sentBytes += bytes;
    input.onBytes(bytes);
  };
  try {
    // Parts that are there may be of what it was before.
    if (upload.parts?.some(({ stored }) => stored) && Date.parse(upload.startedAt ?? '') < file.changedMs)
      throw new RefusedError('It has changed since its upload started.');
    for (let isLast = false; ; isLast = true) {
      await sendParts(deps, {
        file,
        latest: () => upload,
        renew: async () => (upload = await again()),
        onBytes,
      });
      const refusal = upload.state === 'upload' ? await confirm(deps, input, upload) : undefined;
      if (upload.state === 'upload' && !refusal) return upload;
      onBytes(-sentBytes);
      if (!refusal) return upload;
      if (isLast) throw refusal;
      upload = await again();
    }
  } catch (error) {
    onBytes(-sentBytes);
    const why = error instanceof TransferError ? (error.cause ?? error) : error;
    if (!(why instanceof RefusedError)) throw error;
    throw new RefusedError(`${why.message} ${await cancel(deps, input, upload)}`, why.status);
  }
}

interface Sending extends Pick<InParts, 'file' | 'onBytes'> {
  readonly latest: () => Upload;
  /** Asks for what is missing: then it's the latest. */
  readonly renew: () => Promise<unknown>;
}

/** Sends what is missing of an upload, while it's in progress. */
function sendParts(deps: DownloadDeps, sending: Sending): Promise<void> {
  const numbers = sending.latest().parts?.map(({ number }) => number) ?? [];
  return transferEach(deps, {
    atOnce: partsAtOnce,
    failuresMax: 1,
    itemsOf: () => ReadableStream.from(numbers).values(),
    nameOf: (number) => `part ${number}`,
    transfer: async (number, stop) => {
      await sendPart({ ...deps, stop }, number, sending).finally(async () => {
        if (!(await isUnchanged(sending.file))) throw new RefusedError('It changed while it was uploaded.');
      });
    },
  });
}

function sendPart(deps: DownloadDeps, number: number, { file, latest, renew, onBytes }: Sending) {
  const part = () => latest().parts?.find((each) => each.number === number);
  let refusedUrl = '';
  const attempt = async (onBytes: (bytes: number) => void) => {
    // It has expired. For another part, all of them may have been renewed since.
    if (part()?.url === refusedUrl) await renew();
    const { bytes: sizeBytes = 0, url: href, headers: header = {} } = part() ?? {};
    if (href === undefined) return onBytes(sizeBytes);
    const before = latest().parts?.filter((each) => each.number < number) ?? [];
    const startByte = before.reduce((sum, { bytes }) => sum + bytes, 0);
    await withFile(file.path, (opened) =>
      putObject(deps, {
        open: async () => piecesOf(opened, { startByte, sizeBytes }),
        to: 'store',
        upload: { href, header },
        object: { oid: undefined, sizeBytes },
        onBytes,
      }),
    ).catch((error: unknown) => {
      if (error instanceof RefusedError) refusedUrl = href;
      throw error;
    });
  };
  return sendAgain(deps, { onBytes, attempt });
}

/** Has the server make the parts the file. @returns why it refuses. */
function confirm(
  deps: DownloadDeps,
  { client, place, file: { name } }: InParts,
  { uploadId = '' }: Upload,
): Promise<RefusedError | undefined> {
  const confirming = { params: { ...place, uploadId }, body: { name } };
  return client.askAgain(deps, 'confirmUpload', confirming).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof CliError && /^(refused|not-found)$/.test(error.failure))
        return new RefusedError(error.message, undefined);
      throw error;
    },
  );
}

/** Frees its space. @returns what a person can do then. */
async function cancel(
  deps: DownloadDeps,
  { client, place, file: { name } }: InParts,
  { uploadId = '' }: Upload,
): Promise<string> {
  const canceling = { params: { ...place, uploadId }, query: { name } };
  const isCanceled = await client.askAgain(deps, 'cancelUpload', canceling).then(
    () => true,
    () => false,
  );
  const ends = isCanceled ? 'is canceled' : 'ends within a day';
  return `Its upload ${ends}. Until about 2 hours later, it needs another name.`;
}
