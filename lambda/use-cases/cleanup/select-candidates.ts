import { type Candidate, encodeCandidates } from '../../domain/cleanup/candidates.ts';
import {
  type Cleanup,
  type CleanupFailure,
  type CleanupRun,
  lookedAt,
  plus,
  type Selection,
  type Sum,
  withFailure,
  withSelection,
} from '../../domain/cleanup/cleanup.ts';
import { candidatesKey, keepSetKey } from '../../domain/cleanup/cleanup-keys.ts';
import { PrefixSet, prefixBytes, TooManyPrefixesError } from '../../domain/cleanup/prefixes.ts';
import { sha256Hex } from '../../domain/hash.ts';
import { isOid, repoPrefix } from '../../domain/names.ts';
import { isDead } from '../../domain/reservation.ts';
import type { ListedPage, ListPageRequest } from '../../ports/object-listing.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';
import { mapLimited } from '../map-limited.ts';
import type { CleanupDeps } from './cleanup-deps.ts';
import { putCleanup } from './put-cleanup.ts';
import { readSeen } from './read-seen.ts';

/** Attempts at a page, beside those of its requests. */
const pageAttemptsMax = 4;
/** Pause before the second of them, and as much longer before each further one. */
const pagePauseMs = 1_000;
const firstDigits = [...'0123456789abcdef'];
/** Candidates of one file. */
const fileLinesMax = 10_000;
/** Candidates that are shown. */
const largestMax = 10;

/**
 * Lists the repo, and writes down what may be deleted: what is stored, old enough, and neither in the keep-set, nor named by
 * a batch since the watch was opened, nor reserved. It changes nothing in the store.
 *
 * @returns the clean-up with what was found. `waiting`: somebody else has changed it meanwhile.
 * @throws {StoreUnavailableError | LedgerUnavailableError} It is to be asked again, and lists all again.
 */
export async function selectCandidates(
  deps: CleanupDeps,
  { tenant, cleanup: before }: { tenant: string; cleanup: Cleanup },
): Promise<Cleanup | 'waiting'> {
  const { clock, log } = deps;
  const { repo, watch, run } = before;
  if (!run) throw new Error('A clean-up without a run selects no candidates.');
  const looking = lookedAt(before, { nowMs: clock.nowMs() });
  const cleanup = await putCleanup(deps, { tenant, cleanup: looking, read: before });
  if (!cleanup) return 'waiting';
  const found = await findCandidates(deps, { tenant, repo, watchId: watch.id, run });
  const nowMs = clock.nowMs();
  const next =
    'reason' in found ? withFailure(cleanup, found) : withSelection(cleanup, { selection: found, nowMs });
  const put = await putCleanup(deps, { tenant, cleanup: next, read: cleanup });
  if (!put) return 'waiting';
  const { failure, selection } = put;
  log.info('clean-up selected', {
    tenant,
    repo,
    isDryRun: run.isDryRun,
    ...(failure && { failure: failure.reason }),
    ...(selection && { listed: selection.listed, candidates: selection.candidates }),
  });
  return put;
}

async function findCandidates(
  deps: CleanupDeps,
  input: { tenant: string; repo: string; watchId: string; run: CleanupRun },
): Promise<Selection | CleanupFailure> {
  const { ids, clock } = deps;
  const { tenant, repo, watchId, run } = input;
  const keep = await readKeepSet(deps, input);
  if (!(keep instanceof PrefixSet)) return keep;
  const seenAtMs = clock.nowMs();
  const seen = await readSeen(deps, { tenant, watchId, fromMs: 0 }).catch((error: unknown) => {
    if (error instanceof TooManyPrefixesError) return undefined;
    throw error;
  });
  if (!seen) {
    const message = 'Too much was pushed since the watch was opened. Cancel this clean-up, and open another.';
    return { reason: 'too-many-names', message };
  }
  const reserved = await readReserved(deps, input);
  const folder = ids.random(16);
  const found = new Found({
    keep,
    isInUse: (oid) => seen.has(oid) || reserved.has(oid),
    storedBeforeMs: clock.nowMs() - run.minAgeMs,
    write: (file, candidates) =>
      deps.archives.put(candidatesKey({ tenant, watchId }, { folder, file }), encodeCandidates(candidates)),
  });
  const prefix = repoPrefix({ tenant, repo });
  await mapLimited(firstDigits, firstDigits.length, async (digit) => {
    let startAfter: string | undefined;
    do {
      const page = await listPatiently(deps, {
        prefix: prefix + digit,
        readsTimes: true,
        ...(startAfter !== undefined && { startAfter }),
      });
      await found.add(page, prefix);
      startAfter = page.isTruncated && page.keyCount > 0 ? page.keyAt(page.keyCount - 1) : undefined;
    } while (startAfter !== undefined);
  });
  return { folder, seenAtMs, ...(await found.end()) };
}

/** A failure of one page would have all of them listed again. */
async function listPatiently({ listing, clock }: CleanupDeps, request: ListPageRequest): Promise<ListedPage> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await listing.listPage(request);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || attempt >= pageAttemptsMax) throw error;
      await clock.sleep(pagePauseMs * attempt);
    }
  }
}

async function readKeepSet(
  { archives }: CleanupDeps,
  { tenant, watchId, run }: { tenant: string; watchId: string; run: CleanupRun },
): Promise<PrefixSet | CleanupFailure> {
  const bytes = await archives.get(keepSetKey({ tenant, watchId }, run.keepSha256));
  const isWhole = bytes?.length === run.keepCount * prefixBytes && sha256Hex(bytes) === run.keepSha256;
  // Nothing may be deleted by half a keep-set.
  if (!bytes || !isWhole) {
    const message = 'The keep-set is not in the store as it was announced. Run it again.';
    return { reason: 'no-keep-set', message };
  }
  const keep = new PrefixSet();
  keep.add(bytes);
  return keep;
}

async function readReserved(
  { ledger, clock }: CleanupDeps,
  path: { tenant: string; repo: string },
): Promise<ReadonlySet<string>> {
  const reserved = new Set<string>();
  for await (const page of ledger.reservationsOf(path))
    for (const reservation of page)
      if (!isDead(reservation, clock.nowMs())) for (const oid of reservation.claims.keys()) reserved.add(oid);
  return reserved;
}

const none: Sum = { objectCount: 0, bytes: 0 };

type Kind = 'kept' | 'young' | 'inUse' | 'candidates';

interface FoundInput {
  readonly keep: PrefixSet;
  readonly isInUse: (oid: string) => boolean;
  /** Younger objects are kept. */
  readonly storedBeforeMs: number;
  readonly write: (file: number, candidates: readonly Candidate[]) => Promise<void>;
}

/** What a listing has found, and the files of its candidates. */
class Found {
  readonly #input: FoundInput;
  readonly #sums: Record<Kind | 'listed', Sum> = {
    listed: none,
    kept: none,
    young: none,
    inUse: none,
    candidates: none,
  };
  #waiting: Candidate[] = [];
  #files = 0;
  #largest: Candidate[] = [];

  constructor(input: FoundInput) {
    this.#input = input;
  }

  /** @param prefix of the repo. What is no object of git-lfs is no candidate, and is not counted. */
  async add(page: ListedPage, prefix: string): Promise<void> {
    for (let index = 0; index < page.keyCount; index += 1) {
      const oid = page.keyAt(index).slice(prefix.length);
      if (!isOid(oid)) continue;
      const candidate = { oid, sizeBytes: page.sizeAt(index) };
      this.#note('listed', candidate);
      const kind = this.#kindOf(oid, page.lastModifiedMsAt(index));
      this.#note(kind, candidate);
      if (kind === 'candidates') this.#choose(candidate);
    }
    while (this.#waiting.length >= fileLinesMax) await this.#flush();
  }

  async end(): Promise<Omit<Selection, 'folder' | 'seenAtMs'>> {
    if (this.#waiting.length > 0) await this.#flush();
    return { ...this.#sums, files: this.#files, largest: this.#largest };
  }

  #kindOf(oid: string, storedAtMs: number | undefined): Kind {
    const { keep, isInUse, storedBeforeMs } = this.#input;
    if (keep.has(oid)) return 'kept';
    if (isInUse(oid)) return 'inUse';
    // If the store does not say when, it may have been now.
    return storedAtMs !== undefined && storedAtMs <= storedBeforeMs ? 'candidates' : 'young';
  }

  #note(kind: Kind | 'listed', { sizeBytes }: Candidate): void {
    this.#sums[kind] = plus(this.#sums[kind], { objectCount: 1, bytes: sizeBytes });
  }

  #choose(candidate: Candidate): void {
    this.#waiting.push(candidate);
    const least = this.#largest.at(-1);
    if (this.#largest.length >= largestMax && least && candidate.sizeBytes <= least.sizeBytes) return;
    this.#largest = [...this.#largest, candidate]
      .sort((a, b) => b.sizeBytes - a.sizeBytes)
      .slice(0, largestMax);
  }

  async #flush(): Promise<void> {
    const candidates = this.#waiting.splice(0, fileLinesMax);
    const file = this.#files;
    this.#files += 1;
    await this.#input.write(file, candidates);
  }
}
