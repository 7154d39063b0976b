import { expect, it } from 'vitest';
import { dayAfterMs, dayOf, isDay, monthOf, nextMonthMs } from '../../../../lambda/domain/calendar.ts';

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
