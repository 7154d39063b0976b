import { describe, expect, it } from 'vitest';
import { MalformedPageError } from '../../../../../lambda/adapters/s3/xml.ts';
import { FolderPageReader } from '../../../../../lambda/adapters/s3-scan/folder-page.ts';

const keys = '<Contents><Key>t/a%26b</Key><Size>5</Size><Owner><ID>1</ID></Owner></Contents>';
const folders =
  '<CommonPrefixes><Prefix>t/%C3%A4/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>t/b+c/</Prefix></CommonPrefixes>';
const facts = (count: number) =>
  `<Prefix>t/</Prefix><Delimiter>/</Delimiter><KeyCount>${count}</KeyCount><EncodingType>url</EncodingType>`;
const last = '<IsTruncated>false</IsTruncated>';
const list = (inner: string) =>
  `<?xml version="1.0"?>\n<ListBucketResult xmlns="x">${inner}</ListBucketResult>\n`;
const whole = list(facts(3) + last + keys + folders);

function read(text: string, pieceBytes = 7) {
  const reader = new FolderPageReader();
  const body = Buffer.from(text);
  for (let at = 0; at < body.length; at += pieceBytes) {
    const piece = Buffer.from(body.subarray(at, at + pieceBytes));
    reader.write(piece);
    // A connection reads the next piece into the same buffer.
    piece.fill('<');
  }
  return reader.end();
}

const found = {
  commonPrefixes: ['t/ä/', 't/b c/'],
  keys: [{ key: 't/a&b', sizeBytes: 5 }],
  nextContinuationToken: undefined,
};

describe('a page of folders is read', () => {
  it.each([
    ['as S3 writes it', whole],
    ['if KeyCount is of the keys alone', list(facts(1) + last + keys + folders)],
    ['in any order', list(folders + last + keys + facts(3))],
  ])('%s', (_what, text) => {
    expect(read(text)).toEqual(found);
  });

  it('with what XML escapes, if it is not in URL encoding, and with its token', () => {
    const plain = facts(1).replace(/<EncodingType>.*/, '');
    const more = '<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken>';
    const folder = '<CommonPrefixes><Prefix>t/%20&amp;/</Prefix></CommonPrefixes>';
    expect(read(list(plain + more + folder))).toEqual({
      commonPrefixes: ['t/%20&/'],
      keys: [],
      nextContinuationToken: 'a&b',
    });
  });
});

describe('a page of folders that is not complete is rejected', () => {
  it('cut off anywhere', () => {
    const body = whole.trimEnd();
    for (let length = 0; length < body.length; length += 1)
      expect(() => read(body.slice(0, length), 4096)).toThrow(MalformedPageError);
  });

  it.each([
    ['a wrong KeyCount', 'KeyCount>3', 'KeyCount>2'],
    ['no KeyCount', /<KeyCount>3<\/KeyCount>/, ''],
    ['truncated without a token', 'IsTruncated>false', 'IsTruncated>true'],
    ['a folder without a name', '<Prefix>t/%C3%A4/</Prefix>', ''],
    ['a folder without an end', '</Prefix></CommonPrefixes><CommonPrefixes>', '</Prefix><CommonPrefixes>'],
    ['a key without a size', '<Size>5</Size>', ''],
    ['a size that is none', '<Size>5', '<Size>-5'],
    ['a name that is not in its encoding', '%C3%A4', '%zz'],
    ['another root', /ListBucketResult/g, 'ListBucketsResult'],
  ])('%s', (_what, from, to) => {
    expect(() => read(whole.replace(from, to))).toThrow(MalformedPageError);
  });

  it('an error with status 200, by its code', () => {
    expect(() => read('<Error><Code>InternalError</Code></Error>')).toThrow('InternalError');
  });
});

it('a page of folders without an end is not read on', () => {
  const reader = new FolderPageReader();
  const mebibyte = Buffer.alloc(1024 ** 2, ' ');
  for (let count = 1; count <= 16; count += 1) reader.write(mebibyte);
  expect(() => reader.write(mebibyte)).toThrow(MalformedPageError);
});
