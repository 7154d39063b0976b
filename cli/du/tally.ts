import type { CountedPart, ScanRest } from '../../lambda/ports/path-scan.ts';
import type { Checkpoint, ScanIdentity } from './checkpoint.ts';
import { foldersOfPart } from './folder-parts.ts';
import { type FolderResult, FolderSums } from './folder-sums.ts';

/** What was counted so far. */
export interface DuSums {
  readonly bytes: bigint;
  readonly objects: number;
  /** LISTs that were sent. */
  readonly requests: number;
  /** Of those, answers with a status of 500 and above, which AWS does not charge. */
  readonly failed: number;
  /** Of those, answers that asked to slow down. */
  readonly throttled: number;
  /** Processes that counted. */
  readonly runs: number;
  readonly beganMs: number;
  readonly endedMs: number;
  /** The time that the processes took. */
  readonly activeMs: number;
}

/** What `du` found. */
export interface DuCount extends DuSums {
  /** undefined: it was not asked for them. */
  readonly folders: FolderResult | undefined;
}

/** Requests of this process. */
export interface Traffic {
  readonly requests: number;
  readonly failed: number;
  readonly throttled: number;
}

/** All that was counted, by this process and those before it. */
export class Tally {
  readonly #scan: ScanIdentity;
  readonly #found: Checkpoint | undefined;
  readonly #traffic: () => Traffic;
  readonly #nowMs: () => number;
  readonly #startedMs: number;
  readonly #folders: FolderSums | undefined;
  #objects: number;
  #bytes: bigint;
  #endedMs: number | undefined;
  /** What the scan would leave now. */
  restOf: () => ScanRest | undefined = () => undefined;

  constructor(
    deps: { traffic: () => Traffic; nowMs: () => number },
    { scan, found }: { scan: ScanIdentity; found: Checkpoint | undefined },
  ) {
    this.#scan = scan;
    this.#found = found;
    this.#traffic = deps.traffic;
    this.#nowMs = deps.nowMs;
    this.#startedMs = deps.nowMs();
    this.#objects = found?.objects ?? 0;
    this.#bytes = BigInt(found?.bytes ?? 0);
    if (scan.folders !== null)
      this.#folders = new FolderSums({ top: scan.folders.top, kept: found?.folders ?? undefined });
  }

  /** Adds what was counted of a page: all of it, or nothing if it throws. */
  add(part: CountedPart): void {
    const { prefix, folders } = this.#scan;
    if (folders !== null && part.keyCount > 0) {
      const sums = foldersOfPart(part, { prefix, depth: folders.depth });
      this.#folders?.add(sums, () => this.restOf()?.ranges ?? []);
    }
    this.#objects += part.keyCount;
    this.#bytes += BigInt(part.sizeBytes);
  }

  /** Nothing is counted any more: what is shown and what is saved have the same time. */
  end(): void {
    this.#endedMs ??= this.#nowMs();
  }

  get sums(): DuSums {
    const { requests, failed, throttled } = this.#traffic();
    const endedMs = this.#endedMs ?? this.#nowMs();
    const before = this.#found;
    return {
      bytes: this.#bytes,
      objects: this.#objects,
      requests: requests + (before?.requests ?? 0),
      failed: failed + (before?.failed ?? 0),
      throttled: throttled + (before?.throttled ?? 0),
      runs: 1 + (before?.runs ?? 0),
      beganMs: before?.beganMs ?? this.#startedMs,
      endedMs,
      activeMs: Math.max(0, endedMs - this.#startedMs) + (before?.activeMs ?? 0),
    };
  }

  get count(): DuCount {
    return { ...this.sums, folders: this.#folders?.result };
  }

  /** What is to be saved; undefined if that cannot be told any more. */
  checkpoint(): Checkpoint | undefined {
    const rest = this.restOf();
    if (rest === undefined) return undefined;
    const { bytes, endedMs, ...numbers } = this.sums;
    const { ranges, objectsExpected } = rest;
    return {
      scan: this.#scan,
      ...numbers,
      savedMs: endedMs,
      bytes: String(bytes),
      rest: ranges.length === 0 ? null : { ranges: [...ranges], objectsExpected },
      folders: this.#folders?.keep(ranges) ?? null,
    };
  }
}

/** The result of a scan that has ended. */
export function countOf(checkpoint: Checkpoint): DuCount {
  const { bytes, savedMs, folders, scan, rest: _, ...numbers } = checkpoint;
  const sums = new FolderSums({ top: scan.folders?.top ?? 0, kept: folders ?? undefined });
  return {
    ...numbers,
    bytes: BigInt(bytes),
    endedMs: savedMs,
    folders: folders === null ? undefined : sums.result,
  };
}
