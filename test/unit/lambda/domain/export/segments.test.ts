import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { entrySizesOf } from '../../../../../lambda/domain/export/entry-sizes.ts';
import { Layout } from '../../../../../lambda/domain/export/layout.ts';
import { memberName } from '../../../../../lambda/domain/export/member-name.ts';
import { tarFormat } from '../../../../../lambda/domain/export/tar-format.ts';
import { zipFormat } from '../../../../../lambda/domain/export/zip-format.ts';
import { contentStore, readArchive, readRange, subject } from '../../../../support/export-archive.ts';

const formats = [tarFormat({ modifiedAtMs: 0 }), zipFormat({ modifiedAtMs: 0 })];
const volume = { number: 1, of: 1 };

describe.each(formats)('a layout of $name', (format) => {
  const layoutOf = (contents: readonly Uint8Array[]) => {
    const store = contentStore(contents);
    const sizes = entrySizesOf(store.objects, format);
    const order = Uint32Array.from(store.objects.keys()).reverse();
    return { store, layout: new Layout({ ...store, sizes, format, subject, volume }, () => order) };
  };

  it('gives any range of the archive', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 1500 }), { maxLength: 6 }),
        fc.array(fc.nat(), { minLength: 2, maxLength: 2 }),
        (contents, cuts) => {
          const { layout, store } = layoutOf(contents);
          const whole = readArchive(layout, store.bytesOf);
          expect(whole.length).toBe(layout.sizeBytes);
          const [startByte = 0, endByte = 0] = cuts
            .map((cut) => cut % (whole.length + 1))
            .sort((a, b) => a - b);
          const range = readRange(layout, { startByte, endByte }, store.bytesOf);
          expect(range.equals(whole.subarray(startByte, endByte))).toBe(true);
        },
      ),
    );
  });

  it('begins with a manifest, and an index that leads to each object', () => {
    const contents = ['one', 'three', '', 'seven'].map((text) => Buffer.from(text));
    const { layout, store } = layoutOf(contents);
    const whole = readArchive(layout, store.bytesOf);
    const contentAt = (place: number) => {
      const { dataStart, dataEnd } = layout.boundsAt(place);
      return whole.subarray(dataStart, dataEnd).toString();
    };
    expect([0, 1].map((place) => layout.entryAt(place).name)).toEqual([
      'lfs/export/manifest-1.json',
      'lfs/export/index-1.txt',
    ]);
    expect(JSON.parse(contentAt(0))).toMatchObject({
      path: 'acme/app',
      startedAt: '2026-11-22T12:00:00.000Z',
      objects: 4,
      bytes: 13,
      missing: [],
    });
    const lines = contentAt(1)
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ +/));
    expect(lines.map(([oid]) => oid)).toEqual(store.objects.map(({ oid }) => oid));
    for (const [index, object] of store.objects.entries()) {
      const [, size, at] = (lines[index] ?? []).map(Number);
      expect(whole.subarray(at, (at ?? 0) + (size ?? 0)).equals(store.bytesOf(object))).toBe(true);
    }
  });

  it('has the objects in the order that it is given', () => {
    const { layout, store } = layoutOf(['a', 'b', 'c'].map((text) => Buffer.from(text)));
    const whole = { startByte: 0, endByte: layout.sizeBytes };
    const names = [...layout.dataIn(whole)].map(({ object }) => memberName(object));
    expect(names).toEqual([...store.objects].reverse().map(memberName));
  });

  it('makes a long index in pieces', () => {
    const contents = Array.from({ length: 12_000 }, (_, index) => Buffer.from(String(index)));
    const { layout, store } = layoutOf(contents);
    const whole = readArchive(layout, store.bytesOf);
    const { dataStart, dataEnd } = layout.boundsAt(1);
    expect(dataEnd - dataStart).toBe(12_000 * 99);
    expect(whole.subarray(dataStart, dataEnd).toString().split('\n').length).toBe(12_001);
  });
});
