import { sha256Hex } from '../lambda/core/rules/hash.ts';
import { networkOf } from '../lambda/core/rules/network.ts';

/** How long requests are counted together. */
const windowMs = 10_000;
/**
 * Names that are counted at once. With more, everybody starts anew: a flood can't fill the memory. Credentials alone bring
 * none about, as an address adds no more of them than its limit. The 65,536 networks of one /48 of IPv6 can, and are then
 * counted for less time; they have as many limits anyway.
 */
const namesMax = 100_000;

/**
 * Of one address at a time. Bodies of the API are held in the memory before their credential is known; objects go to the
 * disk. Requests of objects have no other limit: each URL was signed for a request that was counted.
 */
const atOnceMax = { api: 64, objects: 256 };

/** Counts requests by address and by credential, and says when there are too many. */
export class RequestLimits {
  readonly #perWindow: number;
  readonly #nowMs: () => number;
  #counts = new Map<string, number>();
  #endsAtMs = 0;
  /** Requests that haven't ended, by kind and address. */
  readonly #entered = new Map<string, number>();

  /**
   * @param perSecond by an address or with a credential, on average over ten seconds.
   * @param nowMs of a clock that nobody sets back: a window would last until it has caught up.
   */
  constructor(perSecond: number, nowMs = () => performance.now()) {
    this.#perWindow = (perSecond * windowMs) / 1_000;
    this.#nowMs = nowMs;
  }

  /**
   * Counts a request.
   *
   * @param request.credential as it was sent, valid or not. It isn't kept.
   * @returns after how many seconds to retry, if there are too many.
   */
  retryAfterSeconds(request: { address: string; credential: string | undefined }): number | undefined {
    const nowMs = this.#nowMs();
    if (nowMs >= this.#endsAtMs || this.#counts.size >= namesMax) {
      this.#counts = new Map();
      this.#endsAtMs = nowMs + windowMs;
    }
    const { address, credential } = request;
    const addsTooMany = (name: string) => {
      const count = (this.#counts.get(name) ?? 0) + 1;
      this.#counts.set(name, count);
      return count > this.#perWindow;
    };
    const isRefused =
      addsTooMany(networkOf(address)) || (credential && addsTooMany(sha256Hex(secretOf(credential))));
    return isRefused ? Math.max(1, Math.ceil((this.#endsAtMs - nowMs) / 1_000)) : undefined;
  }

  /**
   * Takes a place for a request until it has ended.
   *
   * @returns what gives the place back; undefined if the address has too many at a time.
   */
  enter(address: string, kind: keyof typeof atOnceMax): (() => void) | undefined {
    const name = `${kind} ${networkOf(address)}`;
    const count = this.#entered.get(name) ?? 0;
    if (count >= atOnceMax[kind]) return undefined;
    this.#entered.set(name, count + 1);
    return () => {
      const left = (this.#entered.get(name) ?? 1) - 1;
      if (left > 0) this.#entered.set(name, left);
      else this.#entered.delete(name);
    };
  }
}

/** A Basic credential without its user name, which is free to choose. */
function secretOf(credential: string): string {
  const [, encoded] = /^basic +(\S+)$/i.exec(credential) ?? [];
  if (encoded === undefined) return credential;
  const text = Buffer.from(encoded, 'base64').toString('latin1');
  return text.slice(text.indexOf(':') + 1);
}
