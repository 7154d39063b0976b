import { formatBytes } from '../../lambda/domain/bytes.ts';
import { formatCount, formatDollars, formatObjects, formatRequests } from '../render.ts';
import { renderTable } from '../table.ts';
import type { View } from '../view.ts';
import type { ScanIdentity } from './checkpoint.ts';
import type { DuCount, DuSums } from './count.ts';

/** What is printed of a count. */
export interface DuReport {
  readonly scan: ScanIdentity;
  readonly count: DuCount;
  /** Dollars for a request; undefined: nobody knows. */
  readonly requestPrice: number | undefined;
}

/** Dollars for all requests that are charged; undefined: nobody knows. */
export function dollarsOf(
  { requests, failed }: DuSums,
  requestPrice: number | undefined,
): number | undefined {
  return requestPrice === undefined ? undefined : (requests - failed) * requestPrice;
}

/** For people. */
export function formatReport({ scan, count, requestPrice }: DuReport, view: View): string {
  const { bytes, objects, requests, throttled, runs, beganMs, activeMs } = count;
  const exact = bytes >= 1024n ? ` (${bytes.toLocaleString('en-US')} bytes)` : '';
  const dollars = dollarsOf(count, requestPrice);
  const price = dollars === undefined ? '' : ` (${formatDollars(dollars)})`;
  const lines = [
    `${formatBytes(Number(bytes))}${exact} in ${formatObjects(objects)}, ` +
      `counted with ${formatRequests(requests)}${price} in ${(activeMs / 1000).toFixed(1)} s` +
      (runs === 1 ? '' : `, in ${runs} runs since ${new Date(beganMs).toISOString()}`),
  ];
  if (throttled > 0)
    lines.push(
      `The store asked ${formatCount(throttled)} ${throttled === 1 ? 'time' : 'times'} to slow down.`,
    );
  const folders = foldersIn({ scan, count });
  return `${lines.join('\n')}\n${folders === undefined ? '' : `\n${tableOf(folders, count.bytes, view)}`}`;
}

type Folders = Readonly<NonNullable<ReturnType<typeof foldersIn>>>;

function tableOf({ largest, smaller }: Folders, allBytes: bigint, view: View): string {
  const row = ({ bytes, objects }: { bytes: bigint; objects: number }, name: string) => [
    formatBytes(Number(bytes)),
    percentOf(bytes, allBytes),
    formatCount(objects),
    name,
  ];
  const rows = largest.map((sum) => {
    const label = sum.isDirect ? `${sum.folder} (directly)` : sum.folder;
    return row(sum, sum.folder === '' ? '(in no folder)' : label);
  });
  if (smaller.folders > 0) {
    const others = smaller.folders === 1 ? 'folder' : 'folders';
    rows.push(row(smaller, `(${formatCount(smaller.folders)} smaller ${others})`));
  }
  const columns = [
    { name: 'SIZE', right: true, stays: true },
    { name: 'SHARE', right: true },
    { name: 'OBJECTS', right: true },
    { name: 'FOLDER', least: 20, stays: true },
  ];
  return renderTable(columns, rows, view);
}

/** For programs. Bytes beyond 2^53 − 1 are text: most of them would round such a number. */
export function jsonReport({ scan, count, requestPrice }: DuReport) {
  const { objects, requests, failed, throttled, runs, beganMs, endedMs, activeMs } = count;
  const { bucket, prefix } = scan;
  const folders = foldersIn({ scan, count });
  return {
    bucket,
    prefix,
    bytes: exactNumber(count.bytes),
    objects,
    requests,
    failed,
    throttled,
    dollars: dollarsOf(count, requestPrice) ?? null,
    seconds: activeMs / 1000,
    runs,
    began: new Date(beganMs).toISOString(),
    ended: new Date(endedMs).toISOString(),
    ...(folders !== undefined && {
      folders: {
        ...folders,
        largest: folders.largest.map((sum) => ({ ...sum, bytes: exactNumber(sum.bytes) })),
        smaller: { ...folders.smaller, bytes: exactNumber(folders.smaller.bytes) },
      },
    }),
  };
}

/** The folders with the names that are shown, and all others together; undefined: the count has none. */
function foldersIn({ scan, count }: Omit<DuReport, 'requestPrice'>) {
  if (count.folders === undefined || scan.folders === null) return undefined;
  const { folderCount, largest } = count.folders;
  const { depth } = scan.folders;
  // Below `photos/sum*`, `mer/` is `summer/`.
  const start = scan.prefix.slice(scan.prefix.lastIndexOf('/') + 1);
  return {
    depth,
    count: folderCount,
    largest: largest.map(({ folder, bytes, objects }) => ({
      folder: folder === '' ? '' : start + folder,
      /** What lies in a folder that is not as deep as was asked for, and in none below it. */
      isDirect: folder.split('/').length - 1 < depth,
      bytes,
      objects,
    })),
    smaller: {
      folders: folderCount - largest.length,
      bytes: largest.reduce((left, { bytes }) => left - bytes, count.bytes),
      objects: largest.reduce((left, { objects }) => left - objects, count.objects),
    },
  };
}

function percentOf(part: bigint, whole: bigint): string {
  return whole === 0n ? '–' : `${(Number((part * 1000n) / whole) / 10).toFixed(1)} %`;
}

function exactNumber(value: bigint): number | string {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : String(value);
}
