import { expect, it } from 'vitest';
import { createDynamoDbCopies } from '../../../../lambda/downloads/copy-store.ts';
import { memoryTable } from '../../../support/memory/table.ts';

it('lets one of many copy an object, and another once that has expired', async () => {
  const copies = createDynamoDbCopies(memoryTable());
  const of = { tenant: 'acme', repo: 'game', oid: 'a'.repeat(64) };
  const claim = (nowMs: number, more = {}) => copies.claim({ ...of, nowMs, untilMs: nowMs + 100, ...more });
  const claimed = await Promise.all([1, 2, 3].map(() => claim(1000)));
  expect(claimed.filter(Boolean)).toHaveLength(1);
  expect(await claim(1100)).toBe(false);
  expect(await claim(1101)).toBe(true);
  expect(await claim(1101)).toBe(false);
  for (const other of [{ tenant: 'umbrella' }, { repo: 'film' }, { oid: 'b'.repeat(64) }])
    expect(await claim(1101, other)).toBe(true);
});
