import { describe, expect, it } from 'vitest';
import { isMemberName, memberName, nameLike } from '../../../../../lambda/domain/export/member-name.ts';

describe('the name of an object in an archive', () => {
  it('is where git-lfs looks below .git', () => {
    const oid = `abcd${'0'.repeat(60)}`;
    const object = { oid, sizeBytes: 1, etag: '""', key: 'k' };
    expect(memberName(object)).toBe(`lfs/objects/ab/cd/${oid}`);
    expect(memberName({ ...object, name: 'images/ü.png' })).toBe('images/ü.png');
    expect(nameLike({ name: 'images/ü.png' })).toBe('images/ü.png');
    expect(nameLike({})).toHaveLength(memberName(object).length);
  });

  it.each(['a', 'a/b.c', 'Fotos/Übersicht 日本.png', '..a/b..', '😀', 'x'.repeat(4096)])(
    'may be %s',
    (name) => {
      expect(isMemberName(name)).toBe(true);
    },
  );

  it.each([
    '',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    'a/../b',
    './a',
    'a\\b',
    'a\nb',
    'a\0',
    '\ud800',
    'ä'.repeat(2049),
  ])('may not be %j', (name) => {
    expect(isMemberName(name)).toBe(false);
  });
});
