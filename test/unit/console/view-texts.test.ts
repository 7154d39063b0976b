import { expect, it } from 'vitest';
import { expiryText } from '../../../console/src/views/view-texts.ts';

const nowMs = Date.parse('2026-11-21T12:00:00Z');

it.each([
  [null, 'never expires', true],
  ['2026-11-21T12:00:00Z', 'expired', true],
  ['2026-12-05T12:00:00Z', 'in 14 days', true],
  ['2026-12-05T12:00:01Z', 'in 14 days', false],
  ['2027-02-19T12:00:00Z', 'in 90 days', false],
])('a token that expires at %s: %s, amber: %s', (expiresAt, text, isNear) => {
  expect(expiryText(expiresAt, nowMs)).toEqual({ text, isNear });
});
