import type { S3Settings } from '../s3/client.ts';
import type { Exchange } from '../s3/exchange.ts';

/** Enough pages for the engine to compile the code that reads them. */
export const warmUpPages = 8;

/** Replaces the network: answers every request with one full page of made-up keys. */
export const warmUpExchange: Exchange = {
  send: async ({ readerOf }) => {
    const reader = readerOf({ status: 200, headers: {} });
    // In pieces of the size that a socket delivers.
    for (let at = 0; at < page.length; at += 65_536) reader.write(page.subarray(at, at + 65_536));
    return reader.end();
  },
  destroy: () => {},
};

/** A bucket to which no request is ever sent. */
export const warmUpPlace: S3Settings = {
  bucket: 'warm-up',
  region: 'us-east-1',
  credentials: async () => ({ accessKeyId: 'warm-up', secretAccessKey: 'warm-up' }),
};

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
