import { expect, it } from 'vitest';
import {
  r2Limits,
  s3Limits,
  storeKindOf,
  storeKinds,
} from '../../../../../../lambda/core/store/rules/store-kind.ts';

it.each([
  ['https://s3.eu-west-1.amazonaws.com', null, 's3'],
  ['https://account.r2.cloudflarestorage.com', true, 'r2'],
  ['https://account.r2.cloudflarestorage.com', null, 'r2'],
  ['https://minio.example.org', true, 'grid'],
  ['https://s3.eu-west-1.amazonaws.com', false, 'stream'],
  ['https://account.r2.cloudflarestorage.com', false, 'stream'],
  ['https://minio.example.org', false, 'stream'],
])(
  'a test of a store says more than its address whether it copies parts: %s, %s',
  (endpoint, copies, kind) => {
    expect(storeKindOf(endpoint, copies)).toBe(kind);
    expect(storeKinds).toContain(kind);
  },
);

it.each([s3Limits, r2Limits])('the largest object has no more parts than a store takes: %j', (limits) => {
  expect(limits.partsMax * limits.partBytesMax).toBeGreaterThanOrEqual(limits.objectBytesMax);
});
