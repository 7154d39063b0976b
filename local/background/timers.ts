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
