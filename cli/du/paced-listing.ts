import { setMaxListeners } from 'node:events';
import {
  isThrottling,
  pause,
  Retries,
  wrongAddressAttemptsMax,
} from '../../lambda/core/store/bucket-client.ts';
import {
  type ListedPage,
  type ListPageRequest,
  type ObjectListing,
  StoreUnavailableError,
} from '../../lambda/core/store/rules/store.ts';

/** LISTs a second that a scan begins with, if its ceiling allows. They double each second until the store objects. */
const rateAtFirst = 1_000;
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
/** What was not sent in so long may be sent at once. */
const burstMs = 100;

/** Before the first page has arrived, something is probably wrong for good. */
const firstPageAttemptsMax = 10;
/** Later, a page is fetched again for this long, and at least as often as the first one. */
const giveUpMs = 600_000;
/** Pages that are on their way when a scan is stopped may still arrive for this long. */
const drainMs = 3_000;

/** Pauses of a single page. They are short, because the pace makes all pages wait. */
const pauses = {
  attemptsMax: Number.POSITIVE_INFINITY,
  baseDelayMs: 50,
  throttledDelayMs: 100,
  delayMaxMs: 5_000,
  retryAfterMaxMs: 20_000,
};

/**
 * How often requests are sent: below a ceiling, less often when the store asks to slow down, and slowly more often
 * again. All requests of a scan share it, because the store throttles them together.
 */
export class Pace {
  readonly #ceiling: number;
  readonly #end = new AbortController();
  #rate: number;
  /** The rate at which the store first objected, until it is reached again. */
  #goal: number | undefined;
  #wasCut = false;
  /** When the next request may be sent. Those that wait have their times already, whatever becomes of the rate. */
  #freeMs = 0;
  #windowMs = performance.now();
  #sent = 0;
  #answered = 0;
  #throttled = 0;

  /** @param options.rateMax requests a second, at most. */
  constructor({ rateMax = Number.POSITIVE_INFINITY }: { rateMax?: number | undefined } = {}) {
    this.#ceiling = rateMax;
    this.#rate = Math.min(rateMax, rateAtFirst);
    // All requests that wait listen to it, and Node warns of a leak if there are more than ten.
    setMaxListeners(0, this.#end.signal);
  }

  /** Requests a second that may be sent now, while the store keeps them below what was asked for. */
  get slowedTo(): number | undefined {
    return this.#goal === undefined ? undefined : this.#rate;
  }

  /** Resolves when a request may be sent. Rejects with the reason of {@link Pace.close}. */
  async turn(): Promise<void> {
    const { signal } = this.#end;
    signal.throwIfAborted();
    const nowMs = performance.now();
    const betweenMs = 1000 / this.#rate;
    const turnMs = Math.max(this.#freeMs, nowMs - Math.max(0, burstMs - betweenMs));
    this.#freeMs = turnMs + betweenMs;
    if (turnMs > nowMs) {
      await pause(Math.ceil(turnMs - nowMs), signal);
      signal.throwIfAborted();
    }
    this.#sent += 1;
  }

  /** Notes an answer, or that there was none. */
  noteAnswer({ isThrottling }: { isThrottling: boolean }): void {
    this.#answered += 1;
    if (isThrottling) this.#throttled += 1;
    if (performance.now() - this.#windowMs >= windowMs) this.#judge();
  }

  /** Nothing is sent any more. */
  close(reason: unknown): void {
    this.#end.abort(reason);
  }

  /** Once a window: multiplies the rate down if the store objected, and adds to it if it did not. */
  #judge(): void {
    const nowMs = performance.now();
    if (this.#throttled > throttledShareTolerated * this.#answered) {
      const rate = Math.min(this.#rate, (this.#sent * 1000) / (nowMs - this.#windowMs));
      this.#goal ??= rate;
      this.#wasCut = true;
      this.#rate = Math.max(Math.min(rateFloor, this.#ceiling), cutFactor * rate);
    } else if (this.#throttled === 0) {
      const more = this.#wasCut ? Math.max(1, growth * this.#rate) : this.#rate;
      this.#rate = Math.min(this.#ceiling, this.#rate + more);
      if (this.#rate >= (this.#goal ?? 0)) this.#goal = undefined;
    }
    this.#windowMs = nowMs;
    this.#sent = 0;
    this.#answered = 0;
    this.#throttled = 0;
  }
}

/**
 * A listing for scans that take hours. It sends at a pace, and fetches a page again as long as others arrive: that the
 * store asks to slow down never ends a scan, unless no page at all arrives for ten minutes.
 */
export class PacedListing implements Pick<ObjectListing, 'listPage'> {
  readonly #listing: Pick<ObjectListing, 'listPage'>;
  readonly #pace: Pace;
  readonly #retries = new Retries({ wrongAddressAttemptsMax });
  readonly #end = new AbortController();
  #heardSignal: AbortSignal | undefined;
  #pageMs: number | undefined;
  /** Requests that were sent, those that failed included. */
  requests = 0;
  /** Answers that asked to slow down. */
  throttled = 0;

  /** @param listing makes one attempt a page. */
  constructor({ listing, pace }: { listing: Pick<ObjectListing, 'listPage'>; pace: Pace }) {
    this.#listing = listing;
    this.#pace = pace;
  }

  /** @throws {StoreUnavailableError} @throws {StoreRefusedError} */
  async listPage(request: ListPageRequest): Promise<ListedPage> {
    this.#hear(request.signal);
    const { signal } = this.#end;
    const startedMs = performance.now();
    for (let attempt = 1; ; attempt += 1) {
      await this.#pace.turn();
      this.requests += 1;
      try {
        const page = await this.#listing.listPage({ ...request, signal });
        this.#pace.noteAnswer({ isThrottling: false });
        this.#retries.noteSuccess();
        this.#pageMs = performance.now();
        return page;
      } catch (error) {
        signal.throwIfAborted();
        await pause(this.#pauseMs(error, { attempt, startedMs }), signal);
        signal.throwIfAborted();
      }
    }
  }

  /** Sends nothing more. Pages on their way may still arrive for a moment. */
  drain(): void {
    const reason = new Error('The scan was stopped.');
    this.#pace.close(reason);
    setTimeout(() => this.#end.abort(reason), drainMs).unref();
  }

  /** All requests of a scan have the same signal. A combined one for each would cost more than the request. */
  #hear(signal: AbortSignal | undefined): void {
    if (signal === undefined || signal === this.#heardSignal) return;
    this.#heardSignal = signal;
    const abort = () => {
      this.#pace.close(signal.reason);
      this.#end.abort(signal.reason);
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  }

  /** How long to wait before the next attempt. @throws the error if there is to be none. */
  #pauseMs(error: unknown, page: { attempt: number; startedMs: number }): number {
    const cause = error instanceof StoreUnavailableError ? error.cause : undefined;
    if (!(cause instanceof Error)) throw error;
    const isThrottled = isThrottling(cause);
    if (isThrottled) this.throttled += 1;
    this.#pace.noteAnswer({ isThrottling: isThrottled });
    const { attempt, startedMs } = page;
    const pauseMs = this.#retries.pauseMs({ error: cause, attempt, settings: pauses });
    if (pauseMs === undefined) throw error;
    if (attempt < firstPageAttemptsMax) return pauseMs;
    if (this.#pageMs === undefined) throw error;
    const sinceMs = isThrottled ? this.#pageMs : startedMs;
    if (performance.now() - sinceMs < giveUpMs) return pauseMs;
    const what = isThrottled ? 'No page arrived' : 'A page failed again and again';
    throw new StoreUnavailableError(`${what} for ${giveUpMs / 60_000} minutes.`, { cause });
  }
}
