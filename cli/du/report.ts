import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import type { CliContext } from '../context.ts';
import { Rate, WaitLine } from '../progress.ts';
import {
  formatCount,
  formatCounted,
  formatDollars,
  formatDuration,
  formatObjects,
  formatRequests,
} from '../render.ts';
import { renderTable } from '../table.ts';
import type { View } from '../terminal.ts';
import type { ScanIdentity } from './checkpoint.ts';
import type { DuCount, DuProgress, DuSums } from './count.ts';
import type { Folder, FolderSum } from './folders.ts';
import { type Grouping, kinds, shownGroups } from './groups.ts';
import type { Unfinished } from './unfinished.ts';

interface DuReport {
  readonly scan: ScanIdentity;
  readonly count: DuCount;
  /** undefined: they weren't counted. */
  readonly unfinished?: Unfinished | undefined;
  /** Dollars for a request; undefined: nobody knows. */
  readonly requestPrice: number | undefined;
  /** Suffixes and classes that are shown. */
  readonly top: number;
}

/** Dollars for all requests that are charged; undefined: nobody knows. */
export function dollarsOf(
  { requests, failed }: DuSums,
  requestPrice: number | undefined,
): number | undefined {
  return requestPrice === undefined ? undefined : (requests - failed) * requestPrice;
}

/** For people. */
export function formatReport(report: DuReport, view: View & { readonly drawBlocks: boolean }): string {
  const { scan, count, requestPrice, unfinished } = report;
  const { objects, throttled, runs, beganMs, activeMs } = count;
  const bytes = billedBytes(report);
  const exact = bytes >= 1024n ? ` (${bytes.toLocaleString('en-US')} bytes)` : '';
  const requests = count.requests + (unfinished?.requests ?? 0);
  const dollars = dollarsOf({ ...count, requests }, requestPrice);
  const price = dollars === undefined ? '' : ` (${formatDollars(dollars)})`;
  const lines = [
    `${formatBytes(Number(bytes))}${exact} ${scan.all ? 'billed' : `in ${formatObjects(objects)}`}, ` +
      `scanned with ${formatRequests(requests)}${price} in ${(activeMs / 1000).toFixed(1)} s` +
      (runs === 1 ? '' : `, in ${runs} runs since ${new Date(beganMs).toISOString()}`),
  ];
  if (throttled > 0) lines.push(`The store asked ${formatCounted(throttled, 'time')} to slow down.`);
  if (!scan.all) lines.push('Without old versions and unfinished uploads: --all counts them.');
  const folders = foldersIn({ scan, count });
  const options = { allBytes: bytes, view };
  const bar = view.drawBlocks ? '█' : '#';
  const byGroup = groupsIn(report).map(([by, groups]) =>
    tableOf(
      by === 'size' ? 'OBJECT SIZE' : by.toUpperCase(),
      groups.map((sum) => [sum.folder, sum]),
      { ...options, bar },
    ),
  );
  const byFolder = folders === undefined ? [] : [tableOf('FOLDER', folderRows(folders), options)];
  const byKind = scan.all ? [tableOf('KIND', kindRows(report), { ...options, bar })] : [];
  return [`${lines.join('\n')}\n`, ...byKind, ...byFolder, ...byGroup].join('\n');
}

/** Of versions, and of the parts of unfinished uploads. */
const billedBytes = ({ count, unfinished }: Pick<DuReport, 'count' | 'unfinished'>) =>
  count.bytes + (unfinished?.bytes ?? 0n);

const kindIn = ({ count }: Pick<DuReport, 'count'>, kind: (typeof kinds)[number]): FolderSum =>
  count.groups[0]?.find(({ folder }) => folder === kind) ?? { objects: 0, bytes: 0n };

function kindRows(report: DuReport): Row[] {
  const { unfinished } = report;
  const rows = kinds.map((kind): Row => [kind, kindIn(report, kind)]);
  if (!unfinished) return rows;
  const { uploads, bytes, isWhole } = unfinished;
  return [
    ...rows,
    [isWhole ? 'unfinished uploads' : 'unfinished uploads, at least', { objects: uploads, bytes }],
  ];
}

type Folders = Readonly<NonNullable<ReturnType<typeof foldersIn>>>;
type Row = readonly [name: string, sum: FolderSum];

function folderRows({ largest, smaller }: Folders): Row[] {
  const rows = largest.map((sum): Row => {
    const label = sum.isDirect ? `${sum.folder} (directly)` : sum.folder;
    return [sum.folder === '' ? '(in no folder)' : label, sum];
  });
  if (smaller.folders === 0) return rows;
  return [...rows, [`(${formatCounted(smaller.folders, 'smaller folder')})`, smaller]];
}

/** Groups by kind, as they are shown. */
function groupsIn({ scan, count, top }: DuReport): [by: Grouping, groups: readonly Folder[]][] {
  return (scan.by ?? []).map((by, index) => [by, shownGroups(by, count.groups[index] ?? [], top)]);
}

const barCells = 20;
/** A narrower terminal shows no bars. */
const barWidthLeast = 64;

/** @param options.bar what a bar is made of. Empty: none is drawn. */
function tableOf(
  name: string,
  rows: readonly Row[],
  { allBytes, view, bar = '' }: { allBytes: bigint; view: View; bar?: string },
): string {
  const cellsOf = (bytes: bigint) =>
    allBytes === 0n ? 0 : Math.ceil((Number(bytes) * barCells) / Number(allBytes));
  const hasBar = bar !== '' && (view.width ?? barWidthLeast) >= barWidthLeast;
  const columns = [
    { name: 'SIZE', right: true, stays: true },
    { name: 'SHARE', right: true },
    { name: 'OBJECTS', right: true },
    { name, least: 20, stays: true },
    ...(hasBar ? [''] : []),
  ];
  const cells = rows.map(([label, { bytes, objects }]) => [
    formatBytes(Number(bytes)),
    percentOf(bytes, allBytes),
    formatCount(objects),
    label,
    ...(hasBar ? [bar.repeat(cellsOf(bytes))] : []),
  ]);
  return renderTable(columns, cells, view);
}

/** For programs. Bytes beyond 2^53 − 1 are text: most of them would round such a number. */
export function jsonReport(report: DuReport) {
  const { scan, count, requestPrice, unfinished } = report;
  const { objects, failed, throttled, runs, beganMs, endedMs, activeMs } = count;
  const requests = count.requests + (unfinished?.requests ?? 0);
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
    dollars: dollarsOf({ ...count, requests }, requestPrice) ?? null,
    seconds: activeMs / 1000,
    runs,
    began: new Date(beganMs).toISOString(),
    ended: new Date(endedMs).toISOString(),
    ...(scan.all && {
      billedBytes: exactNumber(billedBytes(report)),
      current: exactSum(kindIn(report, 'current')),
      oldVersions: exactSum(kindIn(report, 'old versions')),
      deleteMarkers: kindIn(report, 'delete markers').objects,
      unfinished: unfinished
        ? { uploads: unfinished.uploads, bytes: exactNumber(unfinished.bytes), isWhole: unfinished.isWhole }
        : null,
    }),
    ...(folders !== undefined && {
      folders: {
        ...folders,
        largest: folders.largest.map((sum) => ({ ...sum, bytes: exactNumber(sum.bytes) })),
        smaller: { ...folders.smaller, bytes: exactNumber(folders.smaller.bytes) },
      },
    }),
    ...(scan.by && {
      by: Object.fromEntries(groupsIn(report).map(([by, groups]) => [by, groups.map(exact)])),
    }),
  };
}

const exactSum = ({ objects, bytes }: FolderSum) => ({ objects, bytes: exactNumber(bytes) });
const exact = ({ folder: group, objects, bytes }: Folder) => ({ group, objects, bytes: exactNumber(bytes) });

/** The folders with the names that are shown, and all others together; undefined: the count has none. */
function foldersIn({ scan, count }: Pick<DuReport, 'scan' | 'count'>) {
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

/** Least time between two updates of the line. */
const progressIntervalMs = 100;
/** Least time between two samples for the rates. */
const sampleIntervalMs = 500;
/** Without a terminal: least time between two lines. The first one comes after this time, too. */
const plainIntervalMs = 30_000;

/** A share by a hint isn't more than this before the end. */
const estimatedShareHighest = 0.99;

/** What a running scan has done, on standard error: a line that is redrawn in place, or without a terminal one now and then. */
export class ProgressLine {
  readonly #context: CliContext;
  readonly #dollarsOf: (sums: DuSums) => number | undefined;
  readonly #line: WaitLine;
  readonly #objects = new Rate();
  readonly #requests = new Rate();
  #shownMs: number;
  #sampledMs = 0;
  readonly #hintObjects: number | undefined;

  /**
   * @param dollarsOf for the requests of a count; undefined: unknown.
   * @param hintObjects about how many objects there are; undefined: unknown.
   */
  constructor(context: CliContext, dollarsOf: (sums: DuSums) => number | undefined, hintObjects?: number) {
    this.#context = context;
    this.#dollarsOf = dollarsOf;
    this.#hintObjects = hintObjects;
    this.#line = new WaitLine(context, { isQuiet: false });
    this.#shownMs = this.#line.inPlace ? 0 : context.nowMs();
  }

  /** @param progressOf is called only if it is needed: a scan may have a thousand pages a second. */
  show(progressOf: () => DuProgress): void {
    const nowMs = this.#context.nowMs();
    const isDue = nowMs - this.#shownMs >= (this.#line.inPlace ? progressIntervalMs : plainIntervalMs);
    if (!isDue && nowMs - this.#sampledMs < sampleIntervalMs) return;
    const progress = progressOf();
    const { objects, requests } = progress.sums;
    this.#sampledMs = nowMs;
    this.#objects.note({ ms: nowMs, done: objects });
    this.#requests.note({ ms: nowMs, done: requests });
    if (!isDue) return;
    this.#shownMs = nowMs;
    const parts = this.#partsOf(progress);
    this.#line.show(this.#line.inPlace ? fitting(parts, this.#line.width) : parts.join(', '));
  }

  clear(): void {
    this.#line.clear();
  }

  /** The most important first: a narrow terminal does not show all. */
  #partsOf({ sums, share, slowedTo }: DuProgress): string[] {
    const { objects, bytes, requests } = sums;
    const estimate = this.#hintObjects && Math.min(estimatedShareHighest, objects / this.#hintObjects);
    const done = share ?? estimate;
    const objectRate = this.#objects.perSecond;
    const requestRate = this.#requests.perSecond;
    const dollars = this.#dollarsOf(sums);
    const leftMs = done && objectRate ? ((objects / done - objects) / objectRate) * 1000 : undefined;
    return [
      formatObjects(objects),
      formatBytes(Number(bytes)),
      ...(done === undefined ? [] : [`${Math.floor(done * 100)} % done`]),
      ...(leftMs === undefined ? [] : [`${formatDuration(leftMs)} left`]),
      ...(objectRate === undefined ? [] : [`${formatCount(Math.round(objectRate))} objects/s`]),
      formatRequests(requests) + (dollars === undefined ? '' : ` (${formatDollars(dollars)})`),
      ...(requestRate === undefined ? [] : [`${formatCount(Math.round(requestRate))} requests/s`]),
      ...(slowedTo === undefined ? [] : [`the store asked to slow down to ${Math.ceil(slowedTo)}/s`]),
    ];
  }
}

/** As many of the parts as fit into the width, the first ones first. */
function fitting(parts: readonly string[], width: number): string {
  let text = (parts[0] ?? '').slice(0, width);
  for (const part of parts.slice(1)) {
    const longer = `${text}, ${part}`;
    if (longer.length > width) break;
    text = longer;
  }
  return text;
}
