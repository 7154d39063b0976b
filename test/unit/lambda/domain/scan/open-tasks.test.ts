import { expect, it } from 'vitest';
import { OpenTasks } from '../../../../../lambda/domain/scan/open-tasks.ts';
import type { PageTask } from '../../../../../lambda/domain/scan/page-task.ts';

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
