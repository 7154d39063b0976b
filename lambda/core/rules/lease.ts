import type { Clock } from './clock-and-log.ts';

/** How long a function that died keeps others from a record. */
export const leaseMs = 60_000;
const renewAfterMs = 20_000;

/** What the lease was of has ended, or somebody else went on with it. Nothing more is to be done here. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

interface LeaseOf<R> {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Changes the record by a function of it, unless that answers undefined. Answers undefined if there is none. */
  readonly change: (changeOf: (record: R) => R | undefined) => Promise<unknown>;
  /** The record with a lease of {@link leaseMs} from now on. */
  readonly leased: (record: R, nowMs: number) => R;
}

/**
 * The right to work at a record: one function has it at a time, unless it doesn't show for {@link leaseMs} that it lives.
 * Whoever ends what the record is of sets `leaseUntilMs` to 0.
 */
export class Lease<R extends { readonly leaseUntilMs: number }> {
  readonly #of: LeaseOf<R>;
  #untilMs: number;
  #renewing: Promise<void> | undefined;
  #isEnded = false;

  /** @param leaseUntilMs of the record, when the lease was written into it. */
  constructor(of: LeaseOf<R>, { leaseUntilMs }: R) {
    this.#of = of;
    this.#untilMs = leaseUntilMs;
  }

  /** Keeps the lease, if it is old enough to need it. May be called many times at once. @throws {LeaseLostError} */
  async renew(): Promise<void> {
    const nowMs = this.#of.clock.nowMs();
    if (this.#untilMs - leaseMs + renewAfterMs > nowMs) return;
    // Of two renewals at a time, one would find the other's lease, and take its own for lost.
    this.#renewing ??= this.#renewAt(nowMs).finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing;
  }

  /** Keeps the lease for so much longer than usual, for a step that can't renew it. @throws {LeaseLostError} */
  async extend(extraMs: number): Promise<void> {
    await this.#renewAt(this.#of.clock.nowMs() + extraMs);
  }

  async #renewAt(nowMs: number): Promise<void> {
    const { leaseUntilMs } = await this.change((record) => this.#of.leased(record, nowMs));
    this.#untilMs = leaseUntilMs;
  }

  /** Changes the record, if the lease still holds. @throws {LeaseLostError} */
  async change(changeOf: (record: R) => R): Promise<R> {
    let changed: R | undefined;
    const now = await this.#of.change((record) => {
      changed = record.leaseUntilMs === this.#untilMs ? changeOf(record) : undefined;
      return changed;
    });
    if (!changed || now === undefined)
      throw new LeaseLostError('It was canceled, or another worker continues it.');
    return changed;
  }

  /** Changes the record, if the lease still holds, and lets others go on. @throws {LeaseLostError} */
  async end(changeOf: (record: R) => R): Promise<R> {
    const record = await this.change((now) => ({ ...changeOf(now), leaseUntilMs: 0 }));
    this.#isEnded = true;
    return record;
  }

  /** Lets others go on, unless the lease has ended. */
  async release(): Promise<void> {
    if (this.#isEnded) return;
    await this.#of.change((record) =>
      record.leaseUntilMs === this.#untilMs ? { ...record, leaseUntilMs: 0 } : undefined,
    );
  }
}
