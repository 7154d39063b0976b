import { expect, it } from 'vitest';
import { createDynamoDbCopies } from '../../../../../lambda/subjects/downloads/copy-store.ts';
import { memoryTable } from '../../../../support/memory/table.ts';

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

it('tells what is being copied and what failed, until that is copied', async () => {
  const copies = createDynamoDbCopies(memoryTable());
  const place = { tenant: 'acme', repo: 'game' };
  const [made, failed, waiting] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [
    string,
    string,
    string,
  ];
  const times = { nowMs: 1000, untilMs: 1100 };
  for (const oid of [made, failed, waiting]) await copies.claim({ ...place, ...times, oid });
  await copies.end({ ...place, oid: made, failed: undefined });
  await copies.end({ ...place, oid: failed, failed: 'store-400' });
  // A message of an earlier version has no note.
  await copies.end({ ...place, oid: 'd'.repeat(64), failed: 'expired' });
  const notes = [
    { oid: failed, untilMs: 1100, failed: 'store-400' },
    { oid: waiting, untilMs: 1100, failed: null },
  ];
  expect(await copies.list({ ...place, countMax: 10 })).toEqual(notes);
  expect(await copies.list({ ...place, countMax: 1 })).toEqual(notes.slice(0, 1));
  expect(await copies.list({ ...place, repo: 'film', countMax: 10 })).toEqual([]);
  const found = await copies.find({ ...place, oids: [made, waiting, failed] });
  expect([...found.values()].sort((a, b) => (a.oid < b.oid ? -1 : 1))).toEqual(notes);
});

it('lets what failed be copied at once by whoever wants that, and nobody else', async () => {
  const copies = createDynamoDbCopies(memoryTable());
  const of = { tenant: 'acme', repo: 'game', oid: 'a'.repeat(64), nowMs: 1000, untilMs: 1100 };
  await copies.claim(of);
  expect(await copies.claim({ ...of, isAgain: true })).toBe(false);
  await copies.end({ ...of, failed: 'expired' });
  expect(await copies.claim(of)).toBe(false);
  expect(await copies.claim({ ...of, isAgain: true })).toBe(true);
  expect((await copies.find({ ...of, oids: [of.oid] })).get(of.oid)?.failed).toBeNull();
});
