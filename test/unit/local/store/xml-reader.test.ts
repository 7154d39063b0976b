import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readCompleteRequest } from '../../../../local/store/multipart.ts';
import { readItems, S3Error } from '../../../../local/store/protocol.ts';

/** The texts of C and D in each B of A. */
const read = (xml: string) =>
  readItems(xml, { root: 'A', item: 'B', itemsMax: 2, fields: ['C', 'D'] }).map(([c, d]) => [c, d]);
/** One item whose C has this text. */
const itemOf = (text: string) => `<A><B><C>${text}</C><D/></B></A>`;

describe("a request's XML", () => {
  test('is read with its attributes and escapes', () => {
    const xml = `<?xml version="1.0" encoding="UTF-8"?>
      <A xmlns="http://x/" a='1'> <B><D/> <C> &lt;&amp;&gt;&quot;&apos;&#x41;&#66;</C></B><B ><C>x</C><D>y</D></B> </A>`;
    expect(read(xml)).toEqual([
      [' <&>"\'AB', ''],
      ['x', 'y'],
    ]);
  });

  test.each(['<A><E/></A>', '<A><B><C/><D/><E/></B></A>'])(
    'is not served with another element: %s',
    (xml) => {
      expect(() => read(xml)).toThrow(expect.objectContaining({ code: 'NotImplemented' }));
    },
  );

  test.each([
    ['nothing, or text', ['', 'text', `${itemOf('x')}text`, '<A>text</A>']],
    [
      'an element that does not end, or begin',
      ['<A>', '</A>', '<A></B>', '<A><B></A></B>', '<A>'.repeat(100_000)],
    ],
    ['no item, or too many', ['<A/>', `<A>${'<B><C/><D/></B>'.repeat(3)}</A>`]],
    ['an item without its fields', ['<A><B/></A>']],
    ['another root, or two', ['<B/>', `${itemOf('x')}<B/>`, '<s:A/>']],
    ['a comment, or a broken tag', ['<!-- x --><A/>', '<A b<C/>']],
    ['a document type', ['<!DOCTYPE A [<!ENTITY e "x">]><A><B><C>&e;</C><D/></B></A>']],
    ['a reference that is none', ['&none;', '&constructor', '&#x110000;', '&'].map(itemOf)],
    [
      'an element in a field, or a field twice',
      ['<A><B><C><D/></C><D/></B></A>', '<A><B><C/><C/><D/></B></A>'],
    ],
    ['characters that are not parsed', [itemOf('<![CDATA[x]]>')]],
    ['an item without one of its fields', ['<A><B><D/></B></A>']],
  ])('is refused with %s', (_what, texts) => {
    expect(read(itemOf('x'))).toEqual([['x', '']]);
    for (const xml of texts)
      expect(() => read(xml), xml.slice(0, 80)).toThrow(expect.objectContaining({ code: 'MalformedXML' }));
  });

  test('never fails in another way', () => {
    const pieces = fc.constantFrom(
      ...['<', '>', '/', '&', ';', '"', '#x', 'A'],
      '</A>',
      '<A>',
      '<A/>',
      '<!--',
      '-->',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        try {
          read(`<A><B>${parts.join('')}<D/></B></A>`);
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

  test('is read', () => {
    const more = '<Part><ETag>&quot;def&quot;</ETag><PartNumber>4</PartNumber></Part>';
    expect(list(part + more)).toEqual([
      { partNumber: 3, etag: 'abc' },
      { partNumber: 4, etag: 'def' },
    ]);
  });

  test.each([
    { name: 'empty', parts: '', code: 'MalformedXML' },
    { name: 'a part without a number', parts: '<Part><ETag>"a"</ETag></Part>', code: 'MalformedXML' },
    {
      name: 'a part without an ETag',
      parts: '<Part><PartNumber>1</PartNumber></Part>',
      code: 'MalformedXML',
    },
    { name: 'too many parts', parts: part.repeat(10_001), code: 'MalformedXML' },
    { name: 'a part twice', parts: part + part, code: 'InvalidPartOrder' },
    {
      name: 'no number',
      parts: '<Part><PartNumber>x</PartNumber><ETag>"a"</ETag></Part>',
      code: 'InvalidPartOrder',
    },
    {
      name: 'the checksum of a part',
      parts: part.replace('<ETag>', '<ChecksumCRC32>AAAAAA==</ChecksumCRC32><ETag>'),
      code: 'NotImplemented',
    },
  ])('is refused: $name', ({ parts, code }) => {
    expect(() => list(parts)).toThrow(expect.objectContaining({ code }));
  });

  test('is refused in another element', () => {
    expect(() => readCompleteRequest(`<Other>${part}</Other>`)).toThrow(S3Error);
  });
});
