import { sha256Hex } from '../../../../lambda/core/rules/hash.ts';
import type { UploadPath } from '../../../../lambda/subjects/chunks/rules/upload.ts';
import type { Random } from '../../../support/random.ts';
import { Violation } from '../../invariants.ts';
import { askOnce, calmRetriesMax, patienceWithSqsMs, send } from '../../push.ts';
import type { TenantWorld } from '../../tenant-world.ts';
import type { World } from '../../world.ts';
import { type Content, chunkCount, chunkedAboveBytes, chunkOf } from './chunk-contents.ts';
import type { ChunkWatch } from './chunk-watch.ts';
import { its } from './version.ts';

const minute = 60_000;
const hour = 60 * minute;

/** What somebody does wrong, on purpose. `honest`: nothing. */
export type Way =
  | 'honest'
  /** Says of some chunks that another state is before them. */
  | 'lies-about-states'
  /** Sends two chunks in each other's place. */
  | 'swaps'
  /** Sends chunks of another object. */
  | 'sends-another'
  /** Sends some chunks only when their URL is about to expire, so that they arrive long after. */
  | 'comes-late'
  /** Never sends the last chunk. */
  | 'leaves'
  /** Sends another chunk once the first has arrived. */
  | 'replaces'
  /** Sends it as clients do that have never heard of chunks. */
  | 'plain';

export interface Errand {
  readonly repo: string;
  /** What is pushed: one, or several in the same batches. */
  readonly contents: readonly Content[];
  readonly madeBy: string;
  /** Their token. undefined: as a CI job's, or a git host's user, they have none that can be revoked. */
  readonly tokenId: string | undefined;
  readonly way: Way;
  /** Of which chunks are sent by one who sends another's. */
  readonly other: Content;
}

interface Ticket extends UploadPath {
  readonly token: string;
  readonly content: Content;
  /** When the batch began that gave it. As with a PUT, who deletes the object after that is heard. */
  readonly askedMs: number;
}

/** What a batch was told: what is settled, what is sent in chunks, and after how long to ask again for the rest. */
interface Told {
  readonly settled: ReadonlySet<Content>;
  readonly tickets: readonly Ticket[];
  readonly waitMs: number;
}

/** Batches after which an honest agent counts as stuck, in calm weather. */
const calmBatchesMax = 60;

/** Somebody who uploads objects, by `lfs-quota agent` or in a way of their own. */
export class ChunkAgent {
  readonly #world: World;
  readonly #tenant: TenantWorld;
  readonly #watch: ChunkWatch;
  readonly #random: Random;
  readonly #errand: Errand;
  readonly #isSpoilable: (oid: string) => boolean;
  #calmBatches = 0;

  /** @param input.isSpoilable whether others of the same maker may have spoiled an object's upload, which they share. */
  constructor(input: {
    world: World;
    tenant: TenantWorld;
    watch: ChunkWatch;
    random: Random;
    errand: Errand;
    isSpoilable: (oid: string) => boolean;
  }) {
    this.#isSpoilable = input.isSpoilable;
    this.#world = input.world;
    this.#tenant = input.tenant;
    this.#watch = input.watch;
    this.#random = input.random;
    this.#errand = input.errand;
  }

  get isHonest(): boolean {
    return this.#errand.way === 'honest' && !this.#errand.contents.some(({ isForged }) => isForged);
  }

  get #isRevoked(): boolean {
    return this.#watch.isRevoked(this.#errand.tokenId, this.#tenant.scheduler.nowMs);
  }

  /** @throws {Violation} if it is honest and gets nowhere. */
  async run(): Promise<void> {
    const { weather } = this.#tenant;
    let left = this.#errand.contents;
    for (let batches = 0; left.length > 0; batches += 1) {
      if (weather.calm) this.#calmBatches += 1;
      if ((!this.isHonest && batches === 3) || this.#isRevoked) return;
      if (this.#calmBatches > calmBatchesMax)
        throw new Violation('Chunks: an honest agent asks for ever, and its object is not stored');
      const told = await this.#ask(left);
      if (told === 'no-repo') return;
      const stored = new Set(told.settled);
      await Promise.all(
        told.tickets.map(async (ticket) => {
          if ((await this.#upload(ticket)) === 'stored') stored.add(ticket.content);
        }),
      );
      left = left.filter((content) => !stored.has(content));
      if (left.length > 0) await this.#tenant.wait(told.waitMs);
    }
  }

  async #ask(contents: readonly Content[]): Promise<Told | 'no-repo'> {
    const { repo, madeBy, tokenId, way } = this.#errand;
    const again = (waitMs: number): Told => ({ settled: new Set(), tickets: [], waitMs });
    const askedMs = this.#tenant.scheduler.nowMs;
    const objects = new Map(contents.map(({ oid, bytes }) => [oid, bytes.length]));
    const chunked = new Set([...objects].flatMap(([oid, size]) => (size > chunkedAboveBytes ? [oid] : [])));
    const verdicts = await askOnce(this.#tenant, {
      repo,
      objects,
      madeBy,
      tokenId,
      ...(way !== 'plain' && { chunked }),
      onChunks: (oid, upload) =>
        this.#watch.hold({ tenant: this.#tenant.tenant, repo, oid, upload }, objects.get(oid) ?? 0),
    });
    if (verdicts === 'absent') return 'no-repo';
    if (verdicts === 'error') return again(this.#random.int(500, 10_000));
    // A message of SQS whose function died comes again minutes later.
    if (typeof verdicts === 'number')
      return again(this.#calmBatches > calmRetriesMax ? Math.max(verdicts, patienceWithSqsMs) : verdicts);
    if ('heldUntilMs' in verdicts)
      return again(Math.max(0, verdicts.heldUntilMs - this.#tenant.scheduler.nowMs) + minute);
    const settled = new Set<Content>();
    const tickets: Ticket[] = [];
    let waitMs = this.#random.int(1_000, 2 * minute);
    for (const content of contents) {
      const { oid } = content;
      const verdict = verdicts.get(oid);
      switch (verdict?.kind) {
        case 'stored':
        case 'over-limit':
          settled.add(content);
          break;
        case 'busy':
          waitMs = this.#random.int(hour, 4 * hour);
          break;
        case 'upload':
          if (!content.isForged)
            await send(this.#tenant, { repo, oid, plan: 'at-once', href: verdict.put.href });
          break;
        case 'chunks': {
          const { upload, token } = verdict;
          if (verdict.isResumed) this.#watch.counts.resumed += 1;
          tickets.push({ tenant: this.#tenant.tenant, repo, oid, upload, token, content, askedMs });
          break;
        }
        default:
          throw new Error(`A verdict that nobody expects: ${verdict?.kind}`);
      }
    }
    if (tickets.length > 1) this.#watch.counts.pairs += 1;
    return { settled, tickets, waitMs };
  }

  /** One life of an agent with one upload. Most live until the end. */
  async #upload(ticket: Ticket): Promise<'stored' | 'over'> {
    const { scheduler, weather, wait } = this.#tenant;
    const random = this.#random;
    let stepsLeft = !weather.calm && random.chance(0.25) ? random.int(0, 6) : Number.POSITIVE_INFINITY;
    const beganMs = scheduler.nowMs;
    const under = new Set<number>();
    const toReport = new Map<number, string>();
    let polls = 0;
    for (;;) {
      stepsLeft -= 1;
      if (stepsLeft < 0) {
        // It died, and somebody starts it again, on this machine or another.
        await wait(random.pick([1_000, 10 * minute, 3 * hour, 25 * hour]));
        return 'over';
      }
      const status = await this.#look(ticket);
      if (status === 'unknown') return 'over';
      if (status === 'error') {
        await wait(random.int(500, 10_000));
        continue;
      }
      if (status.state === 'stored') return 'stored';
      if (status.state !== 'open') {
        if (status.state === 'wrong') this.#checkWrong(ticket);
        return 'over';
      }
      const isStored = new Set(status.stored);
      for (const chunk of status.unproven) toReport.set(chunk, this.#stateBefore(ticket, chunk));
      const missing = [...ticket.content.statesBefore.keys()].filter(
        (chunk) => !isStored.has(chunk) && !under.has(chunk) && !this.#isLeft(ticket, chunk),
      );
      const answer = await this.#report(ticket, {
        stored: [...toReport].map(([chunk, stateBefore]) => ({ chunk, stateBefore })),
        wanted: missing.map((chunk) => ({ chunk, sha256: sha256Hex(this.#bytesFor(ticket, chunk)) })),
      });
      // Somebody else of the same maker may have begun it with other bytes.
      if (answer === 'over') return 'over';
      if (answer !== 'error') {
        toReport.clear();
        for (const { chunk, put } of answer.urls) {
          under.add(chunk);
          this.#tenant.start(0, async () => {
            await this.#put(ticket, chunk, put.href);
            under.delete(chunk);
          });
        }
      }
      polls += 1;
      if (!this.isHonest && polls > 12) return 'over';
      // Nobody waits longer than an upload can be open.
      if (scheduler.nowMs > beganMs + 9 * 24 * hour)
        throw new Violation('Chunks: an agent waits for its upload for ever');
      await wait(polls < 20 ? random.int(500, 30_000) : random.int(minute, 20 * minute));
    }
  }

  /** Only where somebody else of the same maker may have spoiled it. */
  #checkWrong({ oid }: Ticket): void {
    if (this.isHonest && !this.#isSpoilable(oid))
      throw new Violation('Chunks: an honest upload is said to be wrong');
  }

  #isLeft({ content }: Ticket, chunk: number): boolean {
    return this.#errand.way === 'leaves' && chunk === chunkCount(content) - 1;
  }

  #stateBefore({ content }: Ticket, chunk: number): string {
    const { way } = this.#errand;
    const state = content.statesBefore[chunk] ?? '';
    return way === 'lies-about-states' && this.#random.chance(0.5) ? sha256Hex(state) : state;
  }

  #bytesFor({ content }: Ticket, chunk: number): Uint8Array {
    const { way, other } = this.#errand;
    const own = chunkOf(content, chunk);
    const swapped = chunkOf(content, chunk === 0 ? 1 : chunk === 1 ? 0 : chunk);
    if (way === 'swaps' && swapped.length === own.length) return swapped;
    const others = chunkOf(other, chunk);
    return way === 'sends-another' && others.length === own.length ? others : own;
  }

  async #put(ticket: Ticket, chunk: number, href: string): Promise<void> {
    const { way } = this.#errand;
    const random = this.#random;
    await this.#putOnce(href, this.#bytesFor(ticket, chunk), way === 'comes-late' || random.chance(0.05));
    if (way === 'replaces') {
      const other = await this.#wantOther(ticket, chunk);
      if (other) await this.#putOnce(other.href, other.bytes, random.chance(0.3));
    }
    // A URL can be used again.
    if (random.chance(0.05))
      this.#tenant.start(0, () => this.#putOnce(href, this.#bytesFor(ticket, chunk), true));
  }

  async #wantOther(ticket: Ticket, chunk: number): Promise<{ href: string; bytes: Uint8Array } | undefined> {
    const bytes = Uint8Array.from(this.#bytesFor(ticket, chunk), (byte) => byte ^ 1);
    const answer = await this.#report(ticket, {
      stored: [{ chunk, stateBefore: this.#stateBefore(ticket, chunk) }],
      wanted: [{ chunk, sha256: sha256Hex(bytes) }],
    });
    const url = typeof answer === 'object' ? answer.urls[0] : undefined;
    return url && { href: url.put.href, bytes };
  }

  /** The store takes exactly the bytes that the URL was signed for, if the PUT begins before it expires. */
  async #putOnce(href: string, bytes: Uint8Array, isLate: boolean): Promise<void> {
    const { wait, scheduler, settings } = this.#tenant;
    const random = this.#random;
    const signed = JSON.parse(href) as { key: string; oid: string; sizeBytes: number; expiresAtMs: number };
    const { key, expiresAtMs } = signed;
    const folder = key.slice(0, key.lastIndexOf('/') + 1);
    this.#watch.noteUrl(folder, expiresAtMs);
    const leftMs = Math.max(0, expiresAtMs - scheduler.nowMs);
    await wait(isLate ? Math.max(0, leftMs - random.int(0, 2_000)) : random.int(0, 2_000));
    const isSigned = signed.oid === sha256Hex(bytes) && signed.sizeBytes === bytes.length;
    if (!isSigned || scheduler.nowMs > expiresAtMs) return;
    const longestMs = settings.putGraceMs + Math.floor((bytes.length / settings.putMinBytesPerSecond) * 1000);
    this.#watch.beginPut(folder);
    await wait(isLate || random.chance(0.1) ? random.int(0, longestMs) : random.int(1, 5_000));
    if (!random.chance(0.05)) await this.#world.archives.putSource(key, bytes);
    this.#watch.endPut(folder);
  }

  async #look({ token, content: _, askedMs, ...path }: Ticket) {
    const beganMs = this.#tenant.scheduler.nowMs;
    const result = await this.#world.invoke(async (deps, code) => {
      const upload = await its(code).findUpload(deps, { ...path, token });
      return upload && its(code).progressOf(deps, upload);
    });
    if (typeof result !== 'object') return 'error';
    this.#watch.checkServed(path, { ...this.#errand, beganMs, state: result.answer?.state });
    if (result.answer?.state === 'stored') this.#tenant.invariants.reportStored(path, askedMs);
    return result.answer ?? 'unknown';
  }

  async #report(ticket: Ticket, wishes: Parameters<ReturnType<typeof its>['serveChunks']>[2]) {
    const { token, content: _, askedMs: __, ...path } = ticket;
    const beganMs = this.#tenant.scheduler.nowMs;
    const result = await this.#world.invoke(async (deps, code) => {
      const upload = await its(code).findUpload(deps, { ...path, token });
      return upload && its(code).serveChunks(deps, upload, wishes);
    });
    if (typeof result !== 'object') return 'error';
    const { answer } = result;
    const state = answer?.kind === 'no-chunk' ? undefined : answer?.state;
    this.#watch.checkServed(path, { ...this.#errand, beganMs, state });
    return answer?.kind === 'served' ? answer : 'over';
  }
}
