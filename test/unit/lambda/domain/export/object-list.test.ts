import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeObjectList, encodeObjectList } from '../../../../../lambda/domain/export/object-list.ts';

const oid = 'a'.repeat(64);

it('keeps every object as it is, whatever its version and name', () => {
  const object = fc.record(
    {
      oid: fc.constant(oid),
      sizeBytes: fc.nat(),
      etag: fc.string({ unit: 'binary' }).filter((text) => !/\p{Surrogate}/u.test(text)),
      key: fc.constantFrom('acme/app/x', 'acme/My-App.1/y'),
      name: fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !/[\n\r]/.test(text)),
    },
    { requiredKeys: ['oid', 'sizeBytes', 'etag', 'key'] },
  );
  fc.assert(
    fc.property(fc.array(object), (objects) => {
      expect(decodeObjectList(encodeObjectList(objects))).toEqual(objects);
    }),
  );
});

it('is a line for each object', () => {
  const list = encodeObjectList([{ oid, sizeBytes: 5, etag: '"e-1"', key: 'acme/app/k', name: 'a b.bin' }]);
  expect(Buffer.from(list).toString()).toBe(`${oid} 5 %22e-1%22 acme/app/k a b.bin\n`);
});

it('keeps more lines than are joined at a time', () => {
  const objects = Array.from({ length: 100_001 }, (_, index) => ({
    oid,
    sizeBytes: index,
    etag: 'e',
    key: 'k',
  }));
  expect(decodeObjectList(encodeObjectList(objects)).at(-1)).toEqual(objects.at(-1));
});

it.each([`${oid} 5 e k`, `${oid} five e k\n`, `${oid} 5 e\n`, '\n'])('refuses %j', (text) => {
  expect(() => decodeObjectList(Buffer.from(text))).toThrow(/list of objects/);
});
