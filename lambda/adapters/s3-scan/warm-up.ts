import { Readable } from 'node:stream';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { HttpResponse } from '@smithy/protocol-http';

/** Enough pages for the engine to compile the code that reads them. */
export const warmUpPages = 8;

/** Replaces the network: answers every request with one full page of made-up keys. */
export const warmUpHandler: NonNullable<S3ClientConfig['requestHandler']> = {
  handle: async () => {
    // In pieces of the size that a socket delivers.
    const pieces = Array.from({ length: Math.ceil(page.length / 65_536) }, (_, index) =>
      page.subarray(index * 65_536, (index + 1) * 65_536),
    );
    const headers = { 'content-type': 'application/xml' };
    return { response: new HttpResponse({ statusCode: 200, headers, body: Readable.from(pieces) }) };
  },
};

/** Credentials for requests that are never sent. */
export const warmUpCredentials = { accessKeyId: 'warm-up', secretAccessKey: 'warm-up' };

const page = Buffer.from(renderPage());

function renderPage(): string {
  const entries = Array.from({ length: 1000 }, (_, index) => {
    const name = index.toString(16).padStart(64, '0');
    return (
      `<Contents><Key>tenant/repo/${name}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>` +
      `<ETag>&quot;${name.slice(32)}&quot;</ETag><ChecksumAlgorithm>SHA256</ChecksumAlgorithm>` +
      `<ChecksumType>FULL_OBJECT</ChecksumType><Size>${index * 1009}</Size>` +
      '<StorageClass>STANDARD</StorageClass></Contents>'
    );
  });
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
    '<Name>bucket</Name><Prefix>tenant/repo/</Prefix><KeyCount>1000</KeyCount><MaxKeys>1000</MaxKeys>' +
    `<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>${entries.join('')}</ListBucketResult>`
  );
}
