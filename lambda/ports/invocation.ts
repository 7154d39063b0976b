import type { Invocation } from '../domain/invocation.ts';

/** What the current run is, without being handed from call to call. */
export interface Invocations {
  /** Does `work`, with all that it awaits, as this invocation: in the place of the one that it is called in. */
  during<R>(invocation: Invocation, work: () => Promise<R>): Promise<R>;
  /** Empty where nothing runs. */
  current(): Invocation;
}
