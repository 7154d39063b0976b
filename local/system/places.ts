/** So many places of each name, and no more. */
export class Places {
  readonly #taken = new Map<string, number>();

  /** @returns what gives the place back; undefined if `max` are taken. */
  take(name: string, max: number): (() => void) | undefined {
    const count = this.#taken.get(name) ?? 0;
    if (count >= max) return undefined;
    this.#taken.set(name, count + 1);
    return () => {
      const left = (this.#taken.get(name) ?? 1) - 1;
      if (left > 0) this.#taken.set(name, left);
      else this.#taken.delete(name);
    };
  }
}
