import type { ObjectRecord, PartSizes } from './object-record.ts';
import { notImplemented, S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';

export interface ByteRange {
  readonly first: number;
  readonly lengthBytes: number;
  readonly isPartial: boolean;
}

/** Part sizes that take more room are not kept: a record is short (object-record.ts), and has a key and metadata too. */
const partSizesCharsMax = 3_000;

/** The sizes of parts, in their order, as a record keeps them; undefined if they are too many different ones. */
export function runsOf(sizes: readonly number[]): PartSizes | undefined {
  const runs: [number, number][] = [];
  for (const sizeBytes of sizes) {
    const run = runs.at(-1);
    if (run?.[1] === sizeBytes) run[0] += 1;
    else runs.push([1, sizeBytes]);
  }
  return JSON.stringify(runs).length > partSizesCharsMax ? undefined : runs;
}

/**
 * The part that a GET or HEAD with `?partNumber=` asks for. An object that was not uploaded in parts has one.
 *
 * @returns undefined without that parameter.
 * @throws {S3Error} InvalidArgument, InvalidPartNumber, InvalidRequest, NotImplemented
 */
export function readPart(
  { query, headers }: StoreRequest,
  record: ObjectRecord,
): { range: ByteRange; headers: Readonly<Record<string, string>> } | undefined {
  const text = query.get('partNumber');
  if (text === undefined) return undefined;
  if (headers.range !== undefined) {
    throw new S3Error('InvalidRequest', 'Cannot specify both Range header and partNumber query parameter');
  }
  if (!/^[1-9]\d{0,4}$/.test(text)) {
    throw new S3Error('InvalidArgument', 'Part number must be an integer between 1 and 10000, inclusive');
  }
  if (record.uploadId !== undefined && record.partSizes === undefined)
    throw notImplemented('partNumber for an object of so many different part sizes');
  const runs = record.partSizes ?? [[1, record.sizeBytes]];
  const partsCount = runs.reduce((sum, [count]) => sum + count, 0);
  let left = Number(text) - 1;
  let first = 0;
  for (const [count, sizeBytes] of runs) {
    if (left < count) {
      return {
        // There is no range of no bytes.
        range: { first: first + left * sizeBytes, lengthBytes: sizeBytes, isPartial: sizeBytes > 0 },
        headers: record.uploadId === undefined ? {} : { 'x-amz-mp-parts-count': String(partsCount) },
      };
    }
    left -= count;
    first += count * sizeBytes;
  }
  throw new S3Error('InvalidPartNumber', 'The requested partnumber is not satisfiable');
}
