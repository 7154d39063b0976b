import type { ListedObject } from '../../../../support/round-listing.ts';

export type XmlOrder = 'aws' | 'trailing' | 'pretty';

const defaultEtag = '<ETag>&quot;0123456789abcdef0123456789abcdef&quot;</ETag>';
const defaultClass = '<StorageClass>STANDARD</StorageClass>';
const defaultTime = '<LastModified>2026-11-01T10:00:00.000Z</LastModified>';

/** A ListObjectsV2 answer as stores write it: AWS puts the token first, others put it last or indent the XML. */
export function renderPage(
  objects: readonly ListedObject[],
  options: {
    order?: XmlOrder;
    token?: string;
    isUrlEncoded?: boolean;
    timeOf?: (index: number) => string;
    etagOf?: (index: number) => string;
    classOf?: (index: number) => string;
  } = {},
): Buffer {
  const { order = 'aws', token, isUrlEncoded = true, timeOf = () => defaultTime } = options;
  const { etagOf = () => defaultEtag, classOf = () => defaultClass } = options;
  const newline = order === 'pretty' ? '\n  ' : '';
  const facts =
    (token === undefined ? '' : `<NextContinuationToken>${escapeXml(token)}</NextContinuationToken>`) +
    `<KeyCount>${objects.length}</KeyCount><MaxKeys>1000</MaxKeys>` +
    (isUrlEncoded ? '<EncodingType>url</EncodingType>' : '') +
    `<IsTruncated>${token !== undefined}</IsTruncated>`;
  const entries = objects.map(({ key, sizeBytes }, index) => {
    const text = escapeXml(isUrlEncoded ? urlEncode(key) : key);
    const etag = etagOf(index);
    const keyAndTime = `<Key>${text}</Key>${timeOf(index)}`;
    const size = `<Size>${sizeBytes}</Size>`;
    const parts =
      order === 'aws'
        ? keyAndTime + etag + size
        : `${etag}${index % 7 === 3 ? '<Owner><ID>x</ID></Owner>' : ''}${keyAndTime}${size}`;
    return `${newline}<Contents>${parts}${classOf(index)}</Contents>`;
  });
  const head =
    '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">';
  const body = order === 'aws' ? facts + entries.join('') : entries.join('') + newline + facts;
  return Buffer.from(`${head}<Name>b</Name><Prefix>p/</Prefix>${body}</ListBucketResult>${newline}`);
}

function urlEncode(key: string): string {
  return encodeURIComponent(key).replaceAll('%2F', '/').replaceAll('%20', '+');
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
