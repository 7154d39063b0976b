import { describe, expect, it } from 'vitest';
import {
  decodeRequested,
  encodeRequested,
  wrongRequested,
} from '../../../../../lambda/domain/export/requested-objects.ts';

const oid = (digit: string) => digit.repeat(64);
const named = (...names: readonly (string | undefined)[]) =>
  names.map((name, index) => ({ oid: oid(index.toString(16)), name }));

describe('a list of requested objects', () => {
  it('comes back from the store as it was', () => {
    const objects = [{ oid: oid('a'), name: 'bücher/ä.psd' }, { oid: oid('b') }];
    expect(decodeRequested(encodeRequested(objects))).toEqual(objects);
  });

  it.each([
    { names: ['a.psd', 'b/a.psd', 'b/b', undefined] },
    { names: ['a', 'a-b', 'a.b', 'a b', 'ab/c'] },
    { names: ['lfs/exports', 'lfs/objects/x'] },
  ])('may have the names $names', ({ names }) => {
    expect(wrongRequested(named(...names))).toBeUndefined();
  });

  it.each([
    { names: ['a', '../b'], index: 1, message: /relative path/ },
    { names: ['', 'b'], index: 0, message: /relative path/ },
    { names: ['a', 'b', 'a'], index: 2, message: /two objects/ },
    { names: ['a/b', 'c', 'a'], index: 0, message: /in a folder/ },
    { names: ['a', 'a-b', 'a/b/c'], index: 2, message: /in a folder/ },
    { names: ['lfs/export/manifest-1.json'], index: 0, message: /below lfs\/export/ },
    { names: ['lfs/export'], index: 0, message: /below lfs\/export/ },
    { names: [undefined, `lfs/objects/00/00/${oid('0')}`], index: 1, message: /two objects/ },
  ])('may not have the names $names', ({ names, index, message }) => {
    const wrong = wrongRequested(named(...names));
    expect(wrong).toMatchObject({ index, field: 'name', message: expect.stringMatching(message) });
  });

  it('has no oid twice', () => {
    const twice = [{ oid: oid('a'), name: 'a' }, { oid: oid('b') }, { oid: oid('a'), name: 'c' }];
    expect(wrongRequested(twice)).toMatchObject({ index: 2, field: 'oid' });
  });

  it('is looked at in time, however it is made', () => {
    const deep = Array.from({ length: 250 }, (_, index) => ({
      oid: index.toString(16).padStart(64, '0'),
      name: `${'a/'.repeat(2000)}${index}`,
    }));
    expect(wrongRequested(deep)).toBeUndefined();
  });
});
