import type { PersonGrant } from './person.ts';

/** What came of asking a host. */
export type PersonVerdict =
  | { readonly kind: 'granted'; readonly grant: PersonGrant }
  /** The token is none, or its person has no business there. The reason is for the log. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Nothing is known: the host wants to be asked later. */
  | { readonly kind: 'limited'; readonly untilMs: number }
  /** Nothing is known: the host does not answer. */
  | { readonly kind: 'unavailable'; readonly untilMs: number };

/** Verdicts remembered. Beyond that the oldest are forgotten. */
export const verdictsMax = 5000;

function forgetOldest(all: Pick<Map<string, unknown>, 'size' | 'delete' | 'keys'>): void {
  const [oldest] = all.keys();
  if (all.size > verdictsMax && oldest !== undefined) all.delete(oldest);
}

/** What this process knows of people, by {@link grantKeyOf}. A client that repeats itself makes no host answer again. */
export class KnownPeople {
  /** The oldest first. */
  readonly #verdicts = new Map<string, { readonly verdict: PersonVerdict; readonly untilMs: number }>();
  /** Keys that a host let in, the oldest first. Junk can't push these out: it never gets in. */
  readonly #letIn = new Set<string>();
  readonly #asking = new Map<string, Promise<PersonVerdict>>();

  find(key: string, nowMs: number): PersonVerdict | undefined {
    const known = this.#verdicts.get(key);
    if (known && nowMs < known.untilMs) return known.verdict;
    this.#verdicts.delete(key);
    return undefined;
  }

  keep(key: string, verdict: PersonVerdict, untilMs: number): void {
    this.#verdicts.delete(key);
    this.#verdicts.set(key, { verdict, untilMs });
    forgetOldest(this.#verdicts);
    if (verdict.kind === 'refused') this.#letIn.delete(key);
    if (verdict.kind === 'granted') this.#letIn.add(key);
    forgetOldest(this.#letIn);
  }

  /** Whether the last word of a host on this was to let it in, even if that is over. */
  wasLetIn(key: string): boolean {
    return this.#letIn.has(key);
  }

  /** Asks, unless the same is being asked already: then its answer is that of both. */
  async askOnce(key: string, ask: () => Promise<PersonVerdict>): Promise<PersonVerdict> {
    const known = this.#asking.get(key);
    if (known) return known;
    const asking = ask().finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }
}
