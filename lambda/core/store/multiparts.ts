import type { BucketClient, StoreCall } from './bucket-client.ts';
import { errorIn, MalformedAnswerError, StoreAnswerError, textReader, unescapeXml } from './http-exchange.ts';
import { escapeXml, objectLimits, translateStoreError } from './object-store.ts';
import {
  type ArchiveStore,
  ObjectExistsError,
  type UploadedPart,
  UploadGoneError,
} from './rules/archive-store.ts';

/** A thousand parts with checksums. */
const answerBytesMax = 1024 ** 2;

/** Uploads in parts in one bucket, without the SDK. A store that takes long to make the object answers {@link StoreUnavailableError}. */
export function createMultiparts({
  client,
}: {
  client: BucketClient;
}): Pick<ArchiveStore, 'createUpload' | 'parts' | 'complete' | 'abort'> {
  const usual = objectLimits(client.timeoutFactor);
  /** Completing may take as long as a function that waits for it. */
  const patient = { ...usual, answerMs: 2 * usual.answerMs, attemptsMax: 1 };
  const send = async (
    request: string,
    call: Omit<StoreCall<string>, 'limits' | 'readerOf'>,
    limits = usual,
  ): Promise<string> => {
    try {
      return await client.send({ ...call, limits, readerOf });
    } catch (error) {
      const { name } = error as Error;
      if (name === 'NoSuchUpload')
        throw new UploadGoneError('The upload was completed or aborted.', { cause: error });
      if (name === 'PreconditionFailed')
        throw new ObjectExistsError('There is an object at the key already.', { cause: error });
      throw translateStoreError(error, request);
    }
  };
  return {
    async createUpload(key, { storageClass } = {}) {
      const headers = storageClass && { 'x-amz-storage-class': storageClass };
      const query = { uploads: '' };
      const text = await send('CreateMultipartUpload', {
        method: 'POST',
        key,
        query,
        ...(headers && { headers }),
      });
      return { key, uploadId: elementIn(text, 'UploadId') };
    },
    async *parts({ key, uploadId }, { after = 0 } = {}) {
      for (let last = after; ; ) {
        const query = { uploadId, 'part-number-marker': String(last) };
        const text = await send('ListParts', { method: 'GET', key, query });
        const page = [...text.matchAll(/<Part>(.*?)<\/Part>/gs)].map(
          ([, part = '']): UploadedPart => ({
            number: Number(elementIn(part, 'PartNumber')),
            sizeBytes: Number(elementIn(part, 'Size')),
            etag: elementIn(part, 'ETag'),
          }),
        );
        yield page;
        if (!/<IsTruncated>true</.test(text)) return;
        const next = page.at(-1)?.number ?? 0;
        if (!(next > last))
          throw translateStoreError(new MalformedAnswerError('No part follows.'), 'ListParts');
        last = next;
      }
    },
    async complete({ key, uploadId }, parts, { ifAbsent = false, totalBytes } = {}) {
      const listed = parts.map(
        ({ number, etag }) =>
          `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
      );
      const headers = {
        'content-type': 'application/xml',
        ...(ifAbsent && { 'if-none-match': '*' }),
        ...(totalBytes !== undefined && { 'x-amz-mp-object-size': String(totalBytes) }),
      };
      const body = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${listed.join('')}</CompleteMultipartUpload>`;
      const call = { method: 'POST', key, query: { uploadId }, headers, body } as const;
      return { etag: elementIn(await send('CompleteMultipartUpload', call, patient), 'ETag') };
    },
    async abort({ key, uploadId }) {
      await send('AbortMultipartUpload', { method: 'DELETE', key, query: { uploadId } }).catch((error) => {
        if (!(error instanceof UploadGoneError)) throw error;
      });
    },
  };
}

/** S3 may send an error with status 200, once it has begun to answer. */
const readerOf: StoreCall<string>['readerOf'] = ({ status }) =>
  status >= 200 && status < 300
    ? textReader(answerBytesMax, (text) => {
        const { code, message } = errorIn(text);
        if (code !== undefined) throw new StoreAnswerError({ status: 503, code, message });
        return text;
      })
    : undefined;

/** @throws {StoreUnavailableError} if there's none. */
function elementIn(text: string, name: string): string {
  const found = new RegExp(`<${name}>([^<]+)<`).exec(text)?.[1];
  if (found === undefined)
    throw translateStoreError(new MalformedAnswerError(`The answer has no ${name}.`), name);
  return unescapeXml(found);
}
