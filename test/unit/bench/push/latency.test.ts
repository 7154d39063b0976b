import { expect, it } from 'vitest';
import { latenciesOf, storeLatencyMs } from '../../../../bench/push/latency.ts';

it.each([
  ['PUT', '/b/k?X-Amz-Signature=0', 30],
  ['GET', '/b/k?X-Amz-Signature=0', 30],
  ['HEAD', '/b/k', 20],
  ['PUT', '/b/k', 20],
  ['GET', '/b?list-type=2', 100],
])('%s %s waits for %d ms', (method, target, expected) => {
  expect(storeLatencyMs(latenciesOf.on, { method, target })).toBe(expected);
  expect(storeLatencyMs(latenciesOf.off, { method, target })).toBe(0);
});
