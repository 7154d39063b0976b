import type { Invocation } from '../domain/invocation.ts';

/** Which run of a function the current code belongs to, without passing it from call to call. */
export interface Invocations {
  /** Runs `work`, and all that it awaits, as this invocation. It replaces an outer one. */
  during<R>(invocation: Invocation, work: () => Promise<R>): Promise<R>;
  /** The invocation that runs now; empty if there is none. */
  current(): Invocation;
}
