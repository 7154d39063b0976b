/** Time. Use cases never read the machine's clock, so that a simulation can set the time. */
export interface Clock {
  /** Milliseconds since 1970. */
  nowMs(): number;
  sleep(durationMs: number): Promise<void>;
}
