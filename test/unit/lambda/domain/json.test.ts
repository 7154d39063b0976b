import { expect, it } from 'vitest';
import { parseJson } from '../../../../lambda/domain/json.ts';

it('what is no JSON has no value, and is no error', () => {
  expect(parseJson('{"a":[1,null]}')).toEqual({ a: [1, null] });
  for (const text of ['', '{', 'undefined', '{"a":1}x']) expect(parseJson(text)).toBeUndefined();
});
