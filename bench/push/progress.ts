/** One server in one round: what the progress of a run is counted in. */
export interface Step {
  readonly case: string;
  readonly latency: string;
  readonly server: string;
}

export interface DoneStep extends Step {
  readonly tookMs: number;
}

/**
 * What the steps that are left will take, in ms: each as long as the nearest of its kind has taken. A step of which
 * nothing like it is done takes as long as the mean of all. undefined: nothing is done yet.
 */
export function estimateLeftMs(done: readonly DoneStep[], left: readonly Step[]): number | undefined {
  if (done.length === 0) return undefined;
  return left.reduce((sum, step) => sum + mean(nearest(done, step)), 0);
}

/** `12 of 72, 3 min gone, about 15 min left`. */
export function formatProgress(input: {
  done: readonly DoneStep[];
  left: readonly Step[];
  goneMs: number;
}): string {
  const { done, left, goneMs } = input;
  const leftMs = estimateLeftMs(done, left);
  const ahead = leftMs === undefined || left.length === 0 ? '' : `, about ${minutes(leftMs)} left`;
  return `${done.length} of ${done.length + left.length}, ${minutes(goneMs)} gone${ahead}`;
}

function nearest(done: readonly DoneStep[], step: Step): readonly DoneStep[] {
  const sameServer = done.filter((each) => each.case === step.case && each.server === step.server);
  const kinds = [
    sameServer.filter((each) => each.latency === step.latency),
    sameServer,
    done.filter((each) => each.case === step.case),
  ];
  return kinds.find((kind) => kind.length > 0) ?? done;
}

function mean(steps: readonly DoneStep[]): number {
  return steps.reduce((sum, { tookMs }) => sum + tookMs, 0) / steps.length;
}

const minutes = (ms: number) => `${Math.round(ms / 60_000)} min`;
