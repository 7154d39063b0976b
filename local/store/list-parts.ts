import { checksumElements } from './checksum-elements.ts';
import { pageEntriesMax } from './key-index.ts';
import type { ObjectRecord } from './object-record.ts';
import type { OperationInput } from './operation.ts';
import { type StoreReply, xmlReply } from './reply.ts';
import { S3Error } from './s3-error.ts';
import { element } from './xml.ts';

/** ListParts: docs.aws.amazon.com/AmazonS3/latest/API/API_ListParts.html. @throws {S3Error} */
export function listParts({ multipart, request }: OperationInput): StoreReply {
  const { bucket, key, query } = request;
  const id = query.get('uploadId') ?? '';
  const { record, parts } = multipart.get({ id, key });
  const marker = readCount('part-number-marker', query.get('part-number-marker')) ?? 0;
  const partsMax = Math.min(readCount('max-parts', query.get('max-parts')) ?? pageEntriesMax, pageEntriesMax);
  const left = [...parts].filter(([number]) => number > marker).sort(([a], [b]) => a - b);
  const page = left.slice(0, partsMax);
  return xmlReply(
    '<ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
      element('Bucket', bucket) +
      element('Key', key) +
      element('UploadId', id) +
      element('StorageClass', 'STANDARD') +
      element('PartNumberMarker', marker) +
      element('NextPartNumberMarker', page.at(-1)?.[0] ?? 0) +
      element('MaxParts', partsMax) +
      // As on S3, a page of no parts is not truncated: there would be no end to such pages.
      element('IsTruncated', page.length > 0 && left.length > page.length) +
      element('ChecksumAlgorithm', record.checksum?.name.toUpperCase()) +
      element('ChecksumType', record.checksum?.type) +
      page.map(partElement).join('') +
      '</ListPartsResult>',
  );
}

function partElement([number, part]: readonly [number, ObjectRecord]): string {
  return (
    '<Part>' +
    element('PartNumber', number) +
    element('LastModified', new Date(part.lastModifiedMs).toISOString()) +
    element('ETag', `"${part.etag}"`) +
    element('Size', part.sizeBytes) +
    checksumElements(part.checksums) +
    '</Part>'
  );
}

/** A number of entries, or the number that a page begins after. @throws {S3Error} InvalidArgument */
export function readCount(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new S3Error('InvalidArgument', `${name} must be a whole number from 0.`);
}
