import { describe, expect, it } from 'vitest';
import {
  dayAfter,
  dayAfterMs,
  dayOf,
  daysBetween,
  errorChain,
  formatBytes,
  formatPercent,
  hasPrototypeField,
  isByteCount,
  isDay,
  isPlainText,
  monthOf,
  nextMonthMs,
  parseJson,
  parseSize,
  plainText,
  redactText,
  startOfDayMs,
  thrownAt,
} from '../../../../lambda/rules/text.ts';

const most = Number.MAX_SAFE_INTEGER;

describe('a size', () => {
  it.each([
    ['500000 B', 500_000],
    ['0.0', 0],
    ['0', 0],
    ['17b', 17],
    ['2kB', 2000],
    ['3 MB', 3e6],
    ['1.5 GB', 1.5e9],
    ['4TB', 4e12],
    ['5pb', 5e15],
    ['2KiB', 2048],
    ['10MiB', 10 * 1024 ** 2],
    ['1GiB', 1024 ** 3],
    ['1.25tib', 1.25 * 1024 ** 4],
    ['7PIB', 7 * 1024 ** 5],
    [' \t12 \t KB ', 12_000],
    ['0.4 B', 0],
    ['10.06b', 10],
    [`${most}B`, most],
  ])('%j is %i bytes', (text, bytes) => {
    expect(parseSize(text)).toEqual({ bytes });
  });

  it.each([
    '',
    'GiB',
    '-1',
    '+1',
    '1.',
    '.5',
    '1e3',
    '1,5 GB',
    '1 2',
    '1 GiB!',
    '1 EB',
    'x1',
    '1 K B',
    '8PiB',
  ])('is not what %j says', (text) => {
    expect(parseSize(text)).toEqual({ problem: 'Use a size below 8 PiB, such as 500MB, 1GiB or 1.5TiB.' });
  });

  it.each(['10', '1.5', '500000', ' 7 '])('needs a unit: %j has none', (text) => {
    const digits = text.trim();
    expect(parseSize(text)).toEqual({ problem: `"${digits}" has no unit. Did you mean ${digits}GiB?` });
  });

  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1 KiB'],
    [1536, '1.5 KiB'],
    [-1536, '-1.5 KiB'],
    [1024 ** 2 - 1, '1024 KiB'],
    [1024 ** 2, '1 MiB'],
    [1.239 * 1024 ** 3, '1.24 GiB'],
    [1024 ** 4, '1 TiB'],
    [most, '8 PiB'],
    [1024 ** 6, '1024 PiB'],
  ])('of %d bytes is shown as %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it('is a whole number from 0 up to which numbers are exact', () => {
    for (const value of [0, 1, most]) expect(isByteCount(value)).toBe(true);
    for (const value of [-1, 0.5, most + 1, Number.NaN, '1', null, undefined, 1n])
      expect(isByteCount(value)).toBe(false);
  });
});

describe('a share', () => {
  it.each([
    [0, 10, '0%'],
    [0, 0, '100%'],
    [1, 10_000, '0.1%'],
    [1, 2, '50.0%'],
    [9_999_999, 10_000_000, '99.9%'],
    [10, 10, '100%'],
    [10_000_001, 10_000_000, '100.1%'],
    [3, 2, '150.0%'],
    [1, 0, 'over 100%'],
  ])('of %i in %i is %s', (part, whole, text) => {
    expect(formatPercent(part, whole)).toBe(text);
  });
});

it.each([
  [Date.UTC(2026, 10, 21, 23, 59, 59, 999), '2026-11-21', '2026-11', '2026-12-01T00:00:00.000Z'],
  [Date.UTC(2026, 11, 31, 23, 59, 59, 999), '2026-12-31', '2026-12', '2027-01-01T00:00:00.000Z'],
  [Date.UTC(2027, 0, 1), '2027-01-01', '2027-01', '2027-02-01T00:00:00.000Z'],
  [Date.UTC(2028, 1, 29, 12), '2028-02-29', '2028-02', '2028-03-01T00:00:00.000Z'],
])('%d is on %s, in %s, and the next month begins on %s', (timeMs, day, month, next) => {
  expect([dayOf(timeMs), monthOf(timeMs), new Date(nextMonthMs(timeMs)).toISOString()]).toEqual([
    day,
    month,
    next,
  ]);
});

it.each([
  [Date.UTC(2026, 10, 21), '2026-11-22T00:00:00.000Z'],
  [Date.UTC(2026, 10, 21, 23, 59, 59, 999), '2026-11-22T00:00:00.000Z'],
  [Date.UTC(2026, 11, 31, 1), '2027-01-01T00:00:00.000Z'],
])('the day after %d begins on %s', (timeMs, next) => {
  expect(new Date(dayAfterMs(timeMs)).toISOString()).toBe(next);
});

it.each([
  ['2026-11-21', true],
  ['2028-02-29', true],
  ['2026-02-29', false],
  ['2026-11-31', false],
  ['2026-13-01', false],
  ['2026-1-1', false],
  ['today', false],
])('%s is a day: %s', (text, expected) => {
  expect(isDay(text)).toBe(expected);
});

it.each([
  ['2026-11-21', 1, '2026-11-22'],
  ['2026-11-21', -21, '2026-10-31'],
  ['2026-12-31', 60, '2027-03-01'],
  ['2026-11-21', 0, '2026-11-21'],
])('%s and %i days are %s, and so many are between them', (from, count, to) => {
  expect(dayAfter(from, count)).toBe(to);
  expect(daysBetween(from, to)).toBe(count);
});

it('a day begins at midnight UTC, and the next is one day later', () => {
  expect(startOfDayMs('2026-11-21')).toBe(Date.UTC(2026, 10, 21));
  expect(dayAfter('2026-11-30')).toBe('2026-12-01');
});

describe('an error in one line', () => {
  const nested = (depth: number): Error =>
    new Error(`level ${depth}`, depth > 1 ? { cause: nested(depth - 1) } : undefined);

  it('has the names and messages of its causes, the outermost first', () => {
    const error = new TypeError('outer', { cause: new RangeError('inner', { cause: 'a text' }) });
    expect(errorChain(error)).toBe('TypeError: outer < RangeError: inner < a text');
    expect(errorChain(7)).toBe('7');
    expect(errorChain(new Error('empty', { cause: null }))).toBe('Error: empty < null');
  });

  it('has five of them at most, also of an error that is its own cause', () => {
    expect(errorChain(nested(5)).split(' < ')).toHaveLength(5);
    expect(errorChain(nested(6)).split(' < ').at(-1)).toBe('Error: level 2');
    const circular = new Error('again');
    circular.cause = circular;
    expect(errorChain(circular).split(' < ')).toHaveLength(5);
  });
});

describe('where an error was thrown', () => {
  const withStack = (stack: string | undefined, cause?: unknown) =>
    Object.assign(new Error('outer', { cause }), { stack });

  it('is the first place in the stack of the innermost cause that has one', () => {
    const inner = withStack(
      'Error: look at this\n  looked at nothing\n    at inner (a.ts:1:2)\n    at b (b.ts:3:4)',
    );
    expect(thrownAt(withStack('Error: outer\n    at outer (o.ts:1:1)', inner))).toBe('at inner (a.ts:1:2)');
    expect(thrownAt(withStack('Error: outer\n    at outer (o.ts:1:1)', 'a text'))).toBe(
      'at outer (o.ts:1:1)',
    );
  });

  it('is unknown without a stack', () => {
    expect(thrownAt(withStack(undefined))).toBeUndefined();
    expect(thrownAt(withStack('Error: outer'))).toBeUndefined();
    expect(thrownAt('a text')).toBeUndefined();
  });
});

it('what is no JSON has no value, and is no error', () => {
  expect(parseJson('{"a":[1,null]}')).toEqual({ a: [1, null] });
  for (const text of ['', '{', 'undefined', '{"a":1}x']) expect(parseJson(text)).toBeUndefined();
});

it.each([
  ['{"__proto__":1}', true],
  ['{"a":[{"b":{"\\u005f_proto__":{}}}]}', true],
  ['[[],{"__proto__":null}]', true],
  ['{"a":"__proto__","b":[null,1,true,{}]}', false],
  ['[]', false],
  ['null', false],
  ['0', false],
  ['{"prototype":{},"constructor":{}}', false],
])('%s has a field that schemas drop: %s', (text, expected) => {
  expect(hasPrototypeField(parseJson(text))).toBe(expected);
});

it.each([
  '\u001b[31m',
  '\u0007',
  'a\nb',
  '\u009b',
  'a\u2028b',
  'a\u2029b',
  'a\u202eb',
  'a\u2066b',
  'a\u200fb',
  '\ufeffa',
  '\ud800',
  '\ue000',
  '\u{e0041}',
])('%j is not plain, and is shown without what hides', (text) => {
  expect(isPlainText(text)).toBe(false);
  expect(isPlainText(plainText(text))).toBe(true);
  expect(isPlainText(text)).toBe(false);
});

it.each([
  '',
  'Ada Lovelace',
  'repo:acme/game:ref:refs/heads/main',
  'Zoë',
  '日本語',
  'می\u200cخواهم',
  '👩\u200d💻',
])('%j is plain', (text) => {
  expect(isPlainText(text)).toBe(true);
  expect(plainText(text)).toBe(text);
});

it.each([
  [`a lfsq_${'a'.repeat(40)} b`, 'a lfsq_… b'],
  [`lfsv_${'B1'.repeat(10)}.`, 'lfsv_….'],
  ['https://s3.example/k?a=1&X-Amz-Signature=abc&b=2 then', 'https://s3.example/k?… then'],
  [`Authorization: Basic ${Buffer.from('any:password').toString('base64')}`, 'Authorization: Basic …'],
  ['bearer abcdefgh', 'bearer …'],
  [`whsec_${'aB3+/'.repeat(8)}== and`, 'whsec_… and'],
  ['whsec_12345678', 'whsec_…'],
  ['whsec_1234567', 'whsec_1234567'],
  ['lfsq_short, a Bearer of news', 'lfsq_short, a Bearer of news'],
  [
    'AWS4-HMAC-SHA256 Credential=AKIA/20261124/eu/s3/aws4_request, SignedHeaders=host, Signature=0af1.',
    'AWS4-HMAC-SHA256 Credential=…, SignedHeaders=host, Signature=…',
  ],
  ["'x-amz-security-token:IQoJb3JpZ2lu/+=' 'x-amz-date:1'", "'x-amz-security-token:…' 'x-amz-date:1'"],
  [
    'https://s3.example/k?X-Amz-Credential=AKIA%2F1&X-Amz-Security-Token=IQoJ',
    'https://s3.example/k?X-Amz-Credential=…&X-Amz-Security-Token=…',
  ],
])('of %j leaves %j', (text, redacted) => {
  expect(redactText(text)).toBe(redacted);
});
