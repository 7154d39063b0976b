/** LISTs a second that a scan begins with, if its ceiling allows. They double each second until the store objects. */
const rateAtFirst = 1_000;
/** As good as unlimited. */
const rateUnlimited = 1e6;
/** However often a store objects, it is asked this often a second, if the ceiling allows. */
const rateFloor = 10;
/** The rate is judged, and changed, once in this time. */
const windowMs = 1_000;
/** If more of a window's answers ask to slow down, the rate is cut. One that never exceeds its limit is not found. */
const throttledShareTolerated = 0.05;
/** The rate after a cut, as a part of the rate at which requests were sent. */
const cutFactor = 0.7;
/** What a window without objections adds after a cut, as a part of the rate. */
const growth = 0.05;
/** Requests that may be sent at once after a pause, as seconds of the rate. */
const burstSeconds = 0.1;

interface Waiter {
  readonly go: () => void;
  readonly fail: (reason: unknown) => void;
}

/**
 * How often requests are sent: below a ceiling, less often when the store asks to slow down, and slowly more often
 * again. All requests of a scan share it, because the store throttles them together.
 */
export class Pace {
  readonly #ceiling: number;
  readonly #waiting: Waiter[] = [];
  #rate: number;
  /** The rate at which the store first objected, until it is reached again. */
  #goal: number | undefined;
  #wasCut = false;
  #tokens: number;
  #filledMs = performance.now();
  #windowMs = performance.now();
  #sent = 0;
  #answered = 0;
  #throttled = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed: { readonly reason: unknown } | undefined;

  /** @param options.rateMax requests a second, at most. */
  constructor({ rateMax = rateUnlimited }: { rateMax?: number | undefined } = {}) {
    this.#ceiling = rateMax;
    this.#rate = Math.min(rateMax, rateAtFirst);
    this.#tokens = this.#burst;
  }

  /** Requests a second that may be sent now, while the store keeps them below what was asked for. */
  get slowedTo(): number | undefined {
    return this.#goal === undefined ? undefined : this.#rate;
  }

  /** Resolves when a request may be sent. Rejects with the reason of {@link Pace.close}. */
  turn(): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed.reason);
    this.#fill();
    if (this.#waiting.length === 0 && this.#tokens >= 1) {
      this.#spend();
      return Promise.resolve();
    }
    return new Promise<void>((resolve, reject) => {
      this.#waiting.push({ go: resolve, fail: reject });
      this.#arm();
    });
  }

  /** Notes an answer, or that there was none. */
  noteAnswer({ isThrottling }: { isThrottling: boolean }): void {
    this.#answered += 1;
    if (isThrottling) this.#throttled += 1;
    this.#judge();
  }

  /** Nothing is sent any more. */
  close(reason: unknown): void {
    this.#closed = { reason };
    clearTimeout(this.#timer);
    for (const { fail } of this.#waiting.splice(0)) fail(reason);
  }

  get #burst(): number {
    return Math.max(1, this.#rate * burstSeconds);
  }

  #fill(): void {
    const nowMs = performance.now();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#filledMs) / 1000) * this.#rate);
    this.#filledMs = nowMs;
  }

  #spend(): void {
    this.#tokens -= 1;
    this.#sent += 1;
  }

  #arm(): void {
    if (this.#timer !== undefined) return;
    const waitMs = Math.max(1, Math.ceil(((1 - this.#tokens) / this.#rate) * 1000));
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#fill();
      while (this.#tokens >= 1) {
        const next = this.#waiting.shift();
        if (next === undefined) return;
        this.#spend();
        next.go();
      }
      if (this.#waiting.length > 0) this.#arm();
    }, waitMs);
  }

  /** Once a window: multiplies the rate down if the store objected, and adds to it if it did not. */
  #judge(): void {
    const nowMs = performance.now();
    const seconds = (nowMs - this.#windowMs) / 1000;
    if (seconds * 1000 < windowMs) return;
    this.#fill();
    if (this.#throttled > throttledShareTolerated * this.#answered) {
      const rate = Math.min(this.#rate, this.#sent / seconds);
      this.#goal ??= rate;
      this.#wasCut = true;
      this.#rate = Math.max(Math.min(rateFloor, this.#ceiling), cutFactor * rate);
    } else if (this.#throttled === 0) {
      const more = this.#wasCut ? Math.max(1, growth * this.#rate) : this.#rate;
      this.#rate = Math.min(this.#ceiling, rateUnlimited, this.#rate + more);
      if (this.#rate >= (this.#goal ?? 0)) this.#goal = undefined;
    }
    this.#windowMs = nowMs;
    this.#sent = 0;
    this.#answered = 0;
    this.#throttled = 0;
  }
}
