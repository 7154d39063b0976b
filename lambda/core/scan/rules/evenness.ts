import { compareKeys } from '../../rules/names.ts';
import {
  type Estimate,
  type KeyRange,
  positionBelow,
  positionOf,
  type Sample,
  widthOf,
} from './key-space.ts';
import type { ListedNames, OpenRange } from './uneven-ranges.ts';

/** Names in a row of which the gaps are looked at. */
const gapsWanted = 250;
/** Names over the whole page of which the positions are looked at. */
const positionsWanted = 50;
/**
 * How far hashes may be from what is expected of them, times the root of their number. Hashes exceed either bound less
 * often than once in 10^9 pages.
 */
const positionTolerance = 3.5;
const gapTolerance = 2.8;
/** Of random gaps, the share that is shorter than the mean: 1 − 1/e. */
const shortGapsShare = 1 - 1 / Math.E;
/** Of random hex digits, the share that is letters. */
const lettersShare = 6 / 16;
const lettersTolerance = 0.175;
/** Fewer digits do not tell. */
const digitsToTell = 100;
/** Digits of a name that matter for its position. */
const digitsMax = 13;

/**
 * Tells whether the names of a page are spread over the key space as hashes are: evenly from where the page begins,
 * and at random. Only then do they tell how many there are beyond the page.
 *
 * @param part.after where the page was requested to begin. null: at the first name of the path.
 * @param part.folder the folder, with its slash, in which the names are looked at.
 * @returns true also if the names are too few to tell.
 */
export function areSpreadEvenly(
  names: ListedNames,
  { after, folder }: { after: string | null; folder: string },
): boolean {
  const { count } = names;
  const positionOfIndex = (index: number) => positionBelow(folder, names.at(index));
  const from = after === null || compareKeys(after, folder) < 0 ? 0 : positionBelow(folder, after);
  const width = positionOfIndex(count - 1) - from;
  if (width <= 0 || repeatsFolder(names, folder)) return false;
  const step = Math.max(1, Math.floor(count / positionsWanted));
  const tolerance = positionTolerance / Math.sqrt(count) + 1 / count;
  for (let index = 0; index < count; index += step) {
    const expected = (index + 1) / count;
    if (Math.abs((positionOfIndex(index) - from) / width - expected) > tolerance) return false;
  }
  const inARow = lastNames(names, gapsWanted + 1).map((name) => name.slice(folder.length));
  return haveRandomGaps(inARow) && haveRandomDigits(inARow);
}

/** Numbers in a row are spread evenly too, but their gaps are equal. */
function haveRandomGaps(names: readonly string[]): boolean {
  const positions = names.map(positionOf);
  const gaps = positions.slice(1).map((position, index) => position - (positions[index] ?? 0));
  if (gaps.length === 0) return true;
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const shortShare = gaps.filter((gap) => gap < mean).length / gaps.length;
  return Math.abs(shortShare - shortGapsShare) <= gapTolerance / Math.sqrt(gaps.length);
}

/** Decimal numbers have no letters among their digits. Looks at the digits after those in which names in a row agree. */
function haveRandomDigits(names: readonly string[]): boolean {
  const [first = '', last = ''] = [names[0], names.at(-1)];
  let agreed = 0;
  while (agreed < last.length && first[agreed] === last[agreed]) agreed += 1;
  const digits = names
    .map((name) => /^[0-9a-f]*/.exec(name)?.[0].slice(agreed + 1, digitsMax) ?? '')
    .join('');
  const letters = digits.replaceAll(/[0-9]/g, '').length;
  return digits.length < digitsToTell || Math.abs(letters / digits.length - lettersShare) <= lettersTolerance;
}

function lastNames(names: ListedNames, wanted: number): string[] {
  const count = Math.min(wanted, names.count);
  return Array.from({ length: count }, (_, index) => names.at(names.count - count + index));
}

/** `data/00/00ab…`: a folder for the first digits of hashes. Such names fill only a small part of the key space. */
function repeatsFolder(names: ListedNames, folder: string): boolean {
  const digits = folder.slice(folder.lastIndexOf('/', folder.length - 2) + 1, -1);
  return (
    digits !== '' &&
    [names.at(0), names.at(names.count - 1)].every((name) => name.startsWith(folder + digits))
  );
}

/**
 * What the pages of a scan tell about its folders: whether positions tell where the names are, and how dense they are
 * then. The path itself has the empty name.
 */
export class FolderDensities {
  /** Folder → its estimator, for each folder with positions of its own. */
  readonly #densities = new Map([['', new DensityEstimator()]]);
  /** Folders below which names proved to be spread evenly. */
  readonly #even = new Set<string>();
  /** Folders that seemed to be even, and were not. */
  readonly #uneven = new Set<string>();

  of({ folder = '' }: KeyRange): DensityEstimator {
    const known = this.#densities.get(folder);
    if (known) return known;
    const density = new DensityEstimator();
    this.#densities.set(folder, density);
    return density;
  }

  /** True if positions tell where the names of a range are. */
  isEven(range: OpenRange, { names, sample }: { names: ListedNames; sample: Sample }): boolean {
    const { after, folder = '', isUneven = false } = range;
    if (isUneven || this.#uneven.has(folder)) return false;
    const isKnown = this.#even.has(folder);
    if (isKnown && !this.of(range).contradicts(sample)) return true;
    const isEven = areSpreadEvenly(names, { after, folder });
    if (isEven) this.#even.add(folder);
    else if (isKnown && sample.width > 0) this.#uneven.add(folder);
    return isEven;
  }

  noteEven(folder: string): void {
    this.#even.add(folder);
  }

  /** True of a range in a folder that seemed to be even, and was not. */
  isRefuted({ folder = '' }: KeyRange): boolean {
    return this.#uneven.has(folder);
  }

  /** True once a page showed that names are spread evenly somewhere. */
  get hasEven(): boolean {
    return this.#even.size > 0;
  }
}

/** If two densities differ by more standard errors than this, the keys are not spread evenly. */
const evenWithinSigmas = 4;

/** Hashes never make a page denser than another by this much. */
const unevenRatio = 1.5;

/** If keys are skewed, the density is trusted for this many keys ahead. A dense spot may end anywhere. */
const skewedKeysMax = 10_000;

/** Estimates the density of keys from the pages that were read. From `n` keys, its standard error is 1/√n. */
class DensityEstimator {
  #keys = 0;
  #width = 0;

  /** Adds a part of the key space that was counted. Each part may be added once. */
  add(sample: Sample): void {
    this.#keys += sample.keys;
    this.#width += sample.width;
  }

  /** True if a part is so much denser or thinner than all parts together that its keys can hardly be spread evenly. */
  contradicts(part: Sample): boolean {
    if (this.#width === 0 || part.width === 0) return true;
    const ratio = part.keys / part.width / (this.#keys / this.#width);
    const isFar = Math.max(ratio, 1 / ratio) > unevenRatio;
    return isFar && Math.abs(ratio - 1) > evenWithinSigmas / Math.sqrt(Math.max(1, part.keys));
  }

  /**
   * Estimates how many keys a range holds.
   *
   * For hashes, all pages together give the best density. If the part right before the range differs from them, keys
   * are skewed, and only that part is used.
   *
   * @param before the part right before the range, which was just counted.
   */
  estimate(range: KeyRange, before: Sample): Estimate {
    const width = widthOf(range);
    const own = before.keys / Math.max(1, before.width);
    const pooled = this.#width > 0 ? this.#keys / this.#width : own;
    const ownError = 1 / Math.sqrt(Math.max(1, before.keys));
    const isEven = Math.abs(own - pooled) <= evenWithinSigmas * ownError * pooled;
    if (!isEven) {
      const keys = Math.min(skewedKeysMax, own * width);
      return { keys, relativeError: ownError, reach: keys / own };
    }
    return { keys: pooled * width, relativeError: 1 / Math.sqrt(Math.max(1, this.#keys)) };
  }
}
