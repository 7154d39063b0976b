/** Names of each page that are noted. */
const namesNotedPerPage = 16;
/** Different characters that are noted for a place. */
const charactersMax = 64;

/** Characters that are compared to estimate a distance. */
const digitsMax = 200;

/** Characters that are likely to be used up to the last one if the first ones are. */
const rows = ['0123456789', 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];

/** The names that a page lists, in order. Each is decoded when it is read. */
export interface ListedNames {
  readonly count: number;
  at(index: number): string;
}

/** A place in a name: which character of which part of the path. Both count from 0. */
export interface Place {
  readonly depth: number;
  readonly index: number;
}

/** The characters of a name, each with its place. */
export interface PlacedCharacter extends Place {
  readonly character: string;
}

/** Splits a name into characters (code points). */
export function charactersOf(name: string): PlacedCharacter[] {
  let depth = 0;
  let index = -1;
  return Array.from(name, (character) => {
    index += 1;
    const place = { character, depth, index };
    if (character === '/') {
      depth += 1;
      index = -1;
    }
    return place;
  });
}

/** The characters that the names seen so far have at each place. */
export class Alphabet {
  readonly #seen = new Map<string, Set<string>>();
  /** Place → the first character of its row that no name proved to reach. */
  readonly #unreached = new Map<string, string>();

  /** Notes some names of a page. */
  note(names: ListedNames): void {
    const step = Math.max(1, Math.floor((names.count - 1) / (namesNotedPerPage - 1)));
    for (let index = 0; index < names.count; index += step) {
      for (const { character, ...place } of charactersOf(names.at(index))) {
        const key = keyOf(place);
        const characters = this.#seen.get(key) ?? new Set();
        this.#seen.set(key, characters);
        if (characters.size < charactersMax) characters.add(character);
      }
    }
  }

  /** Notes that no name of a folder had this character or a later one at a place. Others will not be expected to. */
  noteUnreached({ character, ...place }: PlacedCharacter): void {
    const known = this.#unreached.get(keyOf(place));
    if (known === undefined || isAfter(known, character)) this.#unreached.set(keyOf(place), character);
  }

  /**
   * Characters at a place that names may have between two others: those that were seen, and those in the same row of
   * digits or letters, up to where names were found to end.
   *
   * @param between.below undefined: there is no upper end.
   * @returns in order.
   */
  between(place: Place, { above, below }: { above: string; below: string | undefined }): string[] {
    const seen = this.#seen.get(keyOf(place)) ?? [];
    const row = rows.find((characters) => characters.includes(above)) ?? '';
    const unreached = this.#unreached.get(keyOf(place));
    const expected = [...row].filter((character) => unreached === undefined || isAfter(unreached, character));
    return [...new Set([...seen, ...expected])]
      .filter((character) => isAfter(character, above) && (below === undefined || isAfter(below, character)))
      .sort((a, b) => (isAfter(a, b) ? 1 : -1));
  }

  /**
   * The position of a name's end, from 0 to 1, among all that could stand from a place on: its characters are the digits
   * of a number whose base is the number of characters that a place may have.
   */
  fraction(characters: readonly PlacedCharacter[], from: number): number {
    let fraction = 0;
    let unit = 1;
    for (const { character, ...place } of characters.slice(from, from + digitsMax)) {
      const all = [...(this.#seen.get(keyOf(place)) ?? [])];
      // One more, for characters that were not seen.
      unit /= all.length + 1;
      fraction += unit * all.filter((other) => isAfter(character, other)).length;
    }
    return fraction;
  }

  /** How much of the names that are possible lies between two names, from 0 to 1. Without an end: more than all. */
  span(from: string, to: string | null): number {
    return to === null ? 2 : this.fraction(charactersOf(to), 0) - this.fraction(charactersOf(from), 0);
  }

  /** True if names were seen to differ at a place. */
  varies(place: Place): boolean {
    return (this.#seen.get(keyOf(place))?.size ?? 0) > 1;
  }
}

function isAfter(a: string, b: string): boolean {
  return (a.codePointAt(0) ?? 0) > (b.codePointAt(0) ?? 0);
}

function keyOf({ depth, index }: Place): string {
  return `${depth}:${index}`;
}
