import { describe, expect, it } from 'vitest';
import { requestDollars } from '../../../../bench/push/dollars.ts';
import { tallyApi, tallyStore, total } from '../../../../bench/push/tally.ts';

const signed = 'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0123';

const apiRequests = [
  { method: 'POST', target: '/bench/repo/info/lfs/objects/batch', status: 401 },
  { method: 'POST', target: '/bench/repo/info/lfs/objects/batch', status: 200 },
  { method: 'POST', target: '/bench/repo.git/info/lfs/verify', status: 200 },
  { method: 'POST', target: '/bench/repo.git/info/lfs/objects/storage/verify', status: 403 },
  { method: 'POST', target: '/bench/repo/info/lfs/locks/verify', status: 404 },
  { method: 'PUT', target: '/api/bench/repo/object/abc', status: 200 },
  { method: 'GET', target: '/api/bench/repo/object/abc', status: 200 },
  { method: 'DELETE', target: '/', status: 500 },
];

const storeRequests = [
  { method: 'PUT', target: `/bench/t/r/abc?${signed}`, status: 200 },
  { method: 'GET', target: `/bench/t/r/abc?${signed}`, status: 206 },
  { method: 'HEAD', target: '/bench/t/r/abc', status: 404 },
  { method: 'HEAD', target: '/bench/t/r/abc', status: 200 },
  { method: 'GET', target: '/bench?list-type=2&prefix=t%2Fr%2F', status: 200 },
  { method: 'GET', target: '/bench/?list-type=2', status: 503 },
  { method: 'POST', target: '/bench/t/r/abc?uploads', status: 200 },
  { method: 'PUT', target: '/bench/t/r/abc?partNumber=1&uploadId=x', status: 200 },
  { method: 'GET', target: '/bench/t/r/abc', status: 200 },
  { method: 'DELETE', target: '/bench/t/r/abc', status: 204 },
];

describe('the requests that a door saw', () => {
  it('to an API, by kind', () => {
    const { counts, failures } = tallyApi(apiRequests);
    expect(counts).toEqual({ batch: 1, unauthorized: 1, verify: 2, locks: 1, transfer: 2, other: 1 });
    // Missing credentials and missing locks are no failures.
    expect(failures).toBe(2);
    expect(total(counts)).toBe(apiRequests.length);
  });

  it('to a store, by kind: signed URLs are the client’s', () => {
    const { counts, failures } = tallyStore(storeRequests);
    expect(counts).toEqual({
      clientPut: 1,
      clientGet: 1,
      serverHead: 2,
      serverList: 2,
      serverPut: 2,
      serverGet: 1,
      serverDelete: 1,
    });
    expect(failures).toBe(1);
  });

  it('have kinds with a count of 0, too', () => {
    expect(total(tallyApi([]).counts)).toBe(0);
    expect(Object.keys(tallyStore([]).counts)).toHaveLength(7);
  });
});

describe('the price of the requests', () => {
  it('is that of S3, and of an HTTP API with Lambda and a FIFO queue', () => {
    const dollars = requestDollars({
      api: tallyApi(apiRequests),
      store: tallyStore(storeRequests),
      queueSends: 3,
    });
    // PUT, POST and LIST at 5 $ a million; GET and HEAD at 0.4. A delete is free.
    expect(dollars.store * 1e6).toBeCloseTo(5 * 5 + 4 * 0.4, 9);
    // A request to the API 1 $ a million, its function 0.2, a send 0.5.
    expect(dollars.api * 1e6).toBeCloseTo(8 * 1.2 + 3 * 0.5, 9);
  });
});
