import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  folderPageReader,
  KeyCountError,
  ListPageReader,
} from '../../../../../lambda/core/scan/parse-list-answer.ts';
import { MalformedPageError, OtherProtocolError } from '../../../../../lambda/core/store/http-exchange.ts';
import { Random } from '../../../../support/random.ts';
import { hashNames, type ListedObject } from '../../../../support/round-listing.ts';
import { renderPage, type XmlOrder } from './pages.ts';

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
  const reader = folderPageReader();
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
  const reader = folderPageReader();
  const mebibyte = Buffer.alloc(1024 ** 2, ' ');
  for (let count = 1; count <= 16; count += 1) reader.write(mebibyte);
  expect(() => reader.write(mebibyte)).toThrow(MalformedPageError);
});

const orders: readonly XmlOrder[] = ['aws', 'trailing', 'pretty'];
const anyKey = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  .filter((key) => !/[\0\r]/.test(key));
const anySize = fc.oneof(
  fc.nat(),
  fc.maxSafeNat().map((size) => Math.floor(size / 2000)),
);
const anyNoise = fc
  .array(fc.constantFrom(...'<>/0123456789SizeKyContents '), { minLength: 6, maxLength: 6 })
  .map((characters) => Buffer.from(characters.join('')));
const anyCuts = fc.array(fc.nat(30_000), { maxLength: 12 });
const anyPage = fc.uniqueArray(fc.record({ key: anyKey, sizeBytes: anySize }), {
  selector: (object) => object.key,
  maxLength: 60,
});

function hashPage(count: number, seed: number): ListedObject[] {
  const random = new Random(seed);
  return hashNames(count, seed)
    .sort()
    .map((name) => ({ key: `p/${name}`, sizeBytes: random.uint32() % 10_000_000 }));
}

describe('a page is read', () => {
  it.each(orders)('whatever keys it contains (%s)', (order) => {
    fc.assert(
      fc.property(
        anyPage,
        fc.boolean(),
        fc.boolean(),
        anyCuts,
        (objects, isUrlEncoded, isTruncated, cuts) => {
          const token = isTruncated ? 'to&ken=' : undefined;
          const page = readListPage(
            renderPage(objects, { order, isUrlEncoded, ...(token && { token }) }),
            cuts,
          );
          expect(page.keyCount).toBe(objects.length);
          expect(page.totalBytes).toBe(objects.reduce((sum, object) => sum + object.sizeBytes, 0));
          expect(objects.map((_, index) => page.keyAt(index))).toEqual(objects.map((object) => object.key));
          expect(objects.map((_, index) => page.sizeAt(index))).toEqual(
            objects.map((object) => object.sizeBytes),
          );
          expect([page.isTruncated, page.nextContinuationToken]).toEqual([isTruncated, token]);
        },
      ),
    );
  });

  it('with more entries than S3 puts on a page', () => {
    const objects = hashPage(2500, 3);
    expect(readListPage(renderPage(objects)).totalBytes).toBe(
      objects.reduce((sum, object) => sum + object.sizeBytes, 0),
    );
  });

  it.each([
    ['ü', 'ü'],
    ['\ufeff日本\ufffd', '\ufeff日本\ufffd'],
    ['&#252;&#xFC;&amp;&#x1f600;', 'üü&\u{1f600}'],
    // Not XML, but two halves make a character.
    ['&#xd83d;&#xde00;', '\u{1f600}'],
  ])('with the token %s', (written, token) => {
    for (const order of orders) {
      const body = renderPage(hashPage(3, 4), { order, token: 'next' }).toString().replace('next', written);
      expect(readListPage(Buffer.from(body)).nextContinuationToken).toBe(token);
    }
  });

  it('in pieces of any length', () => {
    const objects = hashPage(40, 9);
    const body = renderPage(objects, { token: 'next' });
    for (const length of [1, 2, 7, 64, 333, 4096]) {
      const cuts = Array.from({ length: Math.floor(body.length / length) }, (_, index) => index * length);
      expect(readListPage(body, cuts).keyAt(39)).toBe(objects[39]?.key);
    }
  });

  it('if the last entry ends before where the one before it did', () => {
    const classOf = (index: number) => `<StorageClass>${'x'.repeat(index === 0 ? 100 : 1)}</StorageClass>`;
    const page = readListPage(renderPage(hashPage(2, 5), { classOf }));
    expect(page.keyCount).toBe(2);
  });

  it('if entries are so short that a later size is where the next one is expected', () => {
    const lengths = [200, 20, 20, 200, 20, 20, 20, 150, 20];
    for (let shift = 0; shift < 120; shift += 1) {
      const objects = lengths.map((length, index) => ({
        key: `${index}`.padEnd(length + (index === 0 ? shift : 0), 'k'),
        sizeBytes: 10 ** index,
      }));
      const page = readListPage(renderPage(objects));
      expect([page.keyCount, page.totalBytes]).toEqual([9, 111_111_111]);
    }
  });
});

describe('when keys were stored', () => {
  const written = (text: string) => `<LastModified>${text}</LastModified>`;
  const timesOf = (times: readonly string[], order: XmlOrder, cuts: readonly number[] = []) => {
    const objects = times.map((_, index) => ({ key: `p/${index}`, sizeBytes: index }));
    const body = renderPage(objects, { order, timeOf: (index) => times[index] ?? '' });
    const page = readListPage(body, cuts, { readsTimes: true });
    return times.map((_, index) => page.lastModifiedMsAt(index));
  };

  it('is read to the millisecond if it is asked for, in pieces of any length', () => {
    const anyTime = fc.date({ min: new Date(0), max: new Date('2999-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(
        fc.array(anyTime, { maxLength: 20 }),
        fc.constantFrom(...orders),
        anyCuts,
        (dates, order, cuts) => {
          const times = dates.map((date) => written(date.toISOString()));
          expect(timesOf(times, order, cuts)).toEqual(dates.map((date) => date.getTime()));
        },
      ),
    );
    const page = readListPage(renderPage(hashPage(3, 1)));
    expect(page.lastModifiedMsAt(2)).toBeUndefined();
    expect(() => page.lastModifiedMsAt(3)).toThrow(RangeError);
  });

  it('is read of every entry of a page that is longer than usual', () => {
    const base = Date.UTC(2026, 10, 1);
    const times = Array.from({ length: 2500 }, (_, index) => written(new Date(base + index).toISOString()));
    expect(timesOf(times, 'aws')).toEqual(times.map((_, index) => base + index));
  });

  it('is not that of the next entry, wherever the previous one had it', () => {
    for (let length = 1; length < 400; length += 1) {
      const objects = ['k'.repeat(length), 'short', 'next'].map((key) => ({ key, sizeBytes: 1 }));
      const timeOf = (index: number) => (index === 1 ? '' : written('2026-11-01T10:00:00.000Z'));
      const page = readListPage(renderPage(objects, { timeOf }), [], { readsTimes: true });
      expect([page.keyCount, page.lastModifiedMsAt(1)]).toEqual([3, undefined]);
    }
  });

  it.each([
    ['2026-11-01T10:00:00Z', 0],
    ['2026-11-01T10:00:00.1Z', 100],
    ['2026-11-01T10:00:00.129999999Z', 129],
    ['2026-11-01T10:00:00', 0],
    ['2026-11-01T10:00:00.5', 500],
    ['2026-11-01T10:00:00+00:00', 0],
    ['2026-11-01T11:30:00.250+01:30', 250],
    ['2026-11-01T09:00:00-01:00', 0],
  ])('is read with another fraction, with an offset or no zone: %s', (text, ms) => {
    expect(timesOf([written(text)], 'aws')).toEqual([Date.UTC(2026, 10, 1, 10) + ms]);
  });

  it.each([
    '',
    '<LastModified/>',
    ...[
      '',
      'today',
      '2026-11-01',
      '2026-11-01T10:00:00.Z',
      '2026-11-01T10:00:00+1',
      '2026-13-01T10:00:00+01:00',
      '2026-11-01T10:00:00.000Zebra',
      '2026-11-01 10:00:00.000Z',
      '2026/11/01T10:00:00.000Z',
      '2026-11-01T10.00.00.000Z',
      '2026-13-01T10:00:00.000Z',
      '2026-00-01T10:00:00.000Z',
      '2026-11-00T10:00:00.000Z',
      '2026-11-32T10:00:00.000Z',
      '2026-11-01T24:00:00.000Z',
      '2026-11-01T10:60:00.000Z',
      '2026-11-01T10:00:61.000Z',
      'Sun, 01 Nov 2026 10:00:00 GMT',
    ].map(written),
  ])('is not known if it is written %j, and the entries around it are read', (text) => {
    const good = written('2026-11-01T10:00:00.000Z');
    const ms = Date.UTC(2026, 10, 1, 10);
    for (const order of orders)
      expect(timesOf([good, text, good, text, text, good], order)).toEqual([
        ms,
        undefined,
        ms,
        undefined,
        undefined,
        ms,
      ]);
  });
});

describe('the ETags of keys', () => {
  const written = (text: string) => `<ETag>${text}</ETag>`;
  const etagsOf = (etags: readonly string[], order: XmlOrder, cuts: readonly number[] = []) => {
    const objects = etags.map((_, index) => ({ key: `p/${index}`, sizeBytes: index }));
    const body = renderPage(objects, { order, etagOf: (index) => etags[index] ?? '' });
    const page = readListPage(body, cuts, { readsEtags: true });
    return etags.map((_, index) => page.etagAt(index));
  };
  const anyEtag = fc.string({ unit: fc.constantFrom(...'0123456789abcdef-+/=') }).map((text) => `"${text}"`);

  it('are read if they are asked for, in pieces of any length', () => {
    fc.assert(
      fc.property(
        fc.array(anyEtag, { maxLength: 20 }),
        fc.constantFrom('"', '&quot;', '&#34;', '&#x22;'),
        fc.constantFrom(...orders),
        anyCuts,
        (etags, quote, order, cuts) => {
          const texts = etags.map((etag) => written(etag.replaceAll('"', quote)));
          expect(etagsOf(texts, order, cuts)).toEqual(etags);
        },
      ),
    );
    const page = readListPage(renderPage(hashPage(3, 1)));
    expect(page.etagAt(2)).toBe('');
    expect(() => page.etagAt(3)).toThrow(RangeError);
  });

  it('have their quotes, though the store lists them without', () => {
    const etags = ['0123abcd-2', '&quot;quoted&quot;', 'W/&quot;weak&quot;', ''];
    const read = ['"0123abcd-2"', '"quoted"', 'W/"weak"', ''];
    for (const order of orders) expect(etagsOf(etags.map(written), order)).toEqual(read);
  });

  it('are read of every entry of a page that is longer than usual', () => {
    const etags = Array.from({ length: 2500 }, (_, index) => `"${index}"`);
    expect(etagsOf(etags.map(written), 'aws')).toEqual(etags);
  });

  it('are empty if there are none, and the entries around are read', () => {
    const good = written('"a"');
    for (const order of orders) {
      for (const none of ['', '<ETag/>', '<ETag></ETag>'])
        expect(etagsOf([good, none, good, none, none, good], order)).toEqual([
          '"a"',
          '',
          '"a"',
          '',
          '',
          '"a"',
        ]);
    }
  });

  it('are not those of the next entry, wherever the previous one had it', () => {
    for (let length = 1; length < 400; length += 1) {
      const objects = ['k'.repeat(length), 'short', 'next'].map((key) => ({ key, sizeBytes: 1 }));
      const etagOf = (index: number) => (index === 1 ? '' : written('&quot;a&quot;'));
      const page = readListPage(renderPage(objects, { etagOf }), [], { readsEtags: true });
      expect([page.keyCount, page.etagAt(0), page.etagAt(1), page.etagAt(2)]).toEqual([3, '"a"', '', '"a"']);
    }
  });
});

describe('the storage classes of keys', () => {
  const anyClass = fc.constantFrom('', '', 'STANDARD', 'STANDARD_IA', 'GLACIER', 'GLACIER_IR', 'X<');

  it('are read if they are asked for, in pieces of any length and with sizes of any', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anyClass, anySize), { maxLength: 40 }),
        fc.constantFrom(...orders),
        anyCuts,
        (entries, order, cuts) => {
          const objects = entries.map(([, sizeBytes], index) => ({ key: `p/${index}`, sizeBytes }));
          const name = (index: number) => entries[index]?.[0].replace('<', '') ?? '';
          const classOf = (index: number) =>
            name(index) === '' ? '' : `<StorageClass>${name(index)}</StorageClass>`;
          const body = renderPage(objects, { order, classOf });
          const page = readListPage(body, cuts, { readsClasses: true });
          expect(objects.map((_, index) => page.storageClassAt(index))).toEqual(
            objects.map((_, index) => name(index)),
          );
          expect(objects.map((_, index) => page.sizeAt(index))).toEqual(entries.map(([, size]) => size));
        },
      ),
    );
  });

  it('are read of more classes than any store has, and are empty if nobody asked', () => {
    const objects = hashPage(60, 1);
    const classOf = (index: number) => `<StorageClass>C${index % 40}</StorageClass>`;
    const page = readListPage(renderPage(objects, { classOf }), [], { readsClasses: true });
    expect(objects.map((_, index) => page.storageClassAt(index))).toEqual(
      objects.map((_, index) => `C${index % 40}`),
    );
    expect(() => page.storageClassAt(60)).toThrow(RangeError);
    expect(readListPage(renderPage(objects)).storageClassAt(0)).toBe('');
  });
});

describe('the suffixes of keys', () => {
  const suffixes = (keys: readonly string[]) => {
    const page = readListPage(renderPage(keys.map((key) => ({ key, sizeBytes: 1 }))));
    return keys.map((_, index) => page.suffixAt(index));
  };

  it.each([
    ['p/a.psd', '.psd'],
    ['p/a.PSD', '.psd'],
    ['p/a.tar.gz', '.gz'],
    ['a.b_c-1', '.b_c-1'],
    [`p/a.${'x'.repeat(15)}`, `.${'x'.repeat(15)}`],
    [`p/a.${'x'.repeat(16)}`, ''],
    ['p/ä.zip', '.zip'],
    ['p/a.zïp', ''],
    ['p/a.z p', ''],
    ['p/a.zip/', ''],
    ['p/a.', ''],
    ['p/a..', ''],
    ['p/.gitignore', ''],
    ['.env', ''],
    ['p.x/readme', ''],
    ['p/0123456789abcdef', ''],
  ])('of %s', (key, suffix) => {
    // Of the first key of a page, and of one behind another.
    expect(suffixes([key])).toEqual([suffix]);
    expect(suffixes(['o', key])).toEqual(['', suffix]);
    expect(suffixes(['n.psd', key])).toEqual(['.psd', suffix]);
  });

  it('are what a search in the decoded key finds', () => {
    fc.assert(
      fc.property(anyPage, (objects) => {
        const found = objects.map(
          ({ key }) => /[^/](\.[a-z0-9_-]{1,15})$/i.exec(key)?.[1]?.toLowerCase() ?? '',
        );
        expect(suffixes(objects.map(({ key }) => key))).toEqual(found);
      }),
    );
  });
});

describe('a page that is not complete is rejected', () => {
  // As few as have an entry that is expected where the one before it had it: each run reads them all.
  const objects = hashPage(8, 1);
  const body = renderPage(objects, { token: 'next' });

  it('cut off anywhere', () => {
    for (let length = 0; length < body.length; length += 1) {
      expect(() => readListPage(body.subarray(0, length))).toThrow(MalformedPageError);
    }
  });

  it('with any part missing, repeated or overwritten: never a wrong number', () => {
    const truth = {
      keyCount: objects.length,
      totalBytes: objects.reduce((sum, object) => sum + object.sizeBytes, 0),
    };
    const from = fc.nat(body.length - 1);
    const change = fc.oneof(
      fc.tuple(fc.constant('drop' as const), from, fc.integer({ min: 1, max: 2000 })),
      fc.tuple(fc.constant('double' as const), from, fc.integer({ min: 1, max: 2000 })),
      fc.tuple(fc.constant('overwrite' as const), from, fc.integer({ min: 1, max: 6 })),
    );
    fc.assert(
      fc.property(change, anyNoise, ([kind, start, length], noise) => {
        const end = Math.min(body.length, start + length);
        const middle = {
          drop: '',
          double: body.subarray(start, end),
          overwrite: noise.subarray(0, end - start),
        };
        const parts = kind === 'double' ? [body.subarray(0, end), middle.double] : [body.subarray(0, start)];
        const insert = kind === 'overwrite' ? [middle.overwrite] : [];
        const changed = Buffer.concat([...parts, ...insert, body.subarray(end)]);
        // No reader can detect a size with other digits than those sent.
        fc.pre(!differInDigitsOnly(body, changed));
        const read = tryRead(changed);
        if (read !== undefined) expect(read).toEqual(truth);
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    ['no KeyCount', /<KeyCount>8<\/KeyCount>/, ''],
    ['a wrong KeyCount', /<KeyCount>8/, '<KeyCount>9'],
    ['truncated without a token', /<NextContinuationToken>next<\/NextContinuationToken>/, ''],
    ['a token on the last page', /<IsTruncated>true/, '<IsTruncated>false'],
    ['an IsTruncated that is neither true nor false', /<IsTruncated>true/, '<IsTruncated>maybe'],
    ['an empty size', /<Size>\d+/, '<Size>'],
    ['a negative size', /<Size>\d+/, '<Size>-5'],
    ['a size above 2^53 − 1', /<Size>\d+/, '<Size>9007199254740993'],
    ['an entry without a size', /<Size>\d+<\/Size>/, ''],
    ['an entry with two sizes', /<Size>\d+<\/Size>/, '<Size>1</Size><Size>1</Size>'],
    ['an entry without a key', /<Key>[^<]*<\/Key>/, ''],
    ['another root element', /ListBucketResult xmlns/, 'ListBucketsResult xmlns'],
  ])('%s', (_, pattern, replacement) => {
    const changed = Buffer.from(body.toString().replace(pattern, replacement));
    expect(() => readListPage(changed)).toThrow(MalformedPageError);
  });

  it.each(['&#xd83d;', '&#xzz;', '&#;', '&#1e2;', '&#x110000;', '&uuml;', '&'])(
    'a token with %s, which is no character',
    (text) => {
      const changed = body.toString().replace('>next<', `>next${text}<`);
      expect(() => readListPage(Buffer.from(changed))).toThrow(MalformedPageError);
    },
  );

  it('a token that is not UTF-8, and, when it is read, a key', () => {
    const inLatin1 = (text: string) => Buffer.from(text, 'latin1');
    const text = body.toString();
    expect(() => readListPage(inLatin1(text.replace('>next<', '>\u00fc<')))).toThrow(/aren't UTF-8/);
    const page = readListPage(inLatin1(text.replace('<Key>p/', '<Key>\u00fc/')));
    expect(() => page.keyAt(0)).toThrow(/aren't UTF-8/);
    expect(page.keyAt(1)).toBe(objects[1]?.key);
  });

  it.each(['', '<Contents><Key>k</Key><Size>1</Size></Contents>'])(
    'a page without an end is not read on after %j',
    (start) => {
      const reader = new ListPageReader({ isPredicting: true });
      reader.write(Buffer.from(start));
      const mebibyte = Buffer.alloc(1024 ** 2, ' ');
      for (let count = 1; count < 16; count += 1) reader.write(mebibyte);
      expect(() => {
        reader.write(mebibyte);
        reader.write(mebibyte);
      }).toThrow(MalformedPageError);
    },
  );

  it('a key that cannot be decoded is rejected when it is read', () => {
    const page = readListPage(Buffer.from(body.toString().replace(/<Key>p\/.../, '<Key>p/%zz')));
    expect(() => page.keyAt(0)).toThrow(MalformedPageError);
    expect(page.keyAt(1)).toBe(objects[1]?.key);
  });
});

/** Reads a body in one piece, or cut at the given places. Retries without predictions like the listing. */
function readListPage(
  body: Buffer,
  cuts: readonly number[] = [],
  options: { readsTimes?: boolean; readsEtags?: boolean; readsClasses?: boolean } = {},
) {
  const places = [0, ...cuts.map((cut) => cut % (body.length + 1)).sort((a, b) => a - b), body.length];
  const read = (isPredicting: boolean) => {
    const reader = new ListPageReader({ ...options, isPredicting });
    for (const [index, place] of places.entries()) {
      const piece = Buffer.from(body.subarray(places[index - 1] ?? 0, place));
      reader.write(piece);
      // A connection reads the next piece into the same buffer.
      piece.fill('</Contents>');
    }
    return reader.end();
  };
  try {
    return read(true);
  } catch (error) {
    if (error instanceof KeyCountError) return read(false);
    throw error;
  }
}

/** True if only digits of sizes differ. */
function differInDigitsOnly(a: Buffer, b: Buffer): boolean {
  const [first, second] = [a, b].map((body) => body.toString('latin1').replace(/<Size>\d+</g, '<Size><'));
  return first === second;
}

function tryRead(body: Buffer): { keyCount: number; totalBytes: number } | undefined {
  try {
    const { keyCount, totalBytes } = readListPage(body);
    return { keyCount, totalBytes };
  } catch (error) {
    if (error instanceof MalformedPageError) return undefined;
    throw error;
  }
}

describe('the beginning of an answer', () => {
  const list = '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name>';
  const declared = '<?xml version="1.0" encoding="UTF-8"?>';
  const failures = (text: string) =>
    [readListPage, (bytes: Buffer) => read(bytes.toString(), 4096)].map((reading) => {
      try {
        return reading(Buffer.from(text));
      } catch (error) {
        return error;
      }
    });

  it.each([
    ['nothing else', list],
    ['a declaration', `${declared}\n${list}`],
    ['a byte order mark', `\ufeff${declared}${list}`],
    ['comments', `${declared}<!-- <html> -->\n<!---->${list}`],
    ['white space', `\r\n\t ${list}`],
    ['a style sheet', `${declared}<?xml-stylesheet href="x"?>${list}`],
    ['a prefix', list.replace('<', '<s3:')],
    ['entries', `${list}<Contents><Key>a</Key>`],
    ['an error', `${declared}<Error><Message>`],
    ['an error with a code', `${declared}<Error><Code>InternalError</Code>`],
  ])('with %s is that of a list, wherever it is cut off', (what, text) => {
    // Of a prefix nothing can be told before its colon.
    const least = what === 'a prefix' ? text.indexOf(':') + 1 : 0;
    for (let length = least; length <= text.length; length += 1)
      for (const error of failures(text.slice(0, length))) {
        expect(error).toBeInstanceOf(MalformedPageError);
        expect(error).not.toBeInstanceOf(OtherProtocolError);
      }
  });

  it.each([
    '<!DOCTYPE html>',
    '<html><Error><Code>x</Code></Error></html>',
    `${declared}<rss>`,
    '{}',
    '[]',
    'OK',
    '\u0000',
    '<x:html>',
    '\ufffd',
    '<ListVersionsResult><Contents><Key>a</Key><Size>1</Size></Contents></ListVersionsResult>',
  ])('%j is of another protocol', (text) => {
    for (const error of failures(text)) expect(error).toBeInstanceOf(OtherProtocolError);
  });

  it.each([new ListPageReader({ isPredicting: true }), folderPageReader()])(
    'of another protocol is told by a page without an end, too',
    (reader) => {
      const mebibyte = Buffer.alloc(1024 ** 2, '<html>');
      for (let count = 1; count <= 16; count += 1) reader.write(mebibyte);
      expect(() => reader.write(mebibyte)).toThrow(OtherProtocolError);
    },
  );
});
