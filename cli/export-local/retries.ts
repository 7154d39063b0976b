/** Attempts in a row that bring nothing. */
const attemptsMax = 6;
/** Pause before the second of them, doubled each time. */
const pauseMs = 500;

export type Attempt<T> =
  | { readonly kind: 'done'; readonly value: T }
  /** @property gotOn it brought something, so that the count of attempts begins anew. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly gotOn?: boolean };

/** Tries again what may succeed the next time. */
export class Retries {
  readonly #sleep: (durationMs: number) => Promise<void>;
  readonly #stop: AbortSignal;

  /** @param input.stop ends all attempts. */
  constructor(input: { sleep: (durationMs: number) => Promise<void>; stop: AbortSignal }) {
    this.#sleep = input.sleep;
    this.#stop = input.stop;
  }

  /** @throws what the last attempt failed with, or the reason of the stop. */
  async run<T>(attempt: () => Promise<Attempt<T>>): Promise<T> {
    for (let failures = 0; ; ) {
      this.#stop.throwIfAborted();
      const outcome = await attempt();
      if (outcome.kind === 'done') return outcome.value;
      failures = outcome.gotOn === true ? 1 : failures + 1;
      this.#stop.throwIfAborted();
      if (failures >= attemptsMax) throw outcome.error;
      await this.#sleep(pauseMs * 2 ** (failures - 1));
    }
  }
}
