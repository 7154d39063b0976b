import { S3Client } from '@aws-sdk/client-s3';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { ScanListing } from '../../lambda/core/scan/list-objects.ts';
import { createPathScan } from '../../lambda/core/scan/path-scan.ts';
import type {
  CountedPart,
  PathScanInput,
  ScanRest,
  ScanStrategy,
} from '../../lambda/core/scan/rules/scan-plan.ts';
import { ArchiveClient } from '../../lambda/core/store/archive-client.ts';
import { BucketClient } from '../../lambda/core/store/bucket-client.ts';
import { systemClock } from '../../lambda/frame/aws/clock-and-ids.ts';
import type { Checkpoint, ScanIdentity } from './checkpoint.ts';
import { KeyRows } from './csv.ts';
import { type Folder, type FolderResult, FolderSums, folderFrom, foldersOfPart } from './folders.ts';
import { GroupSums } from './groups.ts';
import { Pace, PacedListing } from './paced-listing.ts';
import { countUnfinished, type Unfinished } from './unfinished.ts';
import { VersionListing } from './versions.ts';

export interface DuTarget {
  readonly scan: ScanIdentity;
  readonly region: string;
  readonly strategy: ScanStrategy;
  /** Most requests at a time. */
  readonly concurrency: number;
  /** Most requests a second; undefined: no limit. */
  readonly rateMax: number | undefined;
  /** A file for a row of each key. undefined: none is written. */
  readonly csv: string | undefined;
  /** Without credentials. */
  readonly isUnsigned: boolean;
  /** Whoever asks pays for the requests. */
  readonly isPayer: boolean;
}

type Traffic = Pick<Checkpoint, 'requests' | 'failed' | 'throttled'>;

export interface DuSums extends Traffic, Pick<Checkpoint, 'objects' | 'runs' | 'beganMs' | 'activeMs'> {
  readonly bytes: bigint;
  readonly endedMs: number;
}

export interface DuCount extends DuSums {
  /** undefined: it was not asked for them. */
  readonly folders: FolderResult | undefined;
  /** In the order of `scan.by`. */
  readonly groups: readonly (readonly Folder[])[];
}

export interface DuProgress {
  readonly sums: DuSums;
  /** Share of the key space that was counted; undefined if that means nothing. */
  readonly share: number | undefined;
  /** Requests a second to which the store has slowed the scan down; undefined if it has not. */
  readonly slowedTo: number | undefined;
}

/**
 * Counts everything below a prefix.
 *
 * @param input.found what an earlier process saved of the same scan.
 * @param input.stop ends the count early.
 * @param input.onBegin called once, before the first request, with what can be saved at any time.
 * @returns isDone false: it was stopped.
 * @throws what the store refuses with, or does not answer with.
 */
export async function countBelow(input: {
  target: DuTarget;
  found: Checkpoint | undefined;
  stop: AbortSignal;
  nowMs: () => number;
  onBegin: (checkpoint: () => Checkpoint | undefined) => void;
  onProgress: (progress: () => DuProgress) => void;
  onWarning: (sentence: string) => void;
}): Promise<{ isDone: boolean; count: DuCount }> {
  const { target, found, stop, nowMs } = input;
  let failed = 0;
  const client = openClient(target, (status) => {
    if (status >= 500) failed += 1;
  });
  const pace = new Pace({ rateMax: target.rateMax });
  // Attempts are made one by one, so that each waits for its turn.
  const versions = target.scan.all ? openVersions(target) : undefined;
  const once = versions
    ? new VersionListing(versions)
    : new ScanListing({ client, retry: { attemptsMax: 1 } });
  const listing = new PacedListing({ listing: once, pace });
  const traffic = () => ({ requests: listing.requests, throttled: listing.throttled, failed });
  const tally = new Tally({ scan: target.scan, found, traffic, nowMs });
  const drain = () => listing.drain();
  stop.addEventListener('abort', drain);
  const log = { warn: input.onWarning };
  const { by = [] } = target.scan;
  const rows = target.csv === undefined ? undefined : new KeyRows(target.csv);
  const scan = createPathScan({ listing, clock: systemClock, settings: defaultSettings, log });
  try {
    const scanning = scan.scan({
      prefix: target.scan.prefix,
      concurrency: target.concurrency,
      ...beginning(target, found),
      reads: {
        readsTimes: by.includes('age') || rows !== undefined,
        readsClasses: by.includes('class') || rows !== undefined,
      },
      stop,
      onBegin: (restOf) => {
        tally.restOf = restOf;
      },
      onPart: (part) => {
        tally.add(part);
        rows?.add(part);
      },
      onRestart: () => {
        tally.begin(undefined);
        rows?.begin();
      },
      onPage: ({ share }) => input.onProgress(() => ({ sums: tally.sums, share, slowedTo: pace.slowedTo })),
    });
    input.onBegin(() => tally.checkpoint());
    const outcome = await scanning;
    tally.end();
    const { sums, folders, groups } = tally;
    const count = { ...sums, folders: folders?.result, groups: groups.map(({ result }) => result) };
    return { isDone: outcome.kind === 'done', count };
  } finally {
    stop.removeEventListener('abort', drain);
    client.destroy();
    versions?.destroy();
    rows?.close();
  }
}

/** The result of a scan that has ended. */
export function countOf({ bytes, savedMs, folders, groups, scan, rest: _, ...numbers }: Checkpoint): DuCount {
  return {
    ...numbers,
    bytes: BigInt(bytes),
    endedMs: savedMs,
    folders:
      folders === null ? undefined : new FolderSums({ top: scan.folders?.top ?? 0, kept: folders }).result,
    groups: (groups ?? []).map((kept) => kept.map(folderFrom)),
  };
}

function placeOf({ scan: { bucket, endpoint }, region, isUnsigned, isPayer }: DuTarget) {
  return {
    bucket,
    region,
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
    credentials: defaultCredentials(region),
    followsRegion: endpoint === null,
    isUnsigned,
    ...(isPayer && { headers: { 'x-amz-request-payer': 'requester' } }),
  };
}

const openClient = (target: DuTarget, onAnswer: (status: number) => void) =>
  new BucketClient({ ...placeOf(target), socketsMax: target.concurrency, onAnswer });

/** A page is asked for once: {@link PacedListing} asks again. */
const openVersions = (target: DuTarget) =>
  new ArchiveClient(placeOf(target), { attemptsMax: 1, answerMs: 20_000 });

/** Unfinished uploads below what is counted. @throws {StoreUnavailableError} @throws {StoreRefusedError} */
export async function unfinishedBelow(target: DuTarget): Promise<Unfinished> {
  const client = new ArchiveClient(placeOf(target));
  try {
    return await countUnfinished(client, target.scan.prefix);
  } finally {
    client.destroy();
  }
}

/** How the scan begins, or goes on: then it knows best itself how many keys to expect. */
function beginning(
  { scan, strategy }: DuTarget,
  found: Checkpoint | undefined,
): Pick<PathScanInput, 'strategy' | 'resume'> {
  if (!found?.rest) return { strategy };
  // The tally has the sums.
  const none = { storedBytes: 0, objectCount: 0, seen: [], requests: 0 };
  const resume = {
    ...none,
    prefix: scan.prefix,
    ...found.rest,
    isSequential: scan.order === 'sequential' || found.rest.listed !== undefined,
  };
  return strategy.kind === 'hint' || scan.order !== 'parallel' ? { resume, strategy } : { resume };
}

interface TallyInput {
  readonly scan: ScanIdentity;
  readonly found: Checkpoint | undefined;
  /** Requests of this process. */
  readonly traffic: () => Traffic;
  readonly nowMs: () => number;
}

/** All that was counted, by this process and those before it. */
class Tally {
  folders: FolderSums | undefined;
  groups: readonly GroupSums[] = [];
  readonly #input: TallyInput;
  readonly #startedMs: number;
  #objects = 0;
  #bytes = 0n;
  #endedMs: number | undefined;
  /** What the scan would leave now. */
  restOf: () => ScanRest | undefined = () => undefined;

  constructor(input: TallyInput) {
    this.#input = input;
    this.#startedMs = input.nowMs();
    this.begin(input.found);
  }

  /** @param found what was counted before. undefined: nothing that can be relied on. */
  begin(found: Checkpoint | undefined): void {
    const { scan } = this.#input;
    this.#objects = found?.objects ?? 0;
    this.#bytes = BigInt(found?.bytes ?? 0);
    if (scan.folders !== null) this.folders = new FolderSums({ top: scan.folders.top, kept: found?.folders });
    // Ages count from the first process, so that an object stays in its group.
    const fromMs = this.#input.found?.beganMs ?? this.#startedMs;
    this.groups = (scan.all ? (['kind'] as const) : (scan.by ?? [])).map(
      (by, index) => new GroupSums({ by, nowMs: fromMs }, found?.groups?.[index]),
    );
  }

  /** Adds what was counted of a page: all of it, or nothing if it throws. */
  add(part: CountedPart): void {
    const { prefix, folders } = this.#input.scan;
    if (folders !== null && part.keyCount > 0) {
      const sums = foldersOfPart(part, { prefix, depth: folders.depth });
      this.folders?.add(sums, () => this.restOf()?.ranges ?? []);
    }
    for (const groups of this.groups) groups.add(part);
    this.#objects += part.keyCount;
    this.#bytes += BigInt(part.sizeBytes);
  }

  /** Nothing is counted any more: what is shown and what is saved have the same time. */
  end(): void {
    this.#endedMs ??= this.#input.nowMs();
  }

  get sums(): DuSums {
    const { requests, failed, throttled } = this.#input.traffic();
    const endedMs = this.#endedMs ?? this.#input.nowMs();
    const before = this.#input.found;
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

  /** What is to be saved; undefined if nothing was counted yet, or what is left cannot be told any more. */
  checkpoint(): Checkpoint | undefined {
    const rest = this.restOf();
    if (rest === undefined || (this.#objects === 0 && rest.ranges.length > 0)) return undefined;
    const { bytes, endedMs, ...numbers } = this.sums;
    const { ranges, objectsExpected, listed, seams } = rest;
    const order = { ...(listed && { listed }), ...(seams && { seams }) };
    return {
      scan: this.#input.scan,
      ...numbers,
      savedMs: endedMs,
      bytes: String(bytes),
      rest: ranges.length === 0 ? null : { ranges: [...ranges], objectsExpected, ...order },
      folders: this.folders?.keep(ranges) ?? null,
      ...((this.#input.scan.by ?? this.#input.scan.all) && {
        groups: this.groups.map((sums) => sums.keep()),
      }),
    };
  }
}

/**
 * The credentials that the AWS CLI would use: environment, profile, single sign-on, instance. The SDK looks for them,
 * and keeps them until they expire.
 */
function defaultCredentials(region: string) {
  const { credentials } = new S3Client({ region }).config;
  return () => credentials();
}
