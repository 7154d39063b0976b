import { expect, it } from 'vitest';
import { painter } from '../../../../cli/colour.ts';
import { renderCleanup } from '../../../../cli/gc/views.ts';
import type { CleanupBody } from '../../../../lambda/http/management/cleanups/schemas.ts';

const sum = (objectCount: number) => ({ objectCount, bytes: objectCount * 1024 });
const found = {
  stored: sum(3),
  kept: sum(1),
  inUse: sum(0),
  young: sum(0),
  candidates: sum(2),
  isMoreThanHalf: false,
  largest: [],
  lists: [],
};
const body: CleanupBody = {
  tenant: 'acme',
  repo: 'game',
  state: 'watching',
  openedAt: '2026-11-20T05:00:00Z',
  endedAt: null,
  snapshotFrom: '2026-11-21T05:00:00Z',
  watchEndsAt: '2026-11-27T05:00:00Z',
  mayRun: true,
  run: {
    requestedAt: '2026-11-21T05:00:00Z',
    dryRun: true,
    force: false,
    minAgeDays: 7,
    keepSetObjects: 1,
  },
  found,
  deleted: sum(0),
  failure: null,
};
const linesOf = (more: Partial<CleanupBody>) =>
  renderCleanup(
    { ...body, ...more },
    { nowMs: Date.parse('2026-11-21T04:00:00Z'), width: undefined, paint: painter({}, false) },
  )
    .trimEnd()
    .split('\n');

it.each<[string, Partial<CleanupBody>, string]>([
  [
    'not yet',
    { mayRun: false, run: null, found: null },
    'Pushes note what they name. Run it in 60 min: lfs-quota gc run acme game --clone DIR',
  ],
  ['now', { run: null, found: null }, 'Run it: lfs-quota gc run acme game --clone DIR'],
  ['found', {}, 'Nothing was deleted. To delete: lfs-quota gc run acme game --clone DIR --delete'],
  [
    'much found',
    { found: { ...found, isMoreThanHalf: true } },
    'Nothing was deleted. To delete: lfs-quota gc run acme game --clone DIR --delete --force',
  ],
  [
    'only what was just uploaded',
    {
      found: { ...found, candidates: sum(0), reserved: { ...sum(6), until: '2026-11-21T04:40:00Z' } },
    },
    'Nothing to delete yet: 6 objects can be uploaded again until 04:40 UTC. Run it again in 40 min: lfs-quota gc run acme game --clone DIR',
  ],
  [
    'nothing found',
    { found: { ...found, candidates: sum(0) } },
    'Nothing to delete. To finish: lfs-quota gc cancel acme game',
  ],
  [
    'deleted, but for what was just uploaded',
    {
      state: 'done',
      found: { ...found, reserved: { ...sum(6), until: '2026-11-21T04:40:00Z' } },
    },
    '6 objects can be uploaded again until 04:40 UTC. To delete the rest later: lfs-quota gc open acme game',
  ],
  [
    'refused',
    { failure: { reason: 'too-much', message: 'More than half.' } },
    'Nothing was deleted: More than half.',
  ],
  [
    'failed after some were deleted',
    { deleted: sum(1), failure: { reason: 'no-candidates', message: 'Run it again.' } },
    'It stopped before everything was deleted: Run it again.',
  ],
  ['deleting', { state: 'deleting' }, 'It goes on by itself: lfs-quota gc status acme game'],
])('a clean-up says what comes next: %s', (_, more, line) => {
  expect(linesOf(more).at(-1)).toBe(line);
});

it.each<[string | undefined, Partial<CleanupBody>]>([
  ['deleted                1 object, 1 KiB', { deleted: sum(1) }],
  [undefined, {}],
])('a clean-up that failed says what was deleted: %s', (line, more) => {
  const run = body.run && { ...body.run, dryRun: false };
  const failure = { reason: 'no-candidates', message: 'Run it again.' } as const;
  expect(linesOf({ run, failure, ...more }).find((each) => each.startsWith('deleted'))).toBe(line);
});
