import { type IndexPage, InvalidContinuationTokenError, type KeyIndex, pageEntriesMax } from './key-index.ts';
import type { ObjectRecord } from './object-record.ts';
import { type StoreReply, xmlReply } from './reply.ts';
import { S3Error } from './s3-error.ts';
import { escapeUri, type StoreRequest } from './store-request.ts';
import { element } from './xml.ts';

/** ListObjectsV2: docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html. @throws {S3Error} */
export function listObjects(index: KeyIndex<ObjectRecord>, { bucket, query }: StoreRequest): StoreReply {
  const maxKeys = readMaxKeys(query.get('max-keys'));
  const encode = readEncoding(query.get('encoding-type'));
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter');
  const startAfter = query.get('start-after');
  const continuationToken = query.get('continuation-token');
  const page = readPage(index, { prefix, delimiter, startAfter, continuationToken, maxKeys });
  const { entries, commonPrefixes } = page;
  return xmlReply(
    '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
      element('Name', bucket) +
      element('Prefix', encode(prefix)) +
      element('ContinuationToken', continuationToken) +
      element('NextContinuationToken', page.nextContinuationToken) +
      element('StartAfter', startAfter === undefined ? undefined : encode(startAfter)) +
      element('KeyCount', entries.length + commonPrefixes.length) +
      element('MaxKeys', maxKeys) +
      element('Delimiter', delimiter === undefined ? undefined : encode(delimiter)) +
      element('EncodingType', query.get('encoding-type')) +
      element('IsTruncated', page.isTruncated) +
      entries.map(({ value }) => contents(value, encode)).join('') +
      commonPrefixes
        .map((folder) => `<CommonPrefixes>${element('Prefix', encode(folder))}</CommonPrefixes>`)
        .join('') +
      '</ListBucketResult>',
  );
}

/** One key. The store makes all the other values itself, so they need no escaping. */
function contents(record: ObjectRecord, encode: (text: string) => string): string {
  return (
    `<Contents>${element('Key', encode(record.key))}` +
    `<LastModified>${new Date(record.lastModifiedMs).toISOString()}</LastModified>` +
    `<ETag>&quot;${record.etag}&quot;</ETag><Size>${record.sizeBytes}</Size>` +
    '<StorageClass>STANDARD</StorageClass></Contents>'
  );
}

function readPage(
  index: KeyIndex<ObjectRecord>,
  request: Parameters<KeyIndex<ObjectRecord>['page']>[0],
): IndexPage<ObjectRecord> {
  try {
    return index.page(request);
  } catch (cause) {
    if (!(cause instanceof InvalidContinuationTokenError)) throw cause;
    throw new S3Error('InvalidArgument', 'The continuation token provided is incorrect', { cause });
  }
}

function readMaxKeys(text: string | undefined): number {
  if (text === undefined) return pageEntriesMax;
  if (!/^\d{1,10}$/.test(text))
    throw new S3Error('InvalidArgument', 'max-keys must be a whole number from 0.');
  return Math.min(Number(text), pageEntriesMax);
}

/** How keys are written in the answer. @throws {S3Error} InvalidArgument */
export function readEncoding(type: string | undefined): (text: string) => string {
  if (type === undefined) return (text) => text;
  if (type !== 'url') throw new S3Error('InvalidArgument', 'Invalid Encoding Method specified in Request');
  return encodeKey;
}

const unreserved = /^[\w./~-]*$/;

function encodeKey(key: string): string {
  if (unreserved.test(key)) return key;
  return key.split('/').map(escapeUri).join('/').replaceAll('%20', '+');
}
