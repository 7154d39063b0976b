import type { UploadPath } from '../../lambda/chunks/rules/upload.ts';
import { sha256Hex } from '../../lambda/rules/hash.ts';
import type { Random } from '../support/random.ts';
import { type Content, chunkCount, chunkOf } from './chunk-contents.ts';
import type { ChunkWatch } from './chunk-watch.ts';
import type { Code } from './code.ts';
import { Violation } from './invariants.ts';
import { askOnce, send } from './push.ts';
import type { TenantWorld } from './tenant-world.ts';
import type { World } from './world.ts';

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
  readonly content: Content;
  readonly madeBy: string;
  readonly way: Way;
  /** Of which chunks are sent by one who sends another's. */
  readonly other: Content;
}

interface Ticket extends UploadPath {
  readonly token: string;
}

type Outcome = 'stored' | 'refused' | 'gave-up' | 'no-repo';

/** Batches after which an honest agent counts as stuck, in calm weather. */
const calmBatchesMax = 60;

/** Somebody who uploads one object, by `lfs-quota agent` or in a way of their own. */
export class ChunkAgent {
  readonly #world: World;
  readonly #tenant: TenantWorld;
  readonly #watch: ChunkWatch;
  readonly #random: Random;
  readonly #errand: Errand;
  readonly #isSpoilable: boolean;
  #calmBatches = 0;

  /** @param input.isSpoilable whether others of the same maker may have spoiled its upload, which they share. */
  constructor(input: {
    world: World;
    tenant: TenantWorld;
    watch: ChunkWatch;
    random: Random;
    errand: Errand;
    isSpoilable: boolean;
  }) {
    this.#isSpoilable = input.isSpoilable;
    this.#world = input.world;
    this.#tenant = input.tenant;
    this.#watch = input.watch;
    this.#random = input.random;
    this.#errand = input.errand;
  }

  get isHonest(): boolean {
    return this.#errand.way === 'honest' && !this.#errand.content.isForged;
  }

  /** @throws {Violation} if it is honest and gets nowhere. */
  async run(): Promise<Outcome> {
    const { weather } = this.#tenant;
    for (let batches = 0; ; batches += 1) {
      if (weather.calm) this.#calmBatches += 1;
      if (!this.isHonest && batches === 3) return 'gave-up';
      if (this.#calmBatches > calmBatchesMax)
        throw new Violation('Chunks: an honest agent asks for ever, and its object is not stored');
      const answer = await this.#ask();
      if (typeof answer === 'string') return answer;
      if (typeof answer === 'number') {
        await this.#tenant.wait(answer);
        continue;
      }
      if ((await this.#upload(answer)) === 'stored') return 'stored';
      await this.#tenant.wait(this.#random.int(1_000, 2 * minute));
    }
  }

  /** @returns after how long to ask again, or the end of it. */
  async #ask(): Promise<Ticket | number | Outcome> {
    const { repo, content, madeBy, way } = this.#errand;
    const { oid, bytes } = content;
    const objects = new Map([[oid, bytes.length]]);
    const verdicts = await askOnce(this.#tenant, {
      repo,
      objects,
      madeBy,
      ...(way !== 'plain' && { chunked: new Set([oid]) }),
      onChunks: (each, upload) =>
        this.#watch.hold({ tenant: this.#tenant.tenant, repo, oid: each, upload }, bytes.length),
    });
    if (verdicts === 'absent') return 'no-repo';
    if (verdicts === 'error') return this.#random.int(500, 10_000);
    if (typeof verdicts === 'number') return verdicts;
    if ('heldUntilMs' in verdicts)
      return Math.max(0, verdicts.heldUntilMs - this.#tenant.scheduler.nowMs) + minute;
    const verdict = verdicts.get(oid);
    switch (verdict?.kind) {
      case 'stored':
        return 'stored';
      case 'over-limit':
        return 'refused';
      case 'busy':
        return this.isHonest ? this.#random.int(hour, 4 * hour) : 'gave-up';
      case 'upload':
        if (!content.isForged)
          await send(this.#tenant, { repo, oid, plan: 'at-once', href: verdict.put.href });
        return this.isHonest ? minute : 'gave-up';
      case 'chunks': {
        const { upload, token } = verdict;
        const path = { tenant: this.#tenant.tenant, repo, oid, upload };
        if (verdict.isResumed) this.#watch.counts.resumed += 1;
        return { ...path, token };
      }
      default:
        throw new Error(`A verdict that nobody expects: ${verdict?.kind}`);
    }
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
        if (status.state === 'wrong') this.#checkWrong();
        return 'over';
      }
      const isStored = new Set(status.stored);
      for (const chunk of status.unproven) toReport.set(chunk, this.#stateBefore(chunk));
      const missing = [...this.#errand.content.statesBefore.keys()].filter(
        (chunk) => !isStored.has(chunk) && !under.has(chunk) && !this.#isLeft(chunk),
      );
      const answer = await this.#report(ticket, {
        stored: [...toReport].map(([chunk, stateBefore]) => ({ chunk, stateBefore })),
        wanted: missing.map((chunk) => ({ chunk, sha256: sha256Hex(this.#bytesFor(chunk)) })),
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
  #checkWrong(): void {
    if (this.isHonest && !this.#isSpoilable)
      throw new Violation('Chunks: an honest upload is said to be wrong');
  }

  #isLeft(chunk: number): boolean {
    return this.#errand.way === 'leaves' && chunk === chunkCount(this.#errand.content) - 1;
  }

  #stateBefore(chunk: number): string {
    const { content, way } = this.#errand;
    const state = content.statesBefore[chunk] ?? '';
    return way === 'lies-about-states' && this.#random.chance(0.5) ? sha256Hex(state) : state;
  }

  #bytesFor(chunk: number): Uint8Array {
    const { content, way, other } = this.#errand;
    const own = chunkOf(content, chunk);
    const swapped = chunkOf(content, chunk === 0 ? 1 : chunk === 1 ? 0 : chunk);
    if (way === 'swaps' && swapped.length === own.length) return swapped;
    const others = chunkOf(other, chunk);
    return way === 'sends-another' && others.length === own.length ? others : own;
  }

  async #put(ticket: Ticket, chunk: number, href: string): Promise<void> {
    const { way } = this.#errand;
    const random = this.#random;
    await this.#putOnce(href, this.#bytesFor(chunk), way === 'comes-late' || random.chance(0.05));
    if (way === 'replaces') {
      const other = await this.#wantOther(ticket, chunk);
      if (other) await this.#putOnce(other.href, other.bytes, random.chance(0.3));
    }
    // A URL can be used again.
    if (random.chance(0.05)) this.#tenant.start(0, () => this.#putOnce(href, this.#bytesFor(chunk), true));
  }

  async #wantOther(ticket: Ticket, chunk: number): Promise<{ href: string; bytes: Uint8Array } | undefined> {
    const bytes = Uint8Array.from(this.#bytesFor(chunk), (byte) => byte ^ 1);
    const answer = await this.#report(ticket, {
      stored: [{ chunk, stateBefore: this.#stateBefore(chunk) }],
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

  async #look({ token, ...path }: Ticket) {
    const beganMs = this.#tenant.scheduler.nowMs;
    const result = await this.#world.invoke(async (deps, code) => {
      const upload = await code.findUpload(deps, { ...path, token });
      return upload && code.progressOf(deps, upload);
    });
    if (typeof result !== 'object') return 'error';
    if (result.answer?.state === 'stored') this.#tenant.invariants.reportStored(path, beganMs);
    return result.answer ?? 'unknown';
  }

  async #report(ticket: Ticket, wishes: Parameters<Code['serveChunks']>[2]) {
    const { token, ...path } = ticket;
    const result = await this.#world.invoke(async (deps, code) => {
      const upload = await code.findUpload(deps, { ...path, token });
      return upload && code.serveChunks(deps, upload, wishes);
    });
    if (typeof result !== 'object') return 'error';
    return result.answer?.kind === 'served' ? result.answer : 'over';
  }
}
