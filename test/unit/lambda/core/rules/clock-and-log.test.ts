import { expect, it } from 'vitest';
import { causeOf, isCorrelationId } from '../../../../../lambda/core/rules/clock-and-log.ts';

it('the cause of a reconcile is its message if the message names none; outside of any invocation there is none', () => {
  expect(causeOf({ messageId: 'm' })).toBe('m');
  expect(causeOf({ messageId: 'm', correlationId: 'r' })).toBe('r');
  expect(causeOf({ requestId: 'r', functionRequestId: 'f' })).toBe('r');
  expect(causeOf({})).toBeUndefined();
});

it.each(['JKJaXmPLvHcESHA=', 'bc2f4b1c-7d36-4a2e-93a5-0d6d6ac0e9d1'])('a correlation id may be %s', (id) => {
  expect(isCorrelationId(id)).toBe(true);
});

it.each([
  ['nothing', ''],
  ['what begins with another character', ' a'],
  ['what ends with one', 'a\n'],
  ['what has one within', 'a"b'],
  ['what is longer than 128 characters', 'a'.repeat(129)],
  ['no text', 7],
  ['a list with an id', ['a']],
])('%s is no correlation id, and so is kept out of the logs', (_, value) => {
  expect(isCorrelationId(value)).toBe(false);
});

it('a correlation id may have 128 characters', () => {
  expect(isCorrelationId('a'.repeat(128))).toBe(true);
});
