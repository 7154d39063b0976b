import {
  candidateListsMax,
  chargedUntilMs,
  mayListCandidatesAtMs,
} from '../../core/ledger/rules/reconcile-policy.ts';
import { isLapsed } from '../../core/ledger/rules/reservation.ts';
import { sha256Hex } from '../../core/rules/hash.ts';
import { isOid, repoPrefix } from '../../core/rules/names.ts';
import { PrefixSet, prefixBytes } from '../../core/rules/prefix-set.ts';
import {
  type ListedPage,
  type ListPageRequest,
  nextPage,
  StoreUnavailableError,
} from '../../core/store/rules/store.ts';
import { type GcDeps, putGc, readSeen, removeGcFiles } from './gc.ts';
import {
  type Candidate,
  candidatesKey,
  encodeCandidates,
  type Gc,
  type GcFailure,
  type GcRun,
  lookedAt,
  plus,
  reachableSetKey,
  type Selection,
  type Sum,
  tooManyNames,
  watchPrefix,
  withFailure,
  withSelection,
  withStep,
} from './rules/gc.ts';

/** Attempts at a page, beside those of its requests. */
const pageAttemptsMax = 4;
/** Pause before the second of them, and as much longer before each further one. */
const pagePauseMs = 1_000;
const firstDigits = [...'0123456789abcdef'];
/**
 * Candidates of one file. The files are in the store, not in the table, because each upload batch reads all deletions
 * of its repo.
 */
const fileLinesMax = 10_000;
/** Candidates that are shown. */
const largestMax = 10;
/** A step lists for so long, however long it took to read what is needed. */
const stepMinMs = 10_000;
/** A page may end so long after its step. */
const pageGraceMs = 10_000;

interface Choosing {
  readonly tenant: string;
  readonly gc: Gc;
  readonly run: GcRun;
  /** LIST requests that the tenant's budget lets this step make. */
  readonly requestsMax: number;
  readonly untilMs: number;
}

/**
 * Lists the repo, and writes down what may be deleted: what is stored, old enough, and neither in the reachable set, nor named by
 * a batch since the watch was opened, nor reserved. It changes nothing in the store.
 *
 * It takes one step: until its time is up, or the tenant's budget of LIST requests. The gc run remembers how far it is.
 *
 * @param input.untilMs pages are requested until then, but for 10 s in any case. Each ends within 10 s more.
 * @param input.gcCount of the tenant, which share its budget. Default: 1.
 * @returns the gc run with what was found; still selecting, if its time was up first. `waiting`: nothing more can be done
 * now, or somebody else has changed it meanwhile.
 * @throws {StoreUnavailableError | LedgerUnavailableError} The step is to be made again.
 */
export async function selectCandidates(
  deps: GcDeps,
  input: { tenant: string; gc: Gc; untilMs: number; gcCount?: number },
): Promise<Gc | 'waiting'> {
  const { clock, ledger, log, settings } = deps;
  const { tenant, gc: before, untilMs, gcCount = 1 } = input;
  const { repo, run, selecting } = before;
  if (!run) throw new Error('A gc run without a run selects no candidates.');
  const record = await ledger.readTenant(tenant);
  if (!record) return 'waiting';
  const { listedUntilMs } = record;
  const nowMs = clock.nowMs();
  const mayListAtMs = mayListCandidatesAtMs({
    listedUntilMs,
    sinceMs: selecting?.atMs ?? run.requestedAtMs,
  });
  if (mayListAtMs > nowMs) {
    // Not each message of the tenant writes it.
    if ((before.dueAtMs ?? 0) <= nowMs)
      await putGc(deps, { tenant, gc: { ...before, dueAtMs: mayListAtMs }, read: before });
    return 'waiting';
  }
  const requestsMax = candidateListsMax(settings, {
    listedUntilMs,
    isFirst: !selecting,
    gcCount,
    nowMs,
  });
  const looking = lookedAt(before, { nowMs });
  const gc = await putGc(deps, { tenant, gc: looking, read: before });
  if (!gc) return 'waiting';
  const next = await takeStep(deps, { tenant, gc, run, requestsMax, untilMs });
  const put = await putGc(deps, { tenant, gc: next, read: gc });
  if (!put) return 'waiting';
  if (put.state === 'selecting') return (put.dueAtMs ?? 0) > clock.nowMs() ? 'waiting' : put;
  const { failure, selection } = put;
  log.info('gc run selected', {
    tenant,
    repo,
    isDryRun: run.isDryRun,
    ...(failure && { failure: failure.reason }),
    ...(selection && { listed: selection.listed, candidates: selection.candidates }),
  });
  return put;
}

async function takeStep(deps: GcDeps, input: Choosing): Promise<Gc> {
  const { ids, clock, archives } = deps;
  const { tenant, gc, run, untilMs } = input;
  const { repo, watch, selecting } = gc;
  const path = { tenant, watchId: watch.id };
  // Those of the runs before. An older version kept this run's set among them.
  if (!selecting && gc.set) await removeGcFiles(deps, watchPrefix(path));
  const keep = await readReachableSet(deps, { ...path, repo, run });
  if (!(keep instanceof PrefixSet)) return withFailure(gc, keep);
  // Of the first step, for all: what batches named earlier is read now and in each step, what they named later before a delete.
  const seenAtMs = selecting?.found.seenAtMs ?? clock.nowMs();
  const seen = await readSeen(deps, { ...path, fromMs: 0 });
  if (!seen) return withFailure(gc, tooManyNames);
  const reserved = await readReserved(deps, { tenant, repo });
  // A step that is made again writes the same files: if the earlier one's lands late, some candidates are left to the next run.
  const folder = selecting?.found.folder ?? ids.random(16);
  const found = new Found({
    before: selecting?.found ?? { ...nothingFound, folder, seenAtMs },
    keep,
    isInUse: (oid) => seen.has(oid),
    reserved,
    storedBeforeMs: seenAtMs - run.minAgeMs,
    write: (file, candidates) =>
      archives.put(candidatesKey(path, { folder, file }), encodeCandidates(candidates)),
  });
  const step = new ListingStep(deps, {
    prefix: repoPrefix({ tenant, repo }),
    after: selecting?.after ?? firstDigits.map(() => ''),
    requestsMax: input.requestsMax,
    untilMs: Math.max(untilMs, clock.nowMs() + stepMinMs),
    found,
  });
  let listedUntilMs: number;
  try {
    await step.run();
  } finally {
    listedUntilMs = await charge(deps, { tenant, requests: step.requests });
  }
  const selection = await found.end();
  const nowMs = clock.nowMs();
  if (step.isDone) return withSelection(gc, { selection, nowMs });
  const mayListAtMs = mayListCandidatesAtMs({ listedUntilMs, sinceMs: nowMs });
  const dueAtMs = step.isSpent ? Math.max(nowMs + 1, mayListAtMs) : nowMs;
  return withStep(gc, { selecting: { found: selection, after: step.after, atMs: nowMs }, dueAtMs });
}

/**
 * Charges the tenant's budget. A reconcile that is under way at the same time may replace that by what it has used itself: then
 * this step was free.
 *
 * @returns until when the budget is used up.
 */
async function charge(
  { ledger, clock, settings }: GcDeps,
  { tenant, requests }: { tenant: string; requests: number },
): Promise<number> {
  const record = await ledger.readTenant(tenant);
  if (!record) return 0;
  const { epoch } = record;
  const nowMs = clock.nowMs();
  const listedUntilMs = chargedUntilMs(settings, { listedUntilMs: record.listedUntilMs, requests, nowMs });
  await ledger.setLease({ tenant, epoch, listedUntilMs });
  return listedUntilMs;
}

/** Lists a repo by the first digits of its objects, from where it was left to where time or budget end. */
class ListingStep {
  readonly #deps: Pick<GcDeps, 'listing' | 'clock'>;
  readonly #input: { prefix: string; requestsMax: number; untilMs: number; found: Found };
  readonly #after: (string | null)[];
  requests = 0;
  #hasListed = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(
    deps: Pick<GcDeps, 'listing' | 'clock'>,
    input: {
      prefix: string;
      after: readonly (string | null)[];
      requestsMax: number;
      untilMs: number;
      found: Found;
    },
  ) {
    this.#deps = deps;
    this.#input = input;
    this.#after = [...input.after];
  }

  /** What `after` of {@link Gc.selecting} says. */
  get after(): readonly (string | null)[] {
    return this.#after;
  }

  get isDone(): boolean {
    return this.#after.every((after) => after === null);
  }

  get isSpent(): boolean {
    return this.requests >= this.#input.requestsMax;
  }

  /** @throws {StoreUnavailableError} if a page fails again and again, or none came before the time was up. */
  async run(): Promise<void> {
    await Promise.all(
      firstDigits.map(async (digit, lane) => {
        try {
          await this.#list(digit, lane);
        } catch (error) {
          this.#failure ??= { error };
        }
      }),
    );
    if (this.#failure) throw this.#failure.error;
    if (!this.#hasListed && !this.isDone)
      throw new StoreUnavailableError('The store listed no page of a gc run in time.');
  }

  async #list(digit: string, lane: number): Promise<void> {
    const { prefix, found } = this.#input;
    for (let after = this.#after[lane] ?? null; after !== null && !this.#mustStop(); ) {
      const page = await this.#page({
        prefix: prefix + digit,
        readsTimes: true,
        // Older versions of MinIO list nothing after a key that doesn't begin with the prefix.
        ...(after !== '' && { startAfter: prefix + after }),
      });
      if (!page) return;
      this.#hasListed = true;
      await found.add(page, prefix);
      after = page.isTruncated ? page.keyAt(page.keyCount - 1).slice(prefix.length) : null;
      this.#after[lane] = after;
    }
  }

  #mustStop(): boolean {
    return this.#failure !== undefined || this.isSpent || this.#deps.clock.nowMs() > this.#input.untilMs;
  }

  /** A failure of one page would have all of the step listed again. @returns undefined if the time was up first. */
  async #page(request: ListPageRequest): Promise<ListedPage | undefined> {
    const { listing, clock } = this.#deps;
    const deadlineMs = this.#input.untilMs + pageGraceMs;
    const counting = {
      listPage: (next: ListPageRequest) => {
        this.requests += 1;
        return listing.listPage(next);
      },
    };
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await nextPage(counting, { ...request, deadlineMs });
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        if (clock.nowMs() > this.#input.untilMs) return undefined;
        if (attempt >= pageAttemptsMax) throw error;
        await clock.sleep(pagePauseMs * attempt);
      }
    }
  }
}

async function readReachableSet(
  { archives }: GcDeps,
  { run, ...path }: { tenant: string; repo: string; watchId: string; run: GcRun },
): Promise<PrefixSet | GcFailure> {
  const olderKey = `${watchPrefix(path)}keep-${run.reachableSha256}`;
  const bytes = (await archives.get(reachableSetKey(path))) ?? (await archives.get(olderKey));
  const isWhole =
    bytes?.length === run.reachableCount * prefixBytes && sha256Hex(bytes) === run.reachableSha256;
  // Nothing may be deleted by half a reachable set.
  if (!bytes || !isWhole) {
    const message = "The uploaded reachable set doesn't match the request. Run it again.";
    return { reason: 'no-reachable-set', message };
  }
  const keep = new PrefixSet();
  keep.add(bytes);
  return keep;
}

/** What live reservations claim: oid → when the last of them is lapsed. */
async function readReserved(
  { ledger, clock }: GcDeps,
  path: { tenant: string; repo: string },
): Promise<ReadonlyMap<string, number>> {
  const reserved = new Map<string, number>();
  for await (const page of ledger.reservationsOf({ ...path, ofUploads: true }))
    for (const reservation of page)
      if (!isLapsed(reservation, clock.nowMs()))
        for (const oid of reservation.entries.keys())
          reserved.set(oid, Math.max(reservation.lapsedAtMs, reserved.get(oid) ?? 0));
  return reserved;
}

const none: Sum = { objectCount: 0, bytes: 0 };

const nothingFound = {
  files: 0,
  listed: none,
  kept: none,
  young: none,
  inUse: none,
  candidates: none,
  largest: [],
};

type Kind = 'kept' | 'young' | 'inUse' | 'candidates';

interface FoundInput {
  /** By the steps before. */
  readonly before: Selection;
  readonly keep: PrefixSet;
  readonly isInUse: (oid: string) => boolean;
  /** oid → until when its reservation lives. */
  readonly reserved: ReadonlyMap<string, number>;
  /** Younger objects are kept. */
  readonly storedBeforeMs: number;
  readonly write: (file: number, candidates: readonly Candidate[]) => Promise<void>;
}

/** What a listing has found, and the files of its candidates. */
class Found {
  readonly #input: FoundInput;
  readonly #sums: Record<Kind | 'listed', Sum>;
  #reserved: Selection['reserved'];
  #waiting: Candidate[] = [];
  #files: number;
  #largest: readonly Candidate[];

  constructor(input: FoundInput) {
    const { listed, kept, young, inUse, reserved, candidates, files, largest } = input.before;
    this.#reserved = reserved;
    this.#input = input;
    this.#sums = { listed, kept, young, inUse, candidates };
    this.#files = files;
    this.#largest = largest;
  }

  /** @param prefix of the repo. What is no object of git-lfs is no candidate, and is not counted. */
  async add(page: ListedPage, prefix: string): Promise<void> {
    for (let index = 0; index < page.keyCount; index += 1) {
      const oid = page.keyAt(index).slice(prefix.length);
      if (!isOid(oid)) continue;
      const candidate = { oid, sizeBytes: page.sizeAt(index) };
      this.#note('listed', candidate);
      const kind = this.#kindOf(oid, page.lastModifiedMsAt(index));
      if (kind === 'reserved') {
        this.#noteReserved(candidate);
        continue;
      }
      this.#note(kind, candidate);
      if (kind === 'candidates') this.#choose(candidate);
    }
    while (this.#waiting.length >= fileLinesMax) await this.#flush();
  }

  async end(): Promise<Selection> {
    if (this.#waiting.length > 0) await this.#flush();
    const { folder, seenAtMs } = this.#input.before;
    const reserved = this.#reserved && { reserved: this.#reserved };
    return { folder, seenAtMs, ...this.#sums, ...reserved, files: this.#files, largest: this.#largest };
  }

  #kindOf(oid: string, storedAtMs: number | undefined): Kind | 'reserved' {
    const { keep, isInUse, reserved, storedBeforeMs } = this.#input;
    if (keep.has(oid)) return 'kept';
    if (isInUse(oid)) return 'inUse';
    if (reserved.has(oid)) return 'reserved';
    // If the store does not say when, it may have been now.
    return storedAtMs !== undefined && storedAtMs <= storedBeforeMs ? 'candidates' : 'young';
  }

  #noteReserved({ oid, sizeBytes }: Candidate): void {
    const { untilMs, ...before } = this.#reserved ?? { ...none, untilMs: 0 };
    const more = plus(before, { objectCount: 1, bytes: sizeBytes });
    this.#reserved = { ...more, untilMs: Math.max(untilMs, this.#input.reserved.get(oid) ?? 0) };
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
