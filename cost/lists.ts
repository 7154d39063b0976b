import { cloudPrices, listingOf, memoryMb, pricesOf, type StoreName } from './operations.ts';

/** What costs more: 16 LISTs at once, or the time in which a function waits for them in turn? */

/** LIST requests, and how many of them are waited for in a row. On average, so they have decimals. */
export type Listing = Readonly<ReturnType<typeof listingOf>>;

/**
 * A path for each hex digit at once, each page by page: exactly what it takes on average. Hashes fall into them by chance, so
 * they are never even: 15,500 take 18.3 requests and 1.97 rounds instead of 16 and 1.
 */
export function byPrefix(objects: number): Listing {
  const mean = objects / 16;
  // Farther from the mean is less than one in 10⁸.
  const spread = Math.ceil(6 * Math.sqrt(mean)) + 16;
  const least = Math.max(0, Math.floor(mean) - spread);
  // Poisson's chances of a digit's keys, but for a factor. Of 16 such numbers with this sum, they are those of the keys.
  const chances = [1];
  for (let keys = least + 1; keys <= mean + spread; keys += 1)
    chances.push(((chances.at(-1) as number) * mean) / keys);
  /** The chance that one digit has up to so many keys, and each other one up to these. */
  const chanceOf = (one: number, others: number) => {
    let sums = new Array<number>(objects - 16 * least + 1).fill(0).with(0, 1);
    for (let digit = 0; digit < 16; digit += 1) {
      const [before, some] = [sums, chances.slice(0, Math.max(0, (digit === 0 ? one : others) - least + 1))];
      sums = before.map((_, sum) => {
        let chance = 0;
        for (let at = Math.min(some.length - 1, sum); at >= 0; at -= 1)
          chance += (some[at] as number) * (before[sum - at] as number);
        return chance;
      });
    }
    return sums.at(-1) ?? 0;
  };
  let [perDigit, rounds] = [1, 1];
  for (let keys = 1000; keys < mean + spread; keys += 1000) {
    const all = chanceOf(objects, objects);
    perDigit += 1 - chanceOf(keys, objects) / all;
    rounds += 1 - chanceOf(keys, keys) / all;
  }
  return { lists: 16 * perDigit, rounds };
}

/** In turn, 16 at once, and ours: with an estimate by a first page, and with the count of the last scan. */
export function waysToList(objects: number): readonly [Listing, Listing, Listing, Listing] {
  // A path without objects takes a request, too.
  const pages = Math.max(1, Math.ceil(objects / 1000));
  const later = listingOf(objects);
  const first = { ...later, rounds: later.rounds + (pages > 1 ? 1 : 0) };
  return [{ lists: pages, rounds: pages }, byPrefix(objects), first, later];
}

/** The function of which the question came, on x86, and ours: MB, and dollars for a second. */
const deployedMb = memoryMb.getSubscription;
export const waiting = [
  { mb: 256, perSecond: cloudPrices.lambdaGbSecondX86 / 4 },
  { mb: deployedMb, perSecond: (deployedMb / 1024) * cloudPrices.lambdaGbSecondArm64 },
];

/**
 * The seconds of a page above which `fast`, R LISTs in P rounds, costs less than `slow`, S in turn:
 * (price of a LIST ÷ price of a second) × (R − S) ÷ (S − P). Infinity: it never does.
 */
export function breakEvenSeconds(slow: Listing, fast: Listing, store: StoreName, perSecond: number): number {
  const [more, saved] = [fast.lists - slow.lists, slow.rounds - fast.rounds];
  return saved > 0 ? (pricesOf(store).putOrList / perSecond) * (more / saved) : Number.POSITIVE_INFINITY;
}
