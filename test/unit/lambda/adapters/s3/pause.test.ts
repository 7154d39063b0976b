import { expect, it } from 'vitest';
import { pause } from '../../../../../lambda/adapters/s3/pause.ts';

it.each([
  ['it is stopped', (stop: AbortController) => setTimeout(() => stop.abort(), 5)],
  ['it was stopped before', (stop: AbortController) => stop.abort()],
])('a pause ends early if %s', async (_, act) => {
  const stop = new AbortController();
  act(stop);
  const startedMs = performance.now();
  await pause(60_000, stop.signal);
  expect(performance.now() - startedMs).toBeLessThan(30_000);
});
