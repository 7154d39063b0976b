import { r2Prices, s3Prices } from './prices.ts';
import type { Workload } from './workload.ts';

/** What the bytes of a workload cost in a month, on one store. */
export interface ByteCost {
  /** GB (10⁹ bytes) at rest. */
  readonly storedGb: number;
  /** GB that clients fetch. */
  readonly fetchedGb: number;
  /** Dollars. */
  readonly stored: number;
  readonly fetched: number;
}

/**
 * Dollars a month for the bytes that are stored and fetched, at the first price tier. Which store is cheaper hangs on
 * them, not on requests. All clients are on the internet. What is pushed during the month is not added to what is
 * stored.
 */
export function byteCost(workload: Workload, store: 's3' | 'r2'): ByteCost {
  const prices = store === 's3' ? s3Prices : r2Prices;
  const objectGb = (workload.objectMb * 1024 ** 2) / 1e9;
  const storedGb = workload.tenants * workload.objectsPerTenant * objectGb;
  const fetchedGb = workload.tenants * workload.fetchesPerTenant * workload.objectsPerFetch * objectGb;
  return {
    storedGb,
    fetchedGb,
    stored: storedGb * prices.storedGbMonth,
    fetched: fetchedGb * prices.gbToInternet,
  };
}
