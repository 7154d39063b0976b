import { expect, it } from 'vitest';
import { byteCost } from '../../../cost/byte-cost.ts';
import { defaultWorkload } from '../../../cost/workload.ts';

it('bytes cost what is stored, and on S3 what is fetched', () => {
  const workload = {
    ...defaultWorkload,
    tenants: 10,
    objectsPerTenant: 1000,
    fetchesPerTenant: 5,
    objectsPerFetch: 200,
    // A GB a thousand objects.
    objectMb: 1e6 / 1024 ** 2,
  };
  expect(byteCost(workload, 's3')).toEqual({
    storedGb: expect.closeTo(10, 9),
    fetchedGb: expect.closeTo(10, 9),
    stored: expect.closeTo(0.23, 9),
    fetched: expect.closeTo(0.9, 9),
  });
  expect(byteCost(workload, 'r2')).toMatchObject({ stored: expect.closeTo(0.15, 9), fetched: 0 });
});
