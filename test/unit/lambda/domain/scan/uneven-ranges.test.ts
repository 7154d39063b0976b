import { describe, expect, it } from 'vitest';
import { compareKeys } from '../../../../../lambda/domain/key-order.ts';
import type { ListedNames } from '../../../../../lambda/domain/scan/alphabet.ts';
import { OpenTasks } from '../../../../../lambda/domain/scan/open-tasks.ts';
import type { OpenRange, PageTask } from '../../../../../lambda/domain/scan/page-task.ts';
import { UnevenRanges } from '../../../../../lambda/domain/scan/uneven-ranges.ts';

const listed = (names: readonly string[]): ListedNames => ({
  count: names.length,
  at: (index) => names[index] ?? '',
});
const photos = (from: number) =>
  listed(
    Array.from({ length: 1000 }, (_, index) => `2024/photo-${String(from + index).padStart(6, '0')}.jpg`),
  );
const whole: OpenRange = { after: null, last: null };
const first: PageTask = { range: whole, pages: 1, keysMax: 1000 };

/** The tasks that follow a first page, after as many full pages as allow for some cuts. */
function following(concurrency: number, fullPages: number): readonly PageTask[] {
  const tasks = new OpenTasks(concurrency);
  const uneven = new UnevenRanges(tasks);
  const names = photos(0);
  const rest = { after: names.at(999), last: null, folder: '2024/' };
  for (let page = 0; page < fullPages; page += 1)
    uneven.notePage(first, { keyCount: 1000, rest, names: photos(page * 1000) });
  expect(uneven.found).toBe(false);
  uneven.follow(first, rest, names);
  expect(uneven.found).toBe(true);
  const taken: PageTask[] = [];
  for (let task = tasks.take(); task !== undefined; task = tasks.take()) taken.push(task);
  return taken;
}

describe('a range of uneven names', () => {
  it('goes on whole as long as the budget allows no cut, and is known as uneven', () => {
    const [only, ...others] = following(8, 1);
    expect(others).toEqual([]);
    expect(only?.range).toEqual({ after: '2024/photo-000999.jpg', last: null, isUneven: true });
  });

  it('is cut in two that meet, with the budget of two full pages', () => {
    const [left, right, ...others] = following(8, 2);
    expect(others).toEqual([]);
    expect(left?.range).toMatchObject({
      after: '2024/photo-000999.jpg',
      last: right?.range.after,
      isUneven: true,
    });
    expect(right?.range).toMatchObject({ last: null, isUneven: true });
    expect(compareKeys(left?.range.after ?? '', left?.range.last ?? '')).toBeLessThan(0);
    expect(right?.cut?.name).toBe(right?.range.after);
    expect(right?.level).toBe(right?.cut?.level);
  });

  it('is not cut if no other request may run', () => {
    expect(following(1, 10)).toHaveLength(1);
  });

  it('is not cut if another is wider, and the budget allows for one cut only', () => {
    const tasks = new OpenTasks(8);
    const uneven = new UnevenRanges(tasks);
    tasks.add({ ...first, span: 1e9 });
    const names = photos(0);
    const rest = { after: names.at(999), last: null };
    for (let page = 0; page < 2; page += 1) uneven.notePage(first, { keyCount: 1000, rest, names });
    uneven.follow(first, rest, names);
    expect(tasks.waitingCount).toBe(2);
  });

  it('is not cut if requests elsewhere have used up the budget', () => {
    const tasks = new OpenTasks(8);
    const uneven = new UnevenRanges(tasks);
    const names = photos(0);
    const rest = { after: names.at(999), last: null };
    for (let page = 0; page < 2; page += 1) uneven.notePage(first, { keyCount: 1000, rest, names });
    uneven.spend(1);
    uneven.follow(first, rest, names);
    expect(tasks.waitingCount).toBe(1);
  });

  it('that comes after a folder of hashes begins behind the folder', () => {
    const tasks = new OpenTasks(8);
    const uneven = new UnevenRanges(tasks);
    uneven.followBeyond({ after: 'app0', last: null }, photos(0));
    expect(tasks.take()?.range).toEqual({ after: 'app0', last: null, isUneven: true });
    expect(uneven.found).toBe(true);
  });
});
