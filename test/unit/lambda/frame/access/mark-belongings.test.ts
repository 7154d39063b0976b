import { expect, it } from 'vitest';
import { markBelongings, type RepoMarks } from '../../../../../lambda/frame/access/repo-mark-store.ts';
import type { RepoMark } from '../../../../../lambda/frame/access/rules/repo-mark.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';

it('a mark of a repo ends when its repo is closed, its tenant is, or its name is used again', async () => {
  const marked = new Map(['app', 'web', 'doc'].map((repo) => [repo, { repo, sinceMs: 1 }]));
  const ends: object[] = [];
  const marks = {
    find: async ({ repo }) => marked.get(repo),
    list: async () => [...marked.values()],
    put: async () => undefined,
    end: async (input) => {
      ends.push(input);
      const mark = marked.get(input.repo);
      marked.delete(input.repo);
      return mark;
    },
  } satisfies RepoMarks<RepoMark>;
  const clock = new ManualClock();
  const belongings = markBelongings(marks, clock);
  const path = (repo: string) => ({ tenant: 'acme', repo });
  expect([await belongings.knows(path('app')), await belongings.knows(path('no'))]).toEqual([true, false]);
  await belongings.closeRepo(path('app'));
  expect(await belongings.forgetRepo({ ...path('web'), untilMs: clock.nowMs() })).toBe('done');
  await belongings.closeTenant('acme');
  const atMs = clock.nowMs();
  expect(ends).toEqual(['app', 'web', 'doc'].map((repo) => ({ ...path(repo), atMs })));
  expect(await belongings.knows(path('app'))).toBe(false);
});
