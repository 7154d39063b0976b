import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readCompleteRequest } from '../../../../local/store/complete-request.ts';
import { S3Error } from '../../../../local/store/s3-error.ts';
import { readXml } from '../../../../local/store/xml-reader.ts';

describe("a request's XML", () => {
  test('is read with its namespaces, attributes, comments and escapes', () => {
    const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<!-- one -->
      <s:A xmlns:s="http://x/" a='1'> <B>&lt;&amp;&gt;&quot;&apos;&#x41;&#66;</B><C/><B >x</B> </s:A>`;
    expect(readXml(xml)).toMatchObject({
      name: 'A',
      children: [
        { name: 'B', text: '<&>"\'AB' },
        { name: 'C', text: '', children: [] },
        { name: 'B', text: 'x' },
      ],
    });
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
    '<A>&none;</A>',
    '<A>&#x110000;</A>',
    '<A>&</A>',
    '<A b<C/>',
    '<!DOCTYPE A [<!ENTITY e "x">]><A>&e;</A>',
    '<A><![CDATA[x]]></A>',
    '<A>'.repeat(100_000),
  ])('is refused: %.40s', (xml) => {
    expect(() => readXml(xml)).toThrow(expect.objectContaining({ code: 'MalformedXML' }));
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
          readXml(parts.join(''));
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

  test('is read, with the checksums of its parts', () => {
    const more =
      '<Part><ETag>&quot;def&quot;</ETag><ChecksumCRC32>AAAAAA==</ChecksumCRC32><PartNumber>4</PartNumber></Part>';
    expect(list(part + more)).toEqual([
      { partNumber: 3, etag: 'abc', checksums: {} },
      { partNumber: 4, etag: 'def', checksums: { crc32: 'AAAAAA==' } },
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
