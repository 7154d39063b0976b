import type { Ledger } from '../../lambda/core/ledger/ledger.ts';

/** A call of a port, by the name of its method. Of several operations on the table, it is the next one. */
export type PortCall = keyof Ledger | 'listPage' | 'delete' | 'putEmpty';

/** What a story has happen at a call, whichever function makes it. */
export type Mishap =
  | {
      /** The function is frozen right before the call takes effect, or right after. `lands-again`: it takes effect once more then. */
      readonly kind: 'freezes-before' | 'freezes-after' | 'lands-again';
      readonly forMs: number;
    }
  | { readonly kind: 'dies-before' };

/** Mishaps that wait for their call. */
export class Mishaps {
  readonly #waiting = new Map<PortCall, Mishap[]>();

  /** It happens at the next call that has none yet. */
  add(call: PortCall, mishap: Mishap): void {
    this.#waiting.set(call, [...(this.#waiting.get(call) ?? []), mishap]);
  }

  take(call: PortCall): Mishap | undefined {
    return this.#waiting.get(call)?.shift();
  }
}
