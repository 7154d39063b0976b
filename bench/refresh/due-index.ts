import { type DueTenants, longestDue } from '../../lambda/adapters/dynamodb/due-tenants.ts';
import type { Input } from '../../lambda/adapters/dynamodb/ledger.ts';
import type { DueTenant } from '../../lambda/domain/refresh-state.ts';

/** What a tenant may be due for: a full count, or a dead reservation. One entry of each. */
export type DueKind = 0 | 1;
export const [full, dead] = [0, 1] as const;

const minuteMs = 60_000;
/** Not due. */
export const never = Number.POSITIVE_INFINITY;

/**
 * The index of what is due, of a million tenants: a list of entries for each minute. An entry that has moved stays in
 * its old list until somebody comes by.
 */
export class DueIndex {
  readonly #beganMs: number;
  /** When each entry is due: two for each tenant. */
  readonly #dueAtMs: Float64Array;
  readonly #minutes: (number[] | undefined)[] = [];
  #firstMinute = 0;

  constructor(input: { tenants: number; beganMs: number }) {
    this.#beganMs = input.beganMs;
    this.#dueAtMs = new Float64Array(2 * input.tenants).fill(never);
  }

  dueAtMs(tenant: number, kind: DueKind): number {
    return this.#dueAtMs[2 * tenant + kind] ?? never;
  }

  set(tenant: number, kind: DueKind, dueAtMs: number): void {
    const entry = 2 * tenant + kind;
    if (this.#dueAtMs[entry] === dueAtMs) return;
    this.#dueAtMs[entry] = dueAtMs;
    if (dueAtMs === never) return;
    const minute = this.#minuteOf(dueAtMs);
    const list = this.#minutes[minute];
    if (list === undefined) this.#minutes[minute] = [entry];
    else list.push(entry);
    this.#firstMinute = Math.min(this.#firstMinute, minute);
  }

  /** As of the ledger, with numbers as names. */
  find(input: Input<'dueTenants'>): DueTenants {
    const { afterMs = -1, untilMs, tenantsMax } = input;
    const found: DueTenant[] = [];
    const tenants = new Set<number>();
    let readUntilMs = untilMs;
    const last = this.#minuteOf(untilMs);
    for (let minute = this.#begin(afterMs); minute <= last; minute += 1) {
      for (const entry of this.#prune(minute)) {
        const dueAtMs = this.#dueAtMs[entry] ?? never;
        if (dueAtMs <= afterMs || dueAtMs > untilMs) continue;
        const tenant = entry >> 1;
        tenants.add(tenant);
        found.push({ tenant: String(tenant), dueAtMs, full: (entry & 1) === full, deletes: false });
      }
      if (tenants.size < tenantsMax) continue;
      readUntilMs = Math.min(untilMs, this.#beganMs + (minute + 1) * minuteMs - 1);
      break;
    }
    return longestDue(found, { ...input, readUntilMs });
  }

  #minuteOf(atMs: number): number {
    return Math.max(0, Math.floor((atMs - this.#beganMs) / minuteMs));
  }

  #begin(afterMs: number): number {
    while (this.#firstMinute < this.#minutes.length && this.#prune(this.#firstMinute).length === 0)
      this.#firstMinute += 1;
    return Math.max(this.#firstMinute, this.#minuteOf(afterMs));
  }

  /** The entries that still are of a minute, each once. */
  #prune(minute: number): readonly number[] {
    const list = this.#minutes[minute];
    if (list === undefined) return [];
    const kept = list.filter((entry) => this.#minuteOf(this.#dueAtMs[entry] ?? never) === minute);
    const once = kept.length > 1 ? [...new Set(kept)] : kept;
    this.#minutes[minute] = once.length === 0 ? undefined : once;
    return once;
  }
}
