import { expect, it } from 'vitest';
import { byteHoursMonth, dayBytes, hourBytes } from '../../../../../cost/byte-hours.ts';
import { answer } from '../../../../../cost/command.ts';
import { createDynamoDbHistory } from '../../../../../lambda/subjects/history/history-store.ts';
import { hourMs } from '../../../../../lambda/subjects/history/rules/byte-hours.ts';
import { itemBytes } from '../../../../../local/table/items.ts';
import { memoryTable } from '../../../../support/memory/table.ts';

it('a day with all of its hours takes what is computed, give or take a tenth', async () => {
  const table = memoryTable();
  const sizes: number[] = [];
  table.store.watch(({ after }) => sizes.push(after ? itemBytes(after) : 0));
  const history = createDynamoDbHistory(table);
  for (let hour = 0; hour < 24; hour += 1) {
    const storedBytes = 123_456_789_012 + hour;
    const highest = { highestBytes: storedBytes, highestUsedBytes: storedBytes };
    const atMs = Date.UTC(2026, 10, 28) + hour * hourMs + 1_800_000;
    await history.note({
      tenant: 'acme-games',
      atMs,
      epoch: 100 + hour,
      storedBytes,
      objectCount: 4000,
      limitBytes: 2e11,
      ...highest,
    });
  }
  const computed = (hours: number) => dayBytes + hourBytes * hours;
  for (const hours of [1, 3, 24]) {
    expect(sizes[hours - 1]).toBeGreaterThan(0.9 * computed(hours));
    expect(sizes[hours - 1]).toBeLessThan(1.1 * computed(hours));
  }
});

it('a month of 10,000 tenants costs less than two dollars, whatever they do', () => {
  const dollars = (updates: number) =>
    Object.fromEntries(
      byteHoursMonth({ tenants: 10_000, updates }).map(([what, sum]) => [what, Number(sum.toFixed(2))]),
    );
  expect(dollars(90)).toEqual({
    'write: units above 1 KB': 0,
    'write: the first of a day reads the day before': 0.04,
    'store a month of days': 0.01,
    'read the month once': 0.03,
    'or read each hour': 1.82,
    'or write files: each hour is read, and': 0.36,
  });
  expect(dollars(720)['write: units above 1 KB']).toBe(4.5);
  expect(answer(['byte-hours'])).toContain('10,000 tenants, dollars a month');
  expect(answer(['byte-hours', '--tenants', '50'])).toContain('50 tenants');
  expect(answer(['--help'])).toContain('[scan|hosts|byte-hours]');
});
