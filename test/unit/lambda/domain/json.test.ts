import { expect, it } from 'vitest';
import { hasPrototypeField, parseJson } from '../../../../lambda/domain/json.ts';

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
