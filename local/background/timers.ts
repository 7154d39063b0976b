/** Timers as a port: a test turns them together with its clock. */
export interface Timers {
  /** Calls back once after `delayMs`. @returns what cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

export const systemTimers: Timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};
