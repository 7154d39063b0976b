/**
 * What the parts are sold for, in US dollars. On demand, first price tier, no free tier.
 * Copied from public price lists; {@link pricesAsOf} says when. Recheck before quoting.
 */
export const pricesAsOf = '2026-11-21';

const perMillion = (dollars: number) => dollars / 1e6;

/** Of an object store, per request. Deletes are free at both. */
export interface StorePrices {
  /** PUT and LIST; R2 calls them class A. */
  readonly putOrList: number;
  /** GET and HEAD; R2 calls them class B. */
  readonly getOrHead: number;
}

export const s3Prices: StorePrices = { putOrList: perMillion(5), getOrHead: perMillion(0.4) };
export const r2Prices: StorePrices = { putOrList: perMillion(4.5), getOrHead: perMillion(0.36) };

/** Of AWS in us-east-1. */
export interface CloudPrices {
  readonly lambdaGbSecondX86: number;
  readonly lambdaGbSecondArm64: number;
  readonly lambdaRequest: number;
  /** A write of up to 1 KB. */
  readonly tableWriteUnit: number;
  /** A strongly consistent read of up to 4 KB; an eventually consistent one is half a unit. */
  readonly tableReadUnit: number;
  readonly httpApiRequest: number;
  /** A send, a receive or a delete of up to 64 KB; deduplicated sends and empty receives too. */
  readonly fifoQueueRequest: number;
  /** The same of a queue without order. */
  readonly queueRequest: number;
  readonly schedulerInvocation: number;
  readonly logGb: number;
  /** Of one metric at standard resolution. */
  readonly alarmMonth: number;
  /** One of our own; those of AWS are free. */
  readonly metricMonth: number;
  readonly dashboardMonth: number;
  readonly secretMonth: number;
}

export const cloudPrices: CloudPrices = {
  lambdaGbSecondX86: 0.0000166667,
  lambdaGbSecondArm64: 0.0000133334,
  lambdaRequest: perMillion(0.2),
  tableWriteUnit: perMillion(0.625),
  tableReadUnit: perMillion(0.125),
  httpApiRequest: perMillion(1),
  fifoQueueRequest: perMillion(0.5),
  queueRequest: perMillion(0.4),
  schedulerInvocation: perMillion(1),
  logGb: 0.5,
  alarmMonth: 0.1,
  metricMonth: 0.3,
  dashboardMonth: 3,
  secretMonth: 0.4,
};
