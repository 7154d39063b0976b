import { compareKeys } from '../../../lambda/domain/key-order.ts';
import type { FakeObject } from './reply.ts';

/** How a listing may be wrong. */
export interface ListFaults {
  readonly compare?: (a: string, b: string) => number;
  readonly ignoresPrefix?: boolean;
  readonly startAfter?: 'ignored' | 'inclusive' | 'existing' | 'inside';
  readonly ignoresMaxKeys?: boolean;
  /** Keys in a page at most. */
  readonly pageMax?: number;
  readonly ignoresDelimiter?: boolean;
  readonly ignoresEncoding?: boolean;
  /** Tokens are read as if each character were a byte. */
  readonly asciiTokens?: boolean;
  /** The last page is followed by an empty one. */
  readonly emptyLastPage?: boolean;
  /** Each page has a token, which leads back to the beginning. */
  readonly isEndless?: boolean;
  readonly loses?: (key: string) => boolean;
  readonly repeats?: (key: string) => boolean;
  readonly sizeOf?: (object: FakeObject) => number;
}

/** ListObjectsV2 over all objects of the bucket. */
export function listXml(
  objects: ReadonlyMap<string, FakeObject>,
  query: ReadonlyMap<string, string>,
  faults: ListFaults,
): string {
  const { compare = compareKeys, sizeOf = ({ body }) => body.length } = faults;
  const [prefix, delimiter] = [query.get('prefix') ?? '', query.get('delimiter') ?? ''];
  const maxKeys = faults.ignoresMaxKeys ? 1000 : Math.min(Number(query.get('max-keys') ?? 1000), 1000);
  const token = query.get('continuation-token');
  const from = token === undefined ? readStart(query, { objects, prefix, faults }) : readToken(token, faults);
  const wanted = [...objects.keys()]
    .sort(compare)
    .filter((key) => faults.ignoresPrefix || key.startsWith(prefix))
    .filter(
      (key) => from === undefined || isAfter(key, { from, compare, faults, isToken: token !== undefined }),
    )
    .filter((key) => !faults.loses?.(key))
    .flatMap((key) => (faults.repeats?.(key) ? [key, key] : [key]));
  const entries = faults.ignoresDelimiter ? wanted : grouped(wanted, { prefix, delimiter });
  const page = entries.slice(0, Math.min(maxKeys, faults.pageMax ?? 1000));
  const isMore = entries.length > page.length || (faults.emptyLastPage && page.length > 0);
  const last = page.at(-1) ?? '';
  const isEncoded = query.get('encoding-type') === 'url' && !faults.ignoresEncoding;
  const text = (key: string) => (isEncoded ? encodeURIComponent(key) : escapeXml(key));
  const isFolder = (entry: string) => !faults.ignoresDelimiter && delimiter !== '' && !objects.has(entry);
  const contents = page.map((entry) => {
    const object = objects.get(entry);
    if (isFolder(entry) || object === undefined)
      return `<CommonPrefixes><Prefix>${text(entry)}</Prefix></CommonPrefixes>`;
    return `<Contents><Key>${text(entry)}</Key><Size>${sizeOf(object)}</Size></Contents>`;
  });
  const next = faults.isEndless ? '' : last;
  return (
    '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
    `<Name>bucket</Name><Prefix>${text(prefix)}</Prefix><KeyCount>${page.length}</KeyCount><MaxKeys>${maxKeys}</MaxKeys>` +
    (isEncoded ? '<EncodingType>url</EncodingType>' : '') +
    `<IsTruncated>${Boolean(isMore || faults.isEndless)}</IsTruncated>${contents.join('')}` +
    (isMore || faults.isEndless ? `<NextContinuationToken>t${escapeXml(next)}</NextContinuationToken>` : '') +
    '</ListBucketResult>'
  );
}

function readStart(
  query: ReadonlyMap<string, string>,
  {
    objects,
    prefix,
    faults,
  }: { objects: ReadonlyMap<string, FakeObject>; prefix: string; faults: ListFaults },
): string | undefined {
  const startAfter = query.get('start-after');
  if (startAfter === undefined || faults.startAfter === 'ignored') return undefined;
  if (faults.startAfter === 'existing' && !objects.has(startAfter)) return undefined;
  if (faults.startAfter === 'inside' && !startAfter.startsWith(prefix)) return undefined;
  return startAfter;
}

function readToken(token: string, { asciiTokens }: ListFaults): string {
  const key = token.slice(1);
  return asciiTokens ? Buffer.from(key).toString('latin1') : key;
}

function isAfter(
  key: string,
  {
    from,
    compare,
    faults,
    isToken,
  }: {
    from: string;
    compare: (a: string, b: string) => number;
    faults: ListFaults;
    isToken: boolean;
  },
): boolean {
  // A token may name a folder, all of which has been listed.
  if (isToken && from.endsWith('/') && key.startsWith(from)) return false;
  const order = compare(key, from);
  return order > 0 || (order === 0 && !isToken && faults.startAfter === 'inclusive');
}

/** Keys, and once each what they have in common up to the delimiter. */
function grouped(
  keys: readonly string[],
  { prefix, delimiter }: { prefix: string; delimiter: string },
): string[] {
  if (delimiter === '') return [...keys];
  const entries = keys.map((key) => {
    const end = key.indexOf(delimiter, prefix.length);
    return end < 0 ? key : key.slice(0, end + delimiter.length);
  });
  return [...new Set(entries)];
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
