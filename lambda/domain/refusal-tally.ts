import { dayOf } from '../rules/text.ts';

/** So many refusals of a tenant are written one by one before it has to wait. */
const writesAtFirst = 10;
/** From then on one write in this time. */
const writeEveryMs = 10_000;
/** Tenants that one process remembers. */
export const tallyTenantsMax = 1000;

interface Tally {
  readonly day: string;
  readonly writesLeft: number;
  readonly filledAtMs: number;
  readonly unwritten: number;
  readonly isWarned: boolean;
}

/**
 * Which refusals of batches this process writes down. A client that is refused in a loop must not cost a write each time:
 * after the first few its refusals are gathered, and written together. Those that are still gathered when the process or
 * the day ends are not written, so what is written is at least what happened.
 */
export class RefusalTally {
  /** By tenant, the one that was refused longest ago first. */
  readonly #tallies = new Map<string, Tally>();

  /** Counts a refusal. @returns how many to write now. 0: a later one writes it. */
  add(tenant: string, nowMs: number): number {
    const before = this.#filled(tenant, nowMs);
    const unwritten = before.unwritten + 1;
    const isWritten = before.writesLeft >= 1;
    this.#put(tenant, {
      ...before,
      writesLeft: before.writesLeft - (isWritten ? 1 : 0),
      unwritten: isWritten ? 0 : unwritten,
    });
    return isWritten ? unwritten : 0;
  }

  /** What was to be written was not: it is written with the next. */
  giveBack(tenant: string, count: number, nowMs: number): void {
    const before = this.#filled(tenant, nowMs);
    this.#put(tenant, { ...before, unwritten: before.unwritten + count });
  }

  /** Whether this process knows that a warning was raised on this day. */
  isWarned(tenant: string, nowMs: number): boolean {
    return this.#filled(tenant, nowMs).isWarned;
  }

  noteWarned(tenant: string, nowMs: number): void {
    this.#put(tenant, { ...this.#filled(tenant, nowMs), isWarned: true });
  }

  #filled(tenant: string, nowMs: number): Tally {
    const day = dayOf(nowMs);
    const known = this.#tallies.get(tenant);
    if (known?.day !== day)
      return { day, writesLeft: writesAtFirst, filledAtMs: nowMs, unwritten: 0, isWarned: false };
    // A clock may go back.
    const gained = Math.max(0, nowMs - known.filledAtMs) / writeEveryMs;
    return { ...known, writesLeft: Math.min(writesAtFirst, known.writesLeft + gained), filledAtMs: nowMs };
  }

  #put(tenant: string, tally: Tally): void {
    this.#tallies.delete(tenant);
    this.#tallies.set(tenant, tally);
    const [oldest] = this.#tallies.keys();
    if (this.#tallies.size > tallyTenantsMax && oldest !== undefined) this.#tallies.delete(oldest);
  }
}
