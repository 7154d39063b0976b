import { expect, it } from 'vitest';
import { decodeShardRequest } from '../../../../lambda/events/shard-request.ts';

const request = {
  prefix: 'acme/app/',
  after: null,
  last: '1',
  objectsExpected: 1_000_000,
  lookFor: ['0'.repeat(64)],
  recentSinceMs: -5,
  recentMax: 50_000,
  concurrency: 32,
  timeLimitMs: 30_000,
};

it('a request is read as it was sent', () => {
  expect(decodeShardRequest(request)).toEqual(request);
  const withCause = { ...request, correlationId: 'message-1' };
  expect(decodeShardRequest(withCause)).toEqual(withCause);
  expect(decodeShardRequest({ ...request, correlationId: 'a line\nof a log' })).toMatchObject(request);
});

it.each([
  ['nothing', undefined],
  ['a path that is no folder', { ...request, prefix: 'acme/app' }],
  ['no range', { ...request, last: undefined }],
  ['what a newer version asks', { ...request, storageClass: 'x' }],
  ['no time', { ...request, timeLimitMs: 0 }],
  ['part of a millisecond', { ...request, timeLimitMs: 1.5 }],
  ['too many names', { ...request, lookFor: Array(20_001).fill('0') }],
  ['too many pages at a time', { ...request, concurrency: 513 }],
])('%s is no request', (_what, event) => {
  expect(decodeShardRequest(event)).toBeUndefined();
});
