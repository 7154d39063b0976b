import { compareKeys } from '../../lambda/domain/key-order.ts';
import { pageEntriesMax } from './key-index.ts';
import { readEncoding } from './list-objects.ts';
import { readCount } from './list-parts.ts';
import type { MultipartRecord } from './multipart-files.ts';
import type { OperationInput } from './operation.ts';
import { type StoreReply, xmlReply } from './reply.ts';
import { element } from './xml.ts';

/** ListMultipartUploads: docs.aws.amazon.com/AmazonS3/latest/API/API_ListMultipartUploads.html. @throws {S3Error} */
export function listMultipart({ multipart, request }: OperationInput): StoreReply {
  const { bucket, query } = request;
  const encode = readEncoding(query.get('encoding-type'));
  const prefix = query.get('prefix') ?? '';
  const keyMarker = query.get('key-marker') ?? '';
  // Without a key it says nothing.
  const idMarker = keyMarker === '' ? '' : (query.get('upload-id-marker') ?? '');
  const uploadsMax = Math.min(
    readCount('max-uploads', query.get('max-uploads')) ?? pageEntriesMax,
    pageEntriesMax,
  );
  const left = multipart
    .list()
    .map(({ record }) => record)
    .filter(({ key, id }) => key.startsWith(prefix) && isAfter({ key, id }, { key: keyMarker, id: idMarker }))
    .sort((a, b) => compareKeys(a.key, b.key) || (a.id < b.id ? -1 : 1));
  const page = left.slice(0, uploadsMax);
  const last = left.length > page.length ? page.at(-1) : undefined;
  return xmlReply(
    '<ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
      element('Bucket', bucket) +
      element('KeyMarker', encode(keyMarker)) +
      element('UploadIdMarker', idMarker) +
      element('NextKeyMarker', last && encode(last.key)) +
      element('NextUploadIdMarker', last?.id) +
      element('Prefix', encode(prefix)) +
      element('EncodingType', query.get('encoding-type')) +
      element('MaxUploads', uploadsMax) +
      element('IsTruncated', last !== undefined) +
      page.map((record) => uploadElement(record, encode)).join('') +
      '</ListMultipartUploadsResult>',
  );
}

interface Position {
  readonly key: string;
  readonly id: string;
}

/** A marker of a key and an id stands before the later uploads of that key; one of a key alone, after all of them. */
function isAfter({ key, id }: Position, marker: Position): boolean {
  const order = compareKeys(key, marker.key);
  return order > 0 || (order === 0 && marker.id !== '' && id > marker.id);
}

function uploadElement(
  { id, key, initiatedAtMs, checksum }: MultipartRecord,
  encode: (text: string) => string,
): string {
  return (
    '<Upload>' +
    element('Key', encode(key)) +
    element('UploadId', id) +
    element('StorageClass', 'STANDARD') +
    element('Initiated', new Date(initiatedAtMs).toISOString()) +
    element('ChecksumAlgorithm', checksum?.name.toUpperCase()) +
    element('ChecksumType', checksum?.type) +
    '</Upload>'
  );
}
