import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  crc32FileOf,
  encodeCrc32s,
  findCrc32s,
  keptObjectsMax,
} from '../../../../../lambda/domain/export/crc32-file.ts';
import type { StoredObject } from '../../../../../lambda/domain/export/stored-object.ts';

const objectOf = (index: number): StoredObject => {
  const oid = createHash('sha256').update(String(index)).digest('hex');
  return { oid, sizeBytes: 2 ** 40 + index, etag: `"e-${index}"`, key: `acme/app/${oid}` };
};

/** So many objects, in the order of their oids. */
const objectsOf = (count: number, first = 0) =>
  Array.from({ length: count }, (_, index) => objectOf(first + index)).sort((a, b) =>
    a.oid < b.oid ? -1 : 1,
  );

/** Any number of 32 bits, the same for each call. */
const crc32Of = ({ oid }: StoredObject) => crc32(oid);

const encoded = (objects: readonly StoredObject[], others?: Uint8Array) =>
  encodeCrc32s(objects, { crc32Of, others });

function foundIn(file: Uint8Array, objects: readonly StoredObject[]) {
  const found = new Map<string, number>();
  findCrc32s(file, objects, found);
  return found;
}

const all = (objects: readonly StoredObject[]) => new Map(objects.map((each) => [each.oid, crc32Of(each)]));

describe('a file of CRC-32', () => {
  it('knows the objects that it was made of, and no others', () => {
    for (const count of [0, 1, 50]) {
      const objects = objectsOf(count);
      expect(foundIn(encoded(objects), objectsOf(count + 20))).toEqual(all(objects));
      expect(foundIn(encoded(objects), objects.slice(1))).toEqual(all(objects.slice(1)));
    }
  });

  it('knows nothing of an object with another size or ETag', () => {
    const [one, two, three] = objectsOf(3);
    if (!one || !two || !three) throw new Error('There are three.');
    const changed = [{ ...one, sizeBytes: one.sizeBytes + 1 }, { ...two, etag: '"another"' }, three];
    expect(foundIn(encoded([one, two, three]), changed)).toEqual(all([three]));
  });

  it('knows nothing if it is broken', () => {
    const objects = objectsOf(3);
    const file = encoded(objects);
    for (let length = 0; length < file.length; length += 1)
      expect(foundIn(file.subarray(0, length), objects).size).toBe(0);
    for (let at = 0; at < file.length; at += 1) {
      const broken = Uint8Array.from(file);
      broken[at] = (broken[at] ?? 0) ^ 1;
      expect(foundIn(broken, objects).size).toBe(0);
    }
    expect(foundIn(Buffer.concat([file, Buffer.alloc(48)]), objects).size).toBe(0);
  });

  it('has the objects of an older one, too, each once and as it is now', () => {
    const [old, own] = [objectsOf(40), objectsOf(40, 20)];
    const before = encodeCrc32s(old, { crc32Of: () => 7, others: undefined });
    const found = foundIn(encoded(own, before), objectsOf(60));
    const expected = new Map([...old.map(({ oid }): [string, number] => [oid, 7]), ...all(own)]);
    expect([...found].sort()).toEqual([...expected].sort());
    expect(encoded(own, before)).toHaveLength(60 * 48 + 4);
    // What is broken is as none.
    expect(encoded(own, before.subarray(1))).toEqual(encoded(own));
  });

  it('has no more objects than it may, but all of its own', () => {
    const many = Array.from({ length: keptObjectsMax - 1 }, (_, index) => ({
      ...objectOf(0),
      oid: `5${index.toString(16).padStart(63, '0')}`,
    }));
    const before = encodeCrc32s(many, { crc32Of: () => 7, others: undefined });
    const own = ['1', '9', 'f'].map((digit) => ({ ...objectOf(1), oid: digit.repeat(64) }));
    const file = encoded(own, before);
    expect(file).toHaveLength(keptObjectsMax * 48 + 4);
    expect(foundIn(file, own)).toEqual(all(own));
    expect(encoded([...many, ...own.slice(1)])).toHaveLength((keptObjectsMax + 1) * 48 + 4);
    expect(encoded([...many, ...own.slice(1)], encoded(own))).toHaveLength((keptObjectsMax + 1) * 48 + 4);
  });

  it('has the objects whose oids begin with its digit', () => {
    expect(['0', '9', 'a', 'f'].map((digit) => crc32FileOf({ oid: digit.repeat(64) }))).toEqual([
      0, 9, 10, 15,
    ]);
  });
});
