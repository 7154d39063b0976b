/**
 * Prices in US dollars: on demand, first price tier, no free tier. Copied from public price lists on the day of
 * {@link pricesAsOf}. Recheck them before quoting.
 */
export const pricesAsOf = '2026-11-21';

const perMillion = (dollars: number) => dollars / 1e6;

/** Prices of an object store, per request and per byte. Deletes and bytes in are free on both. */
interface StorePrices {
  /** PUT and LIST. R2 calls them class A. */
  readonly putOrList: number;
  /** GET and HEAD. R2 calls them class B. */
  readonly getOrHead: number;
  /** A GB (10⁹ bytes) stored for a month, in the class for frequent access. */
  readonly storedGbMonth: number;
  /** A GB that clients on the internet get. */
  readonly gbToInternet: number;
}

export const s3Prices: StorePrices = {
  putOrList: perMillion(5),
  getOrHead: perMillion(0.4),
  storedGbMonth: 0.023,
  gbToInternet: 0.09,
};
export const r2Prices: StorePrices = {
  putOrList: perMillion(4.5),
  getOrHead: perMillion(0.36),
  storedGbMonth: 0.015,
  gbToInternet: 0,
};

/** Prices of AWS in us-east-1. */
export const cloudPrices = {
  lambdaGbSecondArm64: 0.0000133334,
  lambdaRequest: perMillion(0.2),
  /** A write of up to 1 KB. */
  tableWriteUnit: perMillion(0.625),
  /** A strongly consistent read of up to 4 KB. An eventually consistent one is half a unit. */
  tableReadUnit: perMillion(0.125),
  httpApiRequest: perMillion(1),
  /** A send, receive or delete of up to 64 KB. Deduplicated sends and empty receives count, too. */
  fifoQueueRequest: perMillion(0.5),
  /** The same for a standard queue. */
  queueRequest: perMillion(0.4),
  schedulerInvocation: perMillion(1),
  logGb: 0.5,
  /** An alarm on one metric at standard resolution. */
  alarmMonth: 0.1,
  /** A custom metric. AWS's own are free. */
  metricMonth: 0.3,
  dashboardMonth: 3,
  secretMonth: 0.4,
};
