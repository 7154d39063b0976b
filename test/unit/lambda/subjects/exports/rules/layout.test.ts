import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { tarFormat, zipFormat } from '../../../../../../lambda/subjects/exports/rules/archive-formats.ts';
import { ascendingBy, entrySizesOf, Layout } from '../../../../../../lambda/subjects/exports/rules/layout.ts';

it.each([
  ['small', 8],
  ['large', 2 ** 50],
])('%s values come from the smallest to the largest, and equal ones keep their order', (_title, max) => {
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(
          fc.maxSafeNat().map((value) => value % max),
          fc.boolean(),
        ),
      ),
      (items) => {
        const values = Float64Array.from(items, ([value]) => value);
        const chosen = items
          .map(([value, isChosen], index) => ({ value, isChosen, index }))
          .filter(({ isChosen }) => isChosen)
          // A sort that keeps the order of equals.
          .sort((a, b) => a.value - b.value);
        const sorted = ascendingBy(values, (index) => items[index]?.[1] === true);
        expect([...sorted]).toEqual(chosen.map(({ index }) => index));
      },
    ),
  );
});

it('values that leave no room for an index beside them are sorted as well', () => {
  const values = Float64Array.from([2 ** 53 - 1, 5, 2 ** 53 - 2, 5]);
  expect([...ascendingBy(values, () => true)]).toEqual([1, 3, 2, 0]);
});

it('an object takes its head, its bytes and what fills its last block', () => {
  const of = { oid: 'a'.repeat(64), etag: '"e"', key: 'acme/app/a' };
  const objects = [
    { ...of, sizeBytes: 513 },
    // So long a name has records of its own before the head.
    { ...of, sizeBytes: 512, name: 'n'.repeat(101) },
  ];
  const { heads, data, totals } = entrySizesOf(objects, tarFormat({ modifiedAtMs: 0 }));
  expect([[...heads], [...data], [...totals]]).toEqual([
    [512, 1536],
    [513, 512],
    [1536, 2048],
  ]);
});

it('the index of many objects has the CRC-32 of its bytes, wherever they are read from', () => {
  const objects = Array.from({ length: 4097 }, (_, index) => {
    const oid = index.toString(16).padStart(64, '0');
    return { oid, etag: '"e"', key: `acme/app/${oid}`, sizeBytes: index };
  });
  const format = zipFormat({ modifiedAtMs: 0 });
  const sizes = entrySizesOf(objects, format);
  const subject = { path: 'acme/app', startedAtMs: 0, missing: [] };
  const input = { format, objects, sizes, subject, volume: { number: 1, of: 1 } };
  const entry = new Layout(input, () => Uint32Array.from(objects.keys())).entryAt(1);
  if (entry.kind !== 'content') throw new Error('The second file is the index.');
  const bytes = entry.content.bytes({ startByte: 0, endByte: entry.sizeBytes });
  expect([bytes.length, entry.content.crc32()]).toEqual([entry.sizeBytes, crc32(bytes)]);
  const cut = { startByte: entry.sizeBytes - 150, endByte: entry.sizeBytes - 10 };
  expect(Buffer.from(entry.content.bytes(cut))).toEqual(Buffer.from(bytes.subarray(-150, -10)));
});
