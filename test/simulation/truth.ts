import { isDead, type Reservation } from '../../lambda/domain/reservation.ts';
import type { TenantRecord } from '../../lambda/domain/tenant.ts';
import type { MemoryLedger } from '../support/memory/ledger.ts';
import { MemoryObjectStore } from '../support/memory/object-store.ts';

export const tenant = 'acme';

/** A URL that a client holds. */
export interface HeldUrl {
  readonly repo: string;
  readonly oid: string;
  readonly sizeBytes: number;
  readonly expiresAtMs: number;
}

interface Change {
  readonly atMs: number;
  readonly bytes: number;
}

/**
 * What is really so, known to the simulator alone: the bucket, who holds which URL, and how it came to be.
 * It looks into the ledger without an operation, so that looking disturbs nothing.
 */
export class Truth {
  readonly store = new MemoryObjectStore();
  readonly ledger: MemoryLedger;
  /** (repo/oid) → bytes of what is stored. */
  readonly stored = new Map<string, number>();
  /** (repo/oid) of all that ever was stored. */
  readonly everStored = new Set<string>();
  storedBytes = 0;
  readonly changes: Change[] = [];
  readonly urls: HeldUrl[] = [];
  /** PUTs that the store has begun to take. */
  readonly uploading = new Set<{ readonly name: string; readonly sizeBytes: number }>();
  record: TenantRecord | undefined;
  reservations: readonly Reservation[] = [];

  constructor(ledger: MemoryLedger) {
    this.ledger = ledger;
  }

  land(object: { repo: string; oid: string; sizeBytes: number }, nowMs: number): void {
    const name = `${object.repo}/${object.oid}`;
    this.store.put(`${tenant}/${name}`, object.sizeBytes);
    this.everStored.add(name);
    if (this.stored.has(name)) return;
    this.stored.set(name, object.sizeBytes);
    this.storedBytes += object.sizeBytes;
    this.changes.push({ atMs: nowMs, bytes: object.sizeBytes });
  }

  /** Takes notice of what a delete removed from the bucket. */
  remove(key: string, nowMs: number): void {
    const name = key.slice(tenant.length + 1);
    const bytes = this.stored.get(name);
    if (bytes === undefined) return;
    this.stored.delete(name);
    this.storedBytes -= bytes;
    this.changes.push({ atMs: nowMs, bytes: -bytes });
  }

  /** Looks at the ledger as it is now. */
  look(): void {
    const { record, reservations } = this.ledger.inspect(tenant);
    this.record = record;
    this.reservations = reservations;
  }

  /** Bytes that may still be stored by URLs in clients' hands, each object once. */
  outstandingBytes(nowMs: number): number {
    const open = new Map<string, number>();
    for (const url of this.urls) {
      const name = `${url.repo}/${url.oid}`;
      if (url.expiresAtMs >= nowMs && !this.stored.has(name)) open.set(name, url.sizeBytes);
    }
    for (const { name, sizeBytes } of this.uploading) if (!this.stored.has(name)) open.set(name, sizeBytes);
    let sum = 0;
    for (const bytes of open.values()) sum += bytes;
    return sum;
  }

  /**
   * (repo/oid) → what live issued claims add to what is stored. Of several sizes the largest: what a tenant's own
   * false sizes add to its floor lasts until the next scan.
   */
  liveClaims(nowMs: number): Map<string, number> {
    const claims = new Map<string, number>();
    for (const reservation of this.reservations) {
      if (reservation.state !== 'issued' || isDead(reservation, nowMs)) continue;
      for (const [oid, sizeBytes] of reservation.claims) {
        const name = `${reservation.repo}/${oid}`;
        // Stored with its true size, a larger false one still stands in the floor of the last scan.
        const addedBytes = sizeBytes - (this.stored.get(name) ?? 0);
        claims.set(name, Math.max(addedBytes, claims.get(name) ?? 0));
      }
    }
    return claims;
  }

  /**
   * The least and the most that a listing which began at `sinceMs` can have counted: whatever came or went
   * since may or may not have been seen.
   */
  bounds(sinceMs: number): { least: number; most: number } {
    let least = this.storedBytes;
    let most = this.storedBytes;
    for (const change of this.changes) {
      if (change.atMs < sinceMs) continue;
      if (change.bytes > 0) least -= change.bytes;
      else most -= change.bytes;
    }
    return { least, most };
  }
}
