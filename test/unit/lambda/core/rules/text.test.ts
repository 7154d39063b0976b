import { describe, expect, it } from 'vitest';
import {
  errorChain,
  hasPrototypeField,
  isPlainText,
  parseJson,
  plainText,
  redactText,
  thrownAt,
} from '../../../../../lambda/core/rules/text.ts';

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
