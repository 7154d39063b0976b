import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ObjectRecord } from '../../../../local/store/object-record.ts';
import { readPart, runsOf } from '../../../../local/store/part-range.ts';
import type { StoreRequest } from '../../../../local/store/store-request.ts';

function ask(partNumber: string | undefined, headers: StoreRequest['headers'] = {}): StoreRequest {
  const query = new Map(partNumber === undefined ? [] : [['partNumber', partNumber] as const]);
  return { method: 'GET', canonicalPath: '/objects/k', bucket: 'objects', key: 'k', query, headers };
}

function recordOf(sizes: readonly number[]): ObjectRecord {
  const partSizes = runsOf(sizes);
  return {
    key: 'k',
    sizeBytes: sizes.reduce((sum, size) => sum + size, 0),
    etag: `00-${sizes.length}`,
    contentType: '',
    checksums: {},
    lastModifiedMs: 0,
    uploadId: 'u',
    ...(partSizes && { partSizes }),
  };
}

const plain: ObjectRecord = {
  key: 'k',
  sizeBytes: 10,
  etag: '00',
  contentType: '',
  checksums: {},
  lastModifiedMs: 0,
};

describe('a part of an object', () => {
  test('lies after all before it', () => {
    const sizes = fc.array(fc.constantFrom(0, 1, 5, 5_000_000_000), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(sizes, (parts) => {
        let first = 0;
        for (const [index, lengthBytes] of parts.entries()) {
          expect(readPart(ask(String(index + 1)), recordOf(parts))).toEqual({
            range: { first, lengthBytes, isPartial: lengthBytes > 0 },
            headers: { 'x-amz-mp-parts-count': String(parts.length) },
          });
          first += lengthBytes;
        }
      }),
    );
  });

  test('is all of an object that was not uploaded in parts', () => {
    const whole = { range: { first: 0, lengthBytes: 10, isPartial: true }, headers: {} };
    expect(readPart(ask('1'), plain)).toEqual(whole);
    expect(() => readPart(ask('2'), plain)).toThrow(expect.objectContaining({ code: 'InvalidPartNumber' }));
    expect(readPart(ask(undefined), plain)).toBeUndefined();
  });

  test.each(['', '0', '-1', 'x', '1.5', '100000'])('has a number, which "%s" is not', (number) => {
    expect(() => readPart(ask(number), plain)).toThrow(expect.objectContaining({ code: 'InvalidArgument' }));
  });

  test('is asked for by its number or by a range', () => {
    expect(() => readPart(ask('1', { range: 'bytes=0-1' }), plain)).toThrow(
      expect.objectContaining({ code: 'InvalidRequest' }),
    );
  });

  test('is unknown if there are too many different sizes', () => {
    const equal = recordOf([...Array.from({ length: 9_999 }, () => 5_242_880), 7]);
    expect(readPart(ask('10000'), equal)?.range).toMatchObject({ first: 9_999 * 5_242_880, lengthBytes: 7 });
    const different = recordOf(Array.from({ length: 10_000 }, (_, index) => 5_242_880 + index));
    expect(different.partSizes).toBeUndefined();
    expect(() => readPart(ask('1'), different)).toThrow(expect.objectContaining({ code: 'NotImplemented' }));
  });
});
