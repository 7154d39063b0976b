/** Time. Use cases never read the machine's clock themselves, so a simulation can turn it. */
export interface Clock {
  /** Milliseconds since 1970. */
  nowMs(): number;
  sleep(durationMs: number): Promise<void>;
}
