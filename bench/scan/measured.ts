/** The measurements of one way of counting a path. Medians if there were several runs. */
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
