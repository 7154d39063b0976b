import type { Settings } from '../../domain/settings.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ObjectListing } from '../../ports/object-listing.ts';
import type { PathScan, PathScanInput, PathScanOutcome } from '../../ports/path-scan.ts';

interface Deps {
  readonly listing: ObjectListing;
  readonly clock: Clock;
  readonly settings: Settings;
}

/** Keys after `after` (from the first, where undefined) up to and with `last` (to the end, where undefined). */
interface KeyRange {
  readonly after: string | undefined;
  readonly last: string | undefined;
}

interface Totals {
  storedBytes: number;
  objectCount: number;
  requests: number;
  late: boolean;
  readonly seen: Set<string>;
}

/**
 * Counts what lies below a path: in 16 ranges at once where someone waits, otherwise page after page.
 *
 * The ranges are cut at the hex digits but reach from one to the next, so a key that is no hash lies in
 * exactly one of them too.
 */
export function createPathScan(deps: Deps): PathScan {
  return {
    async scan(input: PathScanInput): Promise<PathScanOutcome> {
      const totals: Totals = { storedBytes: 0, objectCount: 0, requests: 0, late: false, seen: new Set() };
      const ranges = input.someoneWaits ? hexRanges(input.prefix) : [{ after: undefined, last: undefined }];
      await Promise.all(ranges.map((range) => scanRange(deps, input, range, totals)));
      if (totals.late) return { kind: 'unfinished', requests: totals.requests };
      const { storedBytes, objectCount, seen, requests } = totals;
      return { kind: 'done', storedBytes, objectCount, seen, requests };
    },
  };
}

function hexRanges(prefix: string): KeyRange[] {
  const cuts = [...'123456789abcdef'].map((digit) => prefix + digit);
  return [...cuts, undefined].map((last, index) => ({ after: cuts[index - 1], last }));
}

async function scanRange(deps: Deps, input: PathScanInput, range: KeyRange, totals: Totals): Promise<void> {
  let position: { startAfter?: string; continuationToken?: string } =
    range.after === undefined ? {} : { startAfter: range.after };
  for (;;) {
    if (input.deadlineMs !== undefined && deps.clock.nowMs() >= input.deadlineMs) {
      totals.late = true;
      return;
    }
    totals.requests += 1;
    const page = await deps.listing.listPage({ prefix: input.prefix, ...position });
    for (let index = 0; index < page.keyCount; index += 1) {
      const key = page.keyAt(index);
      if (range.last !== undefined && key > range.last) return;
      totals.objectCount += 1;
      totals.storedBytes += page.sizeAt(index);
      const name = key.slice(input.prefix.length);
      if (input.lookFor?.has(name)) totals.seen.add(name);
    }
    await input.onPage?.();
    if (!page.isTruncated || page.nextContinuationToken === undefined) return;
    position = { continuationToken: page.nextContinuationToken };
  }
}
