import { pause } from '../../lambda/adapters/s3/pause.ts';
import { isThrottling, Retries } from '../../lambda/adapters/s3/retry.ts';
import type { ListedPage, ListPageRequest, ObjectListing } from '../../lambda/ports/object-listing.ts';
import { StoreUnavailableError } from '../../lambda/ports/object-store.ts';
import type { Pace } from './pace.ts';

/** Before the first page has arrived, something is probably wrong for good. */
const firstPageAttemptsMax = 10;
const wrongAddressAttemptsMax = 3;
/** Later, a page is fetched again for this long, and at least as often as the first one. */
const giveUpMs = 600_000;
const delayMaxMs = 5_000;

/** Pauses of a single page. They are short, because the pace makes all pages wait. */
const pauses = {
  attemptsMax: Number.POSITIVE_INFINITY,
  baseDelayMs: 50,
  throttledDelayMs: 100,
  delayMaxMs,
  retryAfterMaxMs: 20_000,
};

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

  /** Sends nothing more. Pages on their way may arrive until they are aborted. */
  close(reason: Error): void {
    this.#pace.close(reason);
  }

  /** Ends the requests on their way as well. */
  abort(reason: unknown): void {
    this.#pace.close(reason);
    this.#end.abort(reason);
  }

  /** All requests of a scan have the same signal. A combined one for each would cost more than the request. */
  #hear(signal: AbortSignal | undefined): void {
    if (signal === undefined || signal === this.#heardSignal) return;
    this.#heardSignal = signal;
    if (signal.aborted) this.abort(signal.reason);
    else signal.addEventListener('abort', () => this.abort(signal.reason), { once: true });
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
