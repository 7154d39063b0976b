import type { ClientRequest } from '../../operation.ts';

export const uploadBatch = {
  what: 'push: batch',
  per: 'push',
  function: 'lfsBatch',
  reads: 4,
  writes: 8,
  heads: 20,
  sends: 1,
  waitMs: 70,
  objects: 20,
} as const satisfies ClientRequest;

export const verify = {
  what: 'push: verify',
  per: 'verify',
  function: 'lfsVerify',
  reads: 1,
  heads: 1,
  sends: 1,
  waitMs: 40,
  objects: 1,
} as const satisfies ClientRequest;

export const downloadBatch = {
  what: 'fetch: batch',
  per: 'fetch',
  function: 'lfsBatch',
  reads: 3,
  writes: 3,
  heads: 20,
  waitMs: 60,
  objects: 20,
} as const satisfies ClientRequest;

/** A download without a token, of a repo that isn't public. */
export const withoutToken = {
  what: 'flood: batch',
  per: 'nothing',
  function: 'lfsBatch',
  reads: 2,
  waitMs: 10,
} as const satisfies ClientRequest;
