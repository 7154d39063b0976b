import { expect, it } from 'vitest';
import type { ExportRequest } from '../../../../../lambda/subjects/exports/rules/job.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { memoryDeps } from '../../../../support/memory/deps.ts';
import { wholeTenant } from '../../../../support/subjects/exports/export-request.ts';
import { exportIdOf, putJob } from './export-world.ts';

const minute = 60_000;
const dayMs = 24 * 60 * minute;
const failed = { exportId: exportIdOf(1), tenant: 'acme' };

/** Whether an export that failed so long ago needs nothing any more. */
function isOver(deps: Deps, agoMs: number) {
  const nowMs = deps.clock.nowMs();
  const at = { atMs: nowMs - agoMs, sinceMs: nowMs - agoMs };
  const failure = { kind: 'export', ...failed, ...at, tries: 1, why: 'export' } as const;
  return deps.failureKinds.find(({ kind }) => kind === 'export')?.isOver(failure, nowMs);
}

it.each([
  ['a later one of its repo', 2, { repo: 'game' }, 'done', true],
  ['a later one, whose archive has expired', 2, { repo: 'game' }, 'expired', true],
  ['a later one of all repos', 2, { repo: null }, 'done', true],
  ['a later one of another repo', 2, { repo: 'other' }, 'done', false],
  ['a later one that is not done', 2, { repo: 'game' }, 'copying', false],
  ['a later one that failed', 2, { repo: 'game' }, 'failed', false],
  ['a later one that was a dry run', 2, { repo: 'game' }, 'explained', false],
  ['an earlier one', 0, { repo: 'game' }, 'done', false],
] as const)('a failed export beside %s', async (_, index, changes, state, expected) => {
  const deps = memoryDeps();
  const ofRepo = (more: Partial<ExportRequest>) => ({ ...wholeTenant, repo: 'game', ...more });
  await putJob(deps, { ...failed, request: ofRepo({}), state: 'failed' });
  await putJob(deps, { tenant: 'acme', exportId: exportIdOf(index), request: ofRepo(changes), state });
  expect(await isOver(deps, minute)).toBe(expected);
});

it.each([
  ['a day', dayMs, false],
  ['more than a day', dayMs + 1, true],
])('a failed export after %s', async (_, agoMs, expected) => {
  expect(await isOver(memoryDeps(), agoMs)).toBe(expected);
});
