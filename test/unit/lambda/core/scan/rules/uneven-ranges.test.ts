import { describe, expect, it } from 'vitest';
import { compareKeys } from '../../../../../../lambda/core/rules/names.ts';
import {
  CutBudget,
  type ListedNames,
  type OpenRange,
  OpenTasks,
  type PageTask,
  UnevenRanges,
} from '../../../../../../lambda/core/scan/rules/uneven-ranges.ts';

/** Cuts that are made after so many full pages, if each is made as soon as it is allowed. */
function cutsAfter(pages: number): number {
  const budget = new CutBudget();
  let cuts = 0;
  for (let page = 0; page < pages; page += 1) {
    budget.addFullPage();
    for (; budget.room > 0; cuts += 1) budget.spend(1);
  }
  return cuts;
}

it.each([
  [0, 0],
  [1, 0],
  [2, 1],
  [10, 3],
  [100, 25],
  [1000, 115],
])('after %i full pages %i cuts were allowed', (pages, cuts) => {
  expect(cutsAfter(pages)).toBe(cuts);
});

it('what else cost requests is taken from the cuts', () => {
  const budget = new CutBudget();
  for (let page = 0; page < 10; page += 1) budget.addFullPage();
  budget.spend(2.5);
  expect(budget.room).toBe(0);
  budget.spend(5);
  expect(budget.room).toBeLessThan(0);
});

const task = (after: string, span?: number): PageTask => ({
  range: { after, last: null },
  pages: 1,
  keysMax: 1000,
  ...(span !== undefined && { span }),
});
const [a, b, c] = [task('a', 3), task('b', 1), task('c')];

/** Two requests at a time; a and b run, c waits. */
function started(): OpenTasks {
  const tasks = new OpenTasks(2);
  for (const each of [a, b, c]) tasks.add(each);
  expect([tasks.take(), tasks.take()]).toEqual([a, b]);
  return tasks;
}

it('are taken in their order, and no more of them than requests may run', () => {
  const tasks = started();
  expect(tasks.take()).toBeUndefined();
  expect(tasks.waitingCount).toBe(1);
  tasks.end(a);
  expect(tasks.take()).toBe(c);
  for (const each of [b, c]) tasks.end(each);
  expect([tasks.isEmpty, tasks.take()]).toEqual([true, undefined]);
});

it('are the next again if their page was not received', () => {
  const tasks = started();
  tasks.putBack(b);
  expect(tasks.take()).toBe(b);
});

it('leave room for what may be requested besides those that run and wait', () => {
  const tasks = new OpenTasks(3);
  expect(tasks.idle).toBe(3);
  tasks.add(a);
  tasks.add(b);
  tasks.take();
  expect(tasks.idle).toBe(1);
  tasks.end(a);
  expect(tasks.idle).toBe(2);
});

it('are not listed yet, whether they run or wait', () => {
  expect(started().ranges()).toEqual([a, b, c].map(({ range }) => range));
});

it('are compared by how much of the possible names they cover; one that tells nothing covers nothing', () => {
  const tasks = started();
  expect([0, 1, 3].map((span) => tasks.widerThan(span))).toEqual([2, 1, 0]);
});

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
