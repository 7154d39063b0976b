import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvOf } from '../../../console/src/text.ts';
import { anyCharacter } from '../../support/any-character.ts';

/** Reads CSV by RFC 4180, written here anew: records of fields, quoted or not. */
function parse(text: string): string[][] {
  const records: string[][] = [];
  let [record, at]: [string[], number] = [[], 0];
  while (at < text.length) {
    let field = '';
    if (text[at] === '"') {
      for (at += 1; ; at += 1) {
        if (at >= text.length) throw new Error('A quote is not closed.');
        if (text[at] !== '"') field += text[at];
        else if (text[at + 1] === '"') {
          field += '"';
          at += 1;
        } else break;
      }
      at += 1;
    } else {
      for (; at < text.length && text[at] !== ',' && text[at] !== '\r'; at += 1) {
        if (text[at] === '"' || text[at] === '\n') throw new Error(`A bare ${JSON.stringify(text[at])}.`);
        field += text[at];
      }
    }
    record.push(field);
    if (text[at] === ',') at += 1;
    else if (text.startsWith('\r\n', at)) {
      records.push(record);
      record = [];
      at += 2;
    } else throw new Error(`Neither a comma nor an end of line at ${at}.`);
  }
  if (record.length > 0) throw new Error('The last line has no end.');
  return records;
}

const withoutMark = (text: string) => text.replace(/^\ufeff/, '');
const nasty = fc.string({
  unit: fc.constantFrom(
    '=',
    '+',
    '-',
    '@',
    '\uff1d',
    '\uff20',
    ' ',
    '\t',
    '\r',
    '\n',
    '\0',
    '"',
    "'",
    ',',
    ';',
    'a',
    'é',
  ),
});
const text = fc.oneof(nasty, fc.string({ unit: anyCharacter }));
const row = fc.record({
  name: text,
  bytes: fc.maxSafeInteger(),
  at: fc.option(fc.constant('2026-11-23T05:00:00Z')),
});

describe('a table as CSV', () => {
  it('has each row of the table, in its order, and says the same again when it is read', () => {
    fc.assert(
      fc.property(fc.array(row), (rows) => {
        const [heading, ...read] = parse(withoutMark(csvOf(rows, ['name', 'bytes', 'at'])));
        expect(heading).toEqual(['name', 'bytes', 'at']);
        expect(read.length).toBe(rows.length);
        for (const [index, { name, bytes, at }] of rows.entries()) {
          const [nameRead = '', bytesRead, atRead] = read[index] ?? [];
          expect([name, `'${name}`]).toContain(nameRead);
          expect(bytesRead).toBe(String(bytes));
          expect(atRead).toBe(at ?? '');
        }
      }),
    );
  });

  it('has no text that a spreadsheet would run', () => {
    fc.assert(
      fc.property(text, (name) => {
        const [, [read = ''] = []] = parse(withoutMark(csvOf([{ name }], ['name'])));
        expect(read).not.toMatch(/^[\s\0]*[=+\-@＝＋－＠]/);
        expect(read).not.toMatch(/^[\t\r\n\0]/);
      }),
    );
  });

  it('leaves all other text as it is', () => {
    const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._ ,;"'=+@-]*$/);
    fc.assert(
      fc.property(name, (given) => {
        expect(parse(csvOf([{ name: given }], ['name']))[1]).toEqual([given]);
      }),
    );
  });

  it('writes numbers as they are: no text of theirs is run, and none is rounded', () => {
    const rows = [
      { bytes: Number.MAX_SAFE_INTEGER, on: true },
      { bytes: -17, on: false },
      { bytes: 0, on: undefined },
    ];
    expect(csvOf(rows, ['bytes', 'on'])).toBe('bytes,on\r\n9007199254740991,true\r\n-17,false\r\n0,\r\n');
  });

  it('writes text in quotes, lists with spaces, and what is not known as nothing', () => {
    const rows = [{ label: 'say "hi", =1', repos: ['a', 'b'], user: null }];
    expect(csvOf(rows, ['label', 'repos', 'user'])).toBe('label,repos,user\r\n"say ""hi"", =1","a b",\r\n');
    expect(csvOf([{ label: '=HYPERLINK("x")' }], ['label'])).toBe('label\r\n"\'=HYPERLINK(""x"")"\r\n');
    expect(csvOf([], ['label'])).toBe('label\r\n');
  });

  it('says that it is UTF-8 where Excel would not know', () => {
    expect(csvOf([{ label: 'Zoë' }], ['label'])).toBe('\ufefflabel\r\n"Zoë"\r\n');
    expect(csvOf([{ label: 'Zoe' }], ['label'])).toBe('label\r\n"Zoe"\r\n');
  });
});
