import { formatBytes } from '../../lambda/domain/bytes.ts';
import { formatCount, formatObjects } from '../render.ts';
import { renderTable } from '../table.ts';
import type { View } from '../view.ts';
import type { ScanIdentity } from './checkpoint.ts';
import type { FolderResult } from './folder-sums.ts';
import type { Folder } from './largest.ts';
import type { DuCount, DuSums } from './tally.ts';
import { formatDollars, formatRequests } from './words.ts';

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
  const { bytes, objects, requests, throttled, runs, beganMs, activeMs, folders } = count;
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
  const table =
    folders === undefined || scan.folders === null
      ? ''
      : `\n${tableOf(count, folders, { depth: scan.folders.depth, prefix: scan.prefix, view })}`;
  return `${lines.join('\n')}\n${table}`;
}

/** How the names of folders are made: from those below the prefix. */
interface Naming {
  readonly depth: number;
  readonly prefix: string;
}

function tableOf(
  count: DuCount,
  folders: FolderResult,
  { view, ...naming }: Naming & { view: View },
): string {
  const row = (sum: { bytes: bigint; objects: number }, name: string) => [
    formatBytes(Number(sum.bytes)),
    percentOf(sum.bytes, count.bytes),
    formatCount(sum.objects),
    name,
  ];
  const rows = folders.largest.map((folder) => row(folder, labelOf(folder, naming)));
  const others = othersOf(count, folders);
  if (others.folders > 0) {
    const name = others.folders === 1 ? '1 smaller folder' : `${formatCount(others.folders)} smaller folders`;
    rows.push(row(others, `(${name})`));
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
  const { objects, requests, failed, throttled, runs, beganMs, endedMs, activeMs, folders } = count;
  const { bucket, prefix } = scan;
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
    ...(folders !== undefined &&
      scan.folders !== null && {
        folders: jsonFolders(count, folders, { depth: scan.folders.depth, prefix }),
      }),
  };
}

function jsonFolders(count: DuCount, folders: FolderResult, naming: Naming) {
  const others = othersOf(count, folders);
  return {
    depth: naming.depth,
    count: folders.folderCount,
    largest: folders.largest.map(({ folder, objects, bytes }) => ({
      folder: nameOf(folder, naming),
      isDirect: isDirect(folder, naming),
      bytes: exactNumber(bytes),
      objects,
    })),
    smaller: { folders: others.folders, bytes: exactNumber(others.bytes), objects: others.objects },
  };
}

/** All folders that are not among the largest, together. */
function othersOf(count: DuCount, { folderCount, largest }: FolderResult) {
  return {
    folders: folderCount - largest.length,
    bytes: largest.reduce((left, { bytes }) => left - bytes, count.bytes),
    objects: largest.reduce((left, { objects }) => left - objects, count.objects),
  };
}

function labelOf({ folder }: Folder, naming: Naming): string {
  if (folder === '') return '(in no folder)';
  const name = nameOf(folder, naming);
  return isDirect(folder, naming) ? `${name} (directly)` : name;
}

/** Below `photos/sum*`, `mer/` is `summer/`. */
function nameOf(folder: string, { prefix }: Naming): string {
  return folder === '' ? '' : prefix.slice(prefix.lastIndexOf('/') + 1) + folder;
}

/** True for what lies in a folder that is not as deep as was asked for, and in none below it. */
function isDirect(folder: string, { depth }: Naming): boolean {
  return folder.split('/').length - 1 < depth;
}

function percentOf(part: bigint, whole: bigint): string {
  return whole === 0n ? '–' : `${(Number((part * 1000n) / whole) / 10).toFixed(1)} %`;
}

function exactNumber(value: bigint): number | string {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : String(value);
}
