import { describe, expect, it } from 'vitest';
import {
  absent,
  adding,
  aliasesIn,
  all,
  anyNamed,
  definedOf,
  exists,
  removing,
  removingKeys,
  setting,
  updateExpression,
} from '../../../../../lambda/core/table/expressions.ts';

describe('a clause of an update', () => {
  it('sets fields, defaults of those that are absent, and copies', () => {
    expect(setting({ a: 1, b: null, c: undefined }, { defaults: { d: 2 }, copies: { e: 'f' } })).toEqual({
      text: 'SET #a = :a, #b = :b, #d = if_not_exists(#d, :d), #e = #f',
      values: { ':a': 1, ':b': null, ':d': 2 },
    });
    expect(setting({ a: 1 })).toEqual({ text: 'SET #a = :a', values: { ':a': 1 } });
  });

  it('appends to lists, which begin if there are none', () => {
    expect(setting({ a: 1 }, { appends: { b: [{ c: 2 }], d: [] } })).toEqual({
      text: 'SET #a = :a, #b = list_append(if_not_exists(#b, :none), :b), #d = list_append(if_not_exists(#d, :none), :d)',
      values: { ':a': 1, ':b': [{ c: 2 }], ':d': [], ':none': [] },
    });
    // DynamoDB refuses a value that no expression uses.
    expect(setting({ a: 1 }, { appends: {} }).values).toEqual({ ':a': 1 });
  });

  it('has short aliases for attributes of any names', () => {
    const fields = anyNamed('limit', [
      ['limit.a b', 5],
      ['#:', { c: 6 }],
    ]);
    const keys = { '#limit0': 'limit.a b', '#limit1': '#:' };
    const values = { ':limit0': 5, ':limit1': { c: 6 } };
    expect(fields.setting()).toEqual({ text: 'SET #limit0=:limit0, #limit1=:limit1', values, keys });
    expect(fields.adding()).toEqual({ text: 'ADD #limit0 :limit0, #limit1 :limit1', values, keys });
    expect(fields.removing()).toEqual({ text: 'REMOVE #limit0, #limit1', keys });
  });

  it('adds to numbers', () => {
    expect(adding({ a: 1, b: -2 })).toEqual({ text: 'ADD #a :a, #b :b', values: { ':a': 1, ':b': -2 } });
  });

  it('removes attributes, and keys of a map by their place, whatever they are', () => {
    expect(removing('a', 'b')).toEqual({ text: 'REMOVE #a, #b' });
    expect(removingKeys('m', ['x.y', '#z'])).toEqual({
      text: 'REMOVE #m.#key0, #m.#key1',
      keys: { '#key0': 'x.y', '#key1': '#z' },
    });
  });

  it('is empty if it changes nothing', () => {
    const nothing = [setting({ a: undefined }), adding({}), removing(), removingKeys('m', [])];
    expect(nothing.map(({ text }) => text)).toEqual(['', '', '', '']);
    expect(updateExpression(nothing)).toBe('');
    expect(updateExpression([setting({ a: 1 }), adding({}), removing('b')])).toBe('SET #a = :a REMOVE #b');
  });
});

describe('an expression', () => {
  it('of conditions holds if all of them do', () => {
    expect(all('#a = :a', '#b < :b')).toBe('#a = :a AND #b < :b');
    expect(all('#a = :a')).toBe('#a = :a');
    expect([exists, absent]).toEqual(['attribute_exists(#pk)', 'attribute_not_exists(#pk)']);
  });

  it('has an alias for each attribute that it names', () => {
    expect(aliasesIn('SET #a = :a, #long1 = if_not_exists(#long1, :b)')).toEqual({
      '#a': 'a',
      '#long1': 'long1',
    });
    expect(aliasesIn('')).toEqual({});
  });

  it('of clauses has each keyword once, in the order in which they come', () => {
    const change = [
      setting({ a: 1 }),
      removing('b'),
      setting({ c: 2 }),
      adding({ d: 3 }),
      removing('e', 'f'),
    ];
    expect(updateExpression(change)).toBe('SET #a = :a, #c = :c REMOVE #b, #e, #f ADD #d :d');
  });

  it('has no value for what is undefined', () => {
    expect(definedOf({ a: undefined, b: null, c: 0, d: '' })).toEqual({ b: null, c: 0, d: '' });
  });
});
