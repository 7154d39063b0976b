import { onceMoreIdStart, type Reservation } from '../../lambda/core/ledger/rules/reservation.ts';
import type { TenantRecord } from '../../lambda/core/ledger/rules/tenant.ts';
import { defaultSettings, type Settings } from '../../lambda/core/rules/settings.ts';
import type { MemoryLedger } from '../support/memory/ledger.ts';
import type { MemoryObjectStore } from '../support/memory/object-store.ts';
import { AroundChanges } from './around.ts';
import { type Issued, type NamedBytes, Promises } from './promises.ts';

/** The clock of the function that counted may have been ahead. */
function aroundSinceMs(fullScannedAtMs: number): number {
  return fullScannedAtMs - 2 * defaultSettings.clockSkewMs;
}

/** A URL that a client holds. */
interface HeldUrl {
  readonly repo: string;
  readonly oid: string;
  readonly sizeBytes: number;
  readonly expiresAtMs: number;
}

/** A PUT that has begun and not ended. */
interface Upload {
  readonly name: string;
  readonly sizeBytes: number;
}

interface Change {
  readonly atMs: number;
  readonly bytes: number;
  /** It was made around the API. */
  readonly isAround?: boolean;
}

/**
 * The true state of one tenant, which only the simulator knows: what the bucket has of it, its history, and who holds
 * which URL. It reads the ledger without an operation, so that looking changes nothing.
 */
export class Truth {
  readonly tenant: string;
  /** The bucket of all tenants, by keys. */
  readonly store: Pick<MemoryObjectStore, 'put' | 'delete'>;
  readonly ledger: MemoryLedger;
  /** (repo/oid) → bytes of what is stored. */
  readonly stored = new Map<string, number>();
  /** (repo/oid) → from when until when it was stored, each time. */
  readonly #spans = new Map<string, { readonly fromMs: number; untilMs: number }[]>();
  storedBytes = 0;
  readonly changes: Change[] = [];
  readonly around = new AroundChanges();
  readonly promises: Promises;
  /** Repos of files that were never opened after their delete: what holds for them is stronger. */
  readonly files: Set<string>;
  /** (repo/oid) of empty objects, which nobody sees. */
  readonly marked = new Set<string>();
  /** Grows with every change, also of what is known of the ledger. */
  version = 0;
  #urls: HeldUrl[] = [];
  readonly #uploading = new Set<Upload>();
  record: TenantRecord | undefined;
  reservations: readonly Reservation[] = [];

  constructor(input: {
    tenant: string;
    ledger: MemoryLedger;
    store: Truth['store'];
    settings: Settings;
    files: readonly string[];
  }) {
    this.tenant = input.tenant;
    this.ledger = input.ledger;
    this.store = input.store;
    this.files = new Set(input.files);
    this.promises = new Promises(input.settings);
  }

  /** @param object.lastModifiedMs what the store says of when it was put. */
  land(
    object: { repo: string; oid: string; sizeBytes: number; lastModifiedMs: number; mark?: string },
    nowMs: number,
  ): void {
    const { tenant } = this;
    const name = `${object.repo}/${object.oid}`;
    this.version += 1;
    this.store.put(`${tenant}/${name}`, object.sizeBytes, undefined, object.lastModifiedMs, object.mark);
    if (object.mark !== undefined) this.marked.add(name);
    if (this.stored.has(name)) return;
    this.#beginSpan(name, nowMs);
    this.stored.set(name, object.sizeBytes);
    this.storedBytes += object.sizeBytes;
    this.changes.push({ atMs: nowMs, bytes: object.sizeBytes });
  }

  /** Records that a delete removed this key from the bucket. */
  remove(key: string, nowMs: number): void {
    const name = key.slice(this.tenant.length + 1);
    const bytes = this.stored.get(name);
    if (bytes === undefined) return;
    this.version += 1;
    this.stored.delete(name);
    this.marked.delete(name);
    this.#endSpan(name, nowMs);
    this.storedBytes -= bytes;
    this.changes.push({ atMs: nowMs, bytes: -bytes });
    if (!this.isFile(name)) this.promises.noteRemoval(name, bytes);
  }

  /**
   * Somebody puts an object straight into the bucket, or removes one.
   *
   * @param input.sizeBytes undefined: it is removed.
   * @returns whether that changed anything.
   */
  changeAround(input: { name: string; sizeBytes?: number; isNoted: boolean }, atMs: number): boolean {
    const { name, sizeBytes, isNoted } = input;
    const before = this.stored.get(name);
    if ((before === undefined) === (sizeBytes === undefined)) return false;
    const key = `${this.tenant}/${name}`;
    this.version += 1;
    if (sizeBytes === undefined) {
      void this.store.delete([key]);
      this.stored.delete(name);
      this.marked.delete(name);
      this.#endSpan(name, atMs);
    } else {
      this.store.put(key, sizeBytes, undefined, atMs);
      this.stored.set(name, sizeBytes);
      this.#beginSpan(name, atMs);
    }
    const bytes = sizeBytes ?? -(before ?? 0);
    this.storedBytes += bytes;
    this.changes.push({ atMs, bytes, isAround: true });
    if (sizeBytes === undefined) this.promises.noteRemoval(name, before ?? 0);
    this.around.add({ name, bytes, isRemoval: sizeBytes === undefined, atMs, isNoted });
    return true;
  }

  /** Whether no URL of (repo/oid) stores anything once something is there, however late its PUT ends. */
  isFile(name: string): boolean {
    return this.files.has(name.slice(0, name.indexOf('/')));
  }

  /** Whether all below names that begin so are files. */
  areFiles(start: string): boolean {
    return start === '' ? this.files.size === 2 : this.files.has(start.slice(0, -1));
  }

  /** Since when (repo/oid) is stored. */
  storedSinceMs(name: string): number | undefined {
    return this.stored.has(name) ? this.#spans.get(name)?.at(-1)?.fromMs : undefined;
  }

  #beginSpan(name: string, fromMs: number): void {
    const spans = this.#spans.get(name) ?? [];
    this.#spans.set(name, [...spans, { fromMs, untilMs: Number.POSITIVE_INFINITY }]);
  }

  #endSpan(name: string, untilMs: number): void {
    const span = this.#spans.get(name)?.at(-1);
    if (span) span.untilMs = untilMs;
  }

  /** Whether (repo/oid) was stored at any moment between these. Default: ever. */
  wasStored(name: string, { fromMs = 0, untilMs = Number.POSITIVE_INFINITY } = {}): boolean {
    const spans = this.#spans.get(name) ?? [];
    return spans.some((span) => span.fromMs <= untilMs && span.untilMs >= fromMs);
  }

  /**
   * Whose uploads were granted and didn't arrive in time: (repo/oid) → bytes. What somebody removed straight from the bucket may
   * never have been seen.
   */
  unfinishedOf(madeBy: string, nowMs: number): Map<string, number> {
    return this.promises.lapsedOf(madeBy, {
      nowMs,
      isOver: (name, { fromMs, untilMs }) =>
        this.wasStored(name, { fromMs, untilMs }) && !this.around.isRemoved(name, fromMs),
    });
  }

  /** What was changed around the API since then may not be counted. */
  get aroundSinceMs(): number {
    return aroundSinceMs(this.record?.fullScannedAtMs ?? 0);
  }

  /** Reads the ledger's present state. */
  look(): void {
    const { record, reservations } = this.ledger.inspect(this.tenant);
    if (record === this.record && reservations === this.reservations) return;
    this.version += 1;
    if (record?.appliedEpoch !== this.record?.appliedEpoch) this.promises.noteReconcile();
    this.record = record;
    this.reservations = reservations;
  }

  /** A client has got a URL. */
  hold(url: HeldUrl): void {
    this.version += 1;
    this.#urls.push(url);
  }

  /** URLs that clients hold. Some that expired are left out. */
  get urls(): readonly HeldUrl[] {
    return this.#urls;
  }

  beginUpload(upload: Upload): void {
    this.version += 1;
    this.#uploading.add(upload);
  }

  endUpload(upload: Upload): void {
    this.version += 1;
    this.#uploading.delete(upload);
  }

  /** What is stored below names that begin so. */
  storedBelow(start: string): number {
    if (start === '') return this.storedBytes;
    let sum = 0;
    for (const [name, bytes] of this.stored) if (name.startsWith(start)) sum += bytes;
    return sum;
  }

  /** Whether anything below names that begin so is stored, or may arrive. */
  isEmptyBelow(start: string): boolean {
    const names = [...this.stored.keys(), ...this.#urls.map(({ repo }) => `${repo}/`)];
    for (const { repo } of this.reservations) names.push(`${repo}/`);
    return !names.some((name) => name.startsWith(start));
  }

  /** Bytes that clients may still store with the URLs that they hold. Each object counts once. */
  outstandingBytes(nowMs: number, start: string): number {
    const open = new Map<string, number>();
    // Time never goes back.
    if (this.#urls.some(({ expiresAtMs }) => expiresAtMs < nowMs))
      this.#urls = this.#urls.filter(({ expiresAtMs }) => expiresAtMs >= nowMs);
    for (const url of this.#urls) {
      const name = `${url.repo}/${url.oid}`;
      if (!this.stored.has(name)) open.set(name, Math.max(url.sizeBytes, open.get(name) ?? 0));
    }
    for (const { name, sizeBytes } of this.#uploading)
      if (!this.stored.has(name)) open.set(name, Math.max(sizeBytes, open.get(name) ?? 0));
    return sumBelow(start, open);
  }

  /** A batch has issued its reservation: it may have URLs of all that it claims. */
  promise(issued: Issued): void {
    this.version += 1;
    this.promises.add(issued);
  }

  /** It has answered: these are the objects of which it has URLs. */
  narrow(id: string, oids: ReadonlySet<string>): void {
    this.version += 1;
    this.promises.narrow(id, oids);
  }

  /**
   * (repo/oid) → the bytes that URLs which may still be used add to what is stored. Of several sizes the largest counts,
   * because a tenant's own false sizes stay in its confirmed usage until the next scan.
   *
   * @param more what counts besides.
   */
  liveEntries(nowMs: number, more: ReturnType<Promises['ended']> = []): Map<string, number> {
    const entries = new Map<string, number>();
    // If it is stored with its true size, a larger false size is still in the confirmed usage of the last scan.
    for (const { name, sizeBytes } of [...this.promises.live(nowMs), ...more])
      if (!this.isFile(name) || !this.stored.has(name))
        entries.set(name, Math.max(sizeBytes - (this.stored.get(name) ?? 0), entries.get(name) ?? 0));
    return entries;
  }

  /** Until when what was promised is as live, and as late, as now. */
  nextDeathMs(nowMs: number): number {
    return this.promises.nextChangeMs(nowMs);
  }

  /**
   * What URLs may bring within a day of when they should have been used, beyond what is stored or may still be sent. What
   * was deleted meanwhile may be sent once more. Of several sizes the largest counts.
   */
  unconfirmedBytes(nowMs: number, start: string, expected: Iterable<NamedBytes> = []): number {
    const live = this.liveEntries(nowMs, this.promises.ended(nowMs));
    const late = new Map<string, number>();
    for (const { name, sizeBytes } of [...this.promises.late(nowMs), ...expected]) {
      if (this.isFile(name)) continue;
      const addedBytes = sizeBytes - (this.stored.get(name) ?? 0) - (live.get(name) ?? 0);
      late.set(name, Math.max(addedBytes, late.get(name) ?? 0));
    }
    return sumBelow(start, late);
  }

  /** What deletes expect once more. Of an object that came around the API there is no URL, but nobody knows that. */
  onceMore(): NamedBytes[] {
    const expected = this.reservations.filter(({ id }) => id.startsWith(onceMoreIdStart));
    return expected.flatMap(({ repo, entries }) =>
      [...entries].map(([oid, sizeBytes]) => ({ name: `${repo}/${oid}`, sizeBytes })),
    );
  }

  onceMoreBytes(start: string): number {
    return this.onceMore().reduce(
      (sum, { name, sizeBytes }) => sum + (name.startsWith(start) ? sizeBytes : 0),
      0,
    );
  }

  /**
   * The least and the most that a listing which began at `sinceMs` can have counted. It may or may not have seen
   * whatever came or went since then, and around the API since the last full one.
   */
  bounds(sinceMs: number, fullScannedAtMs: number): { least: number; most: number } {
    let least = this.storedBytes;
    let most = this.storedBytes;
    for (const change of this.changes) {
      if (change.atMs < (change.isAround ? Math.min(sinceMs, aroundSinceMs(fullScannedAtMs)) : sinceMs))
        continue;
      if (change.bytes > 0) least -= change.bytes;
      else most -= change.bytes;
    }
    return { least, most };
  }
}

/** Of names that begin so. What is below zero adds nothing. */
export function sumBelow(start: string, bytesOf: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const [name, bytes] of bytesOf) if (name.startsWith(start)) sum += Math.max(0, bytes);
  return sum;
}
