import { expect, it } from 'vitest';
import { defaultSettings } from '../../../../lambda/core/rules/settings.ts';
import { inState, newUpload } from '../../../../lambda/subjects/chunks/rules/upload.ts';
import { resume } from '../../../../local/chunks/queues.ts';
import { memoryDeps } from '../../../support/memory/deps.ts';

const path = { tenant: 'acme', repo: 'game', oid: 'a'.repeat(64), upload: 'b'.repeat(32) };

it.each([
  [true, 'open'],
  [false, 'assembling'],
])('what an earlier process was assembling, if no other may be at it (%s), is %s', async (isAlone, state) => {
  const { chunkedUploads } = memoryDeps();
  const upload = newUpload(defaultSettings, { ...path, sizeBytes: 10 ** 10, madeBy: 'ada', nowMs: 1 });
  await chunkedUploads.put(inState(upload, 'assembling', 2));
  await resume({ chunkedUploads }, isAlone);
  expect((await chunkedUploads.read(path))?.state).toBe(state);
});
