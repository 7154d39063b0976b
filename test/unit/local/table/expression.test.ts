import { expect, it } from 'vitest';
import { updated } from '../../../../local/table/expression.ts';

it('items have their attributes in one order, however they came by them', () => {
  const add = (before: Record<string, unknown>, name: string) =>
    updated('SET #name = :value', before, { names: { '#name': name }, values: { ':value': 1 } });
  const key = { pk: 'A', sk: 'B' };
  const orders = [
    ['w1', 'w2', 'day'],
    ['w2', 'day', 'w1'],
    ['day', 'w1', 'w2'],
  ];
  const items = orders.map((names) => names.reduce<Record<string, unknown>>(add, key));
  expect(new Set(items.map((item) => Object.keys(item).join(' ')))).toEqual(new Set(['day pk sk w1 w2']));
  expect(add({ w: 1, ['__proto__']: 2 }, 'a')).toEqual({ a: 1, w: 1, ['__proto__']: 2 });
});
