import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { distinctObjects } from '../../../../../lambda/domain/export/stored-object.ts';

const stored = (oid: string, repo: string, sizeBytes = 1) => ({
  oid: oid.padStart(64, '0'),
  sizeBytes,
  etag: '"e"',
  key: `acme/${repo}/${oid.padStart(64, '0')}`,
});

describe('distinctObjects', () => {
  it('has an oid of several repos once, from the first key', () => {
    const { objects, conflicts } = distinctObjects([
      stored('b', 'two'),
      stored('a', 'one'),
      stored('b', 'one'),
    ]);
    expect(objects).toEqual([stored('a', 'one'), stored('b', 'one')]);
    expect(conflicts).toEqual([]);
  });

  it('reports objects of one oid with another size', () => {
    const { objects, conflicts } = distinctObjects([stored('a', 'one', 5), stored('a', 'two', 6)]);
    expect(objects).toEqual([stored('a', 'one', 5)]);
    expect(conflicts).toEqual([stored('a', 'two', 6)]);
  });

  it('does not depend on the order of the list', () => {
    const object = fc
      .tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('x', 'y', 'z'))
      .map(([oid, repo]) => stored(oid, repo));
    fc.assert(
      fc.property(fc.array(object), (list) => {
        expect(distinctObjects([...list].reverse())).toEqual(distinctObjects(list));
        const oids = distinctObjects(list).objects.map(({ oid }) => oid);
        expect(oids).toEqual([...new Set(list.map(({ oid }) => oid))].sort());
      }),
    );
  });
});
