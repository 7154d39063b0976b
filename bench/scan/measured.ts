/** One way of counting one path, measured. Medians where it was run more than once. */
export interface Measured {
  readonly subject: string;
  readonly condition: string;
  readonly latencyMs: number;
  readonly keys: number;
  readonly runs: number;
  readonly requests: number;
  readonly rounds: number | undefined;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMb: number | undefined;
}
