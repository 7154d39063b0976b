import { sha256Hex } from '../../rules/hash.ts';
import type { Clock } from '../../rules/system.ts';

const windowMs = 60_000;
/** A person who mistypes asks again with another token. A helper repeats the same one. */
const rejectionsMax = 3;
/** Credentials remembered. Beyond that the oldest are forgotten. */
const credentialsMax = 10_000;

/**
 * Remembers credentials that were rejected, in this container alone.
 *
 * git-lfs answers a 401 by asking its credential helper again. A helper that always returns the same bad token, as a
 * CI job's does, makes it repeat the request for ever, at a hundred a second and without a word. A 403 ends it with a
 * message.
 */
export class RejectedLogins {
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** Hash of a credential → its rejections in a window, the oldest window first. */
  readonly #rejections = new Map<string, { sinceMs: number; count: number }>();

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** Notes a rejection. @returns whether the client repeats itself, so that another 401 would not help. */
  isRepeated(credential: string): boolean {
    const nowMs = this.#clock.nowMs();
    const key = sha256Hex(credential);
    const known = this.#rejections.get(key);
    const rejection = known && nowMs - known.sinceMs < windowMs ? known : { sinceMs: nowMs, count: 0 };
    rejection.count += 1;
    if (rejection !== known) {
      this.#rejections.delete(key);
      this.#rejections.set(key, rejection);
    }
    const [oldest] = this.#rejections.keys();
    if (this.#rejections.size > credentialsMax && oldest !== undefined) this.#rejections.delete(oldest);
    return rejection.count > rejectionsMax;
  }
}
