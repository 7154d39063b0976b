/** Timers as a port, so that a test can advance them together with its clock. */
export interface Timers {
  /** Calls back once after `delayMs`. @returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

export const systemTimers: Timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Waits for work that never rejects, at most `graceMs`. */
export async function settledWithin(
  timers: Timers,
  { work, graceMs }: { work: Promise<unknown>; graceMs: number },
): Promise<void> {
  let cancelGrace = () => {};
  const grace = new Promise<void>((resolve) => {
    cancelGrace = timers.after(graceMs, resolve);
  });
  await Promise.race([work, grace]);
  cancelGrace();
}
