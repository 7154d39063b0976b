import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readCompleteRequest } from '../../../../local/store/multipart.ts';
import { readElements, readRoot, S3Error, textOf } from '../../../../local/store/protocol.ts';

/** The text of B in A. */
const readB = (xml: string) => textOf(readRoot(xml, 'A'), 'B');

describe("a request's XML", () => {
  test('is read with its attributes and escapes', () => {
    const xml = `<?xml version="1.0" encoding="UTF-8"?>
      <A xmlns="http://x/" a='1'> <B> &lt;&amp;&gt;&quot;&apos;&#x41;&#66;</B><C/><D ><B>x</B></D> </A>`;
    const elements = readRoot(xml, 'A');
    expect(elements.map(({ name }) => name)).toEqual(['B', 'C', 'D']);
    expect([textOf(elements, 'B'), textOf(elements, 'C'), textOf(elements, 'E')]).toEqual([
      ' <&>"\'AB',
      '',
      undefined,
    ]);
    expect(textOf(readElements(elements[2]?.inner ?? ''), 'B')).toBe('x');
    expect(() => textOf(elements, 'D')).toThrow(S3Error);
  });

  test.each([
    '',
    'text',
    '<A>',
    '</A>',
    '<A></B>',
    '<A/><B/>',
    '<A/>text',
    '<A><B></A></B>',
    '<A>text</A>',
    '<A><B/><B/></A>',
    '<A><B>&none;</B></A>',
    '<A><B>&#x110000;</B></A>',
    '<A><B>&</B></A>',
    '<A><B><C/></B></A>',
    '<s:A/>',
    '<!-- x --><A/>',
    '<A b<C/>',
    '<!DOCTYPE A [<!ENTITY e "x">]><A><B>&e;</B></A>',
    '<A><B><![CDATA[x]]></B></A>',
    '<A>'.repeat(100_000),
  ])('is refused: %.40s', (xml) => {
    expect(() => readB(xml)).toThrow(expect.objectContaining({ code: 'MalformedXML' }));
  });

  test('never fails in another way', () => {
    const pieces = fc.constantFrom(
      '<',
      '>',
      '/',
      '&',
      ';',
      'A',
      '</A>',
      '<A>',
      '<A/>',
      '"',
      '<!--',
      '-->',
      '#x',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        try {
          readB(parts.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(S3Error);
        }
      }),
    );
  });
});

describe('the list of parts', () => {
  const list = (parts: string) =>
    readCompleteRequest(`<CompleteMultipartUpload>${parts}</CompleteMultipartUpload>`);
  const part = '<Part><PartNumber>3</PartNumber><ETag>"abc"</ETag></Part>';

  test('is read, with the checksum of a part', () => {
    const more =
      '<Part><ETag>&quot;def&quot;</ETag><ChecksumCRC32>AAAAAA==</ChecksumCRC32><PartNumber>4</PartNumber></Part>';
    expect(list(part + more)).toEqual([
      { partNumber: 3, etag: 'abc', crc32: undefined },
      { partNumber: 4, etag: 'def', crc32: 'AAAAAA==' },
    ]);
  });

  test.each([
    { name: 'empty', parts: '' },
    { name: 'a part without a number', parts: '<Part><ETag>"a"</ETag></Part>' },
    { name: 'a part without an ETag', parts: '<Part><PartNumber>1</PartNumber></Part>' },
    {
      name: 'two numbers',
      parts: '<Part><PartNumber>1</PartNumber><PartNumber>2</PartNumber><ETag>a</ETag></Part>',
    },
    { name: 'a negative number', parts: '<Part><PartNumber>-1</PartNumber><ETag>"a"</ETag></Part>' },
    { name: 'too many parts', parts: part.repeat(10_001) },
  ])('is refused: $name', ({ parts }) => {
    expect(() => list(parts)).toThrow(expect.objectContaining({ code: 'MalformedXML' }));
  });

  test('is refused in another element', () => {
    expect(() => readCompleteRequest(`<Other>${part}</Other>`)).toThrow(S3Error);
  });
});
