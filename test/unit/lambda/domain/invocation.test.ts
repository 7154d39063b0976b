import { expect, it } from 'vitest';
import { causeOf, isCorrelationId } from '../../../../lambda/domain/invocation.ts';

it('the cause of a recount is its message if the message names none; outside of any invocation there is none', () => {
  expect(causeOf({ messageId: 'm' })).toBe('m');
  expect(causeOf({ messageId: 'm', correlationId: 'r' })).toBe('r');
  expect(causeOf({ requestId: 'r', functionRequestId: 'f' })).toBe('r');
  expect(causeOf({})).toBeUndefined();
});

it.each(['JKJaXmPLvHcESHA=', 'bc2f4b1c-7d36-4a2e-93a5-0d6d6ac0e9d1'])('a correlation id may be %s', (id) => {
  expect(isCorrelationId(id)).toBe(true);
});
