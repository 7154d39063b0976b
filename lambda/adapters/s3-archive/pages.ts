import { ListMultipartUploadsCommand, ListObjectsV2Command, ListPartsCommand } from '@aws-sdk/client-s3';
import type { MultipartUpload, UploadedPart } from '../../ports/archive-store.ts';
import { MalformedAnswerError } from '../../store/exchange.ts';
import { required } from './answer-parts.ts';
import type { ArchiveClient } from './archive-client.ts';
import { ofUpload } from './sdk-errors.ts';

/** Keys come URL-encoded if the store knows that, because XML cannot contain some characters. */
const EncodingType = 'url';

/** The keys of all objects below a prefix. @throws {StoreUnavailableError} @throws {StoreRefusedError} */
export async function* keyPages(client: ArchiveClient, prefix: string): AsyncGenerator<readonly string[]> {
  let token: string | undefined;
  do {
    const input = { Bucket: client.bucket, Prefix: prefix, ContinuationToken: token, EncodingType } as const;
    const page = await client.send('ListObjectsV2', async ({ client, abortSignal }) => {
      const answer = await client.send(new ListObjectsV2Command(input), { abortSignal });
      const { Contents = [], IsTruncated = false, NextContinuationToken } = answer;
      const keys = Contents.map(({ Key }) => keyOf(required(Key, 'key'), answer));
      const next = IsTruncated ? required(NextContinuationToken, 'token of the next page') : undefined;
      return { keys, next: further(token, next) };
    });
    yield page.keys;
    token = page.next;
  } while (token !== undefined);
}

/** All unfinished uploads of keys with a prefix. @throws {StoreUnavailableError} @throws {StoreRefusedError} */
export async function* uploadPages(
  client: ArchiveClient,
  prefix: string,
): AsyncGenerator<readonly MultipartUpload[]> {
  let after: { readonly KeyMarker: string; readonly UploadIdMarker: string } | undefined;
  do {
    const input = { Bucket: client.bucket, Prefix: prefix, EncodingType, ...after } as const;
    const page = await client.send('ListMultipartUploads', async ({ client, abortSignal }) => {
      const answer = await client.send(new ListMultipartUploadsCommand(input), { abortSignal });
      const { Uploads = [], IsTruncated = false, NextKeyMarker, NextUploadIdMarker } = answer;
      const uploads = Uploads.map(({ Key, UploadId }) => ({
        key: keyOf(required(Key, 'key'), answer),
        uploadId: required(UploadId, 'upload'),
      }));
      if (!IsTruncated) return { uploads, next: undefined };
      const next = {
        KeyMarker: keyOf(required(NextKeyMarker, 'key of the next page'), answer),
        UploadIdMarker: required(NextUploadIdMarker, 'upload of the next page'),
      };
      further(JSON.stringify(after), JSON.stringify(next));
      return { uploads, next };
    });
    yield page.uploads;
    after = page.next;
  } while (after !== undefined);
}

/**
 * The parts of an upload. The SDK's own loop over pages never ends where a store says 0 as the next part's number.
 *
 * @throws {UploadGoneError} @throws {StoreUnavailableError} @throws {StoreRefusedError}
 */
export async function* partPages(
  client: ArchiveClient,
  { key, uploadId }: MultipartUpload,
  { after: number = 0 }: { after?: number },
): AsyncGenerator<readonly UploadedPart[]> {
  let after = number === 0 ? undefined : String(number);
  do {
    const input = { Bucket: client.bucket, Key: key, UploadId: uploadId, PartNumberMarker: after };
    const page = await client.send('ListParts', async ({ client, abortSignal }) => {
      const answer = await ofUpload(client.send(new ListPartsCommand(input), { abortSignal }));
      const { Parts = [], IsTruncated = false, NextPartNumberMarker } = answer;
      const parts = Parts.map(({ PartNumber, Size, ETag }) => ({
        number: required(PartNumber, 'number of a part'),
        sizeBytes: required(Size, 'size of a part'),
        etag: required(ETag, 'ETag'),
      }));
      const next = IsTruncated ? required(NextPartNumberMarker, 'next part') : undefined;
      return { parts, next: further(after, next) };
    });
    yield page.parts;
    after = page.next;
  } while (after !== undefined);
}

/** Where the next page begins. @throws {MalformedAnswerError} if that is where this one began: there would be no end. */
function further(before: string | undefined, next: string | undefined): string | undefined {
  if (next !== undefined && next === before)
    throw new MalformedAnswerError('The answer repeats where its page began.');
  return next;
}

function keyOf(text: string, { EncodingType }: { EncodingType?: string | undefined }): string {
  if (EncodingType !== 'url') return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw new MalformedAnswerError('The answer contains a key that is not URL-encoded.', { cause });
  }
}
