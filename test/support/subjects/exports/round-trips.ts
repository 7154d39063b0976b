/**
 * Counts requests in a row. All that are under way at the same time end together, and are one round trip: so it counts
 * what nobody can shorten by doing more at a time.
 */
export class RoundTrips {
  /** How many there were. */
  count = 0;
  #waiting: (() => void)[] = [];

  /** Ends with the round trip that begins next. */
  pass(): Promise<void> {
    if (this.#waiting.length === 0) setImmediate(() => this.#end());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * The same port, each of whose calls takes a round trip, and each page of one that pages.
   *
   * @param paged the methods that page.
   */
  through<T extends object>(port: T, paged: readonly (keyof T)[] = []): T {
    return new Proxy(port, {
      get: (target, name) => {
        const method = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        const isPaged = paged.includes(name as keyof T);
        return (...given: unknown[]) =>
          isPaged
            ? this.#pages(() => method.apply(target, given))
            : this.pass().then(() => method.apply(target, given));
      },
    });
  }

  async *#pages(list: () => AsyncIterable<unknown>): AsyncGenerator<unknown> {
    await this.pass();
    let isFirst = true;
    for await (const page of list()) {
      if (!isFirst) await this.pass();
      isFirst = false;
      yield page;
    }
  }

  #end(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.count += 1;
    for (const resolve of waiting) resolve();
  }
}
