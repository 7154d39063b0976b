import { expect, it } from 'vitest';
import {
  dayAfter,
  dayAfterMs,
  dayOf,
  daysBetween,
  isDay,
  monthOf,
  nextMonthMs,
  startOfDayMs,
} from '../../../../../lambda/core/rules/dates.ts';

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
