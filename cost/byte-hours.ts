import { assumedMs, cloudPrices, s3Prices } from './operations.ts';

/** Bytes of a day's item without its hours, and of an hour: names, and numbers of tenants of some 100 GB. */
export const dayBytes = 125;
export const hourBytes = 50;

const days = 30;
const hoursOfMonth = 24 * days;
/** A GB of the table for a month. */
const tableGbMonth = 0.25;
const GiB = 1024 ** 3;
/** Records of a page, and tenants that one request reads. */
const pageRecords = 1000;
const readAtOnce = 100;

/**
 * Dollars a month for byte-hours, beside what days cost anyway.
 *
 * @param input.updates reconciles of a tenant a month, spread evenly.
 */
export function byteHoursMonth({ tenants, updates }: { tenants: number; updates: number }) {
  const { tableReadUnit, tableWriteUnit, lambdaRequest, lambdaGbSecondArm64, httpApiRequest } = cloudPrices;
  const perDay = Math.max(1, updates / days);
  const itemBytes = dayBytes + hourBytes * Math.min(24, perDay);
  const reads = (pages: number, itemsBytes: number) =>
    // Each page finds its tenants and corrections by an index, and then reads the tenants.
    tenants * Math.max(1, Math.ceil(itemsBytes / 4096)) +
    tenants +
    (2 * 0.5 * pages * pageRecords) / readAtOnce;
  const request =
    httpApiRequest +
    lambdaRequest +
    (0.5 * (assumedMs.run + 8 * assumedMs.table) * lambdaGbSecondArm64) / 1000;
  const monthPages = (tenants * hoursOfMonth) / pageRecords;
  const hourPages = Math.ceil(tenants / pageRecords);
  // A file has some 50,000 records of 170 bytes, for 400 days. Each hour also lists the oldest.
  const fileRequests = Math.ceil(tenants / 50_000) + 1;
  const stored = ((tenants * 24 * 400 * 170) / s3Prices.bytesOfGb) * (s3Prices.storedGbMonth.perGb[0] ?? 0);
  return [
    ['write: units above 1 KB', tenants * updates * (Math.ceil(itemBytes / 1024) - 1) * tableWriteUnit],
    ['write: the first of a day reads the day before', tenants * days * tableReadUnit],
    ['store a month of days', (tenants * days * (itemBytes - dayBytes) * tableGbMonth) / GiB],
    ['read the month once', reads(monthPages, days * itemBytes) * tableReadUnit + monthPages * request],
    ['or read each hour', hoursOfMonth * (reads(hourPages, itemBytes) * tableReadUnit + hourPages * request)],
    ['or write files: each hour is read, and', hoursOfMonth * fileRequests * s3Prices.putOrList + stored],
  ] as const;
}
