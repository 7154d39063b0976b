import { compareKeys } from '../../rules/names.ts';
import { pageKeysMax } from '../../store/rules/store.ts';
import type { KeyRange } from './key-space.ts';

/** A range in which nothing is counted yet. */
export interface OpenRange extends KeyRange {
  /** Its names are not spread evenly: their positions tell nothing. */
  readonly isUneven?: true;
  /** Of a scan that is continued: the store's own mark of where its listing ended. It replaces `after`. */
  readonly continuationToken?: string;
}

/** One page to request. */
export interface PageTask {
  readonly range: OpenRange;
  /** Pages that the range is expected to take, including this one. */
  readonly pages: number;
  /** Keys to request. */
  readonly keysMax: number;
  /** Where the last cut of uneven names was made to begin the range, or the range that it is left of. */
  readonly level?: number;
  /** How much of the names that are possible the range covers, if its names are uneven. */
  readonly span?: number;
  /** The cut that began the range, if this is its first page. */
  readonly cut?: SplitPoint;
}

/** What a page contained. */
export interface PageResult {
  /** Keys of the page that are in the range. */
  readonly keyCount: number;
  /** The part of the range that is still to be listed. undefined: none. */
  readonly rest: OpenRange | undefined;
  /** The folder, with its slash, that contains all keys of the page. Empty: there is no such folder. */
  readonly folder?: string;
  /** The names of the page that are in the range. Needed if it has any, and there is a rest. */
  readonly names?: ListedNames;
}

/** The pages of a scan that wait to be requested, in this order, and those that were requested and are awaited. */
export class OpenTasks {
  readonly #concurrency: number;
  readonly #waiting: PageTask[] = [];
  readonly #running = new Set<PageTask>();

  /** @param concurrency requests at a time, at most. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** The next page to request. undefined: none can be requested now. */
  take(): PageTask | undefined {
    if (this.#running.size >= this.#concurrency) return undefined;
    const task = this.#waiting.shift();
    if (task !== undefined) this.#running.add(task);
    return task;
  }

  add(task: PageTask): void {
    this.#waiting.push(task);
  }

  /** The page was received. */
  end(task: PageTask): void {
    this.#running.delete(task);
  }

  /** The page was not received: it is the next to request. */
  putBack(task: PageTask): void {
    this.#running.delete(task);
    this.#waiting.unshift(task);
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  get isEmpty(): boolean {
    return this.#waiting.length + this.#running.size === 0;
  }

  /** Requests that may be added to those that run or wait. */
  get idle(): number {
    return this.#concurrency - this.#running.size - this.#waiting.length;
  }

  /** The ranges that are not listed yet. */
  ranges(): OpenRange[] {
    return [...this.#running, ...this.#waiting].map((task) => task.range);
  }

  /** Ranges of uneven names that cover more of the names that are possible. */
  widerThan(span: number): number {
    let wider = 0;
    for (const tasks of [this.#running, this.#waiting])
      for (const task of tasks) if ((task.span ?? 0) > span) wider += 1;
    return wider;
  }
}

/** Cuts that are allowed for each full page, of the first pages and of those after them. */
const cutsPerPage = 0.25;
const firstPages = 100;
const cutsPerLaterPage = 0.1;
/** Cuts that are allowed in addition. The first cut comes after two full pages. */
const cutsAtFirst = 0.5;

/**
 * How many cuts a scan may make where nothing tells how many names there are. Each costs at most one request: the last
 * page of the part before it is not full, or the part after it is empty. So requests stay in proportion to pages,
 * whatever the names are.
 */
export class CutBudget {
  #pages = 0;
  #cuts = 0;

  /** Notes a page after which the range goes on. */
  addFullPage(): void {
    this.#pages += 1;
  }

  /** Notes cuts, or requests that cost as much. */
  spend(cuts: number): void {
    this.#cuts += cuts;
  }

  /** How many cuts may be made now. Not above 0: none. */
  get room(): number {
    const early = Math.min(this.#pages, firstPages);
    const allowed = cutsAtFirst + cutsPerPage * early + cutsPerLaterPage * (this.#pages - early);
    return Math.floor(allowed - this.#cuts);
  }
}

/**
 * The ranges of a scan whose names are not spread evenly, so that positions do not tell how many keys they hold. They
 * are cut where the names of the pages so far make names on both sides likely: the widest range first, and only as
 * often as the budget allows.
 *
 * Listing folders with a delimiter would find cuts immediately, but such a request counts nothing.
 */
export class UnevenRanges {
  readonly #tasks: OpenTasks;
  readonly #alphabet = new Alphabet();
  readonly #budget = new CutBudget();
  #found = false;

  /** @param tasks of the scan. New ones are added to them. */
  constructor(tasks: OpenTasks) {
    this.#tasks = tasks;
  }

  /** True once the scan met uneven names. */
  get found(): boolean {
    return this.#found;
  }

  /** Notes that a scan before this one met them. */
  noteFound(): void {
    this.#found = true;
  }

  /** Notes a page, of even or uneven names. */
  notePage({ range, cut }: PageTask, { keyCount, rest, names }: PageResult): void {
    if (rest !== undefined && keyCount > 0) this.#budget.addFullPage();
    if (range.isUneven && cut) noteCut(this.#alphabet, cut, names?.count ? names.at(0) : undefined);
  }

  /** Notes requests that a cut elsewhere may cost. */
  spend(requests: number): void {
    this.#budget.spend(requests);
  }

  /** Continues a range after one of its pages, or cuts it. */
  follow(task: PageTask, rest: OpenRange, names: ListedNames): void {
    this.#alphabet.note(names);
    const { folder: _, ...range } = rest;
    const [first, after] = [names.at(0), names.at(names.count - 1)];
    this.#addCut({ range, ...(task.level !== undefined && { level: task.level }) }, { first, after });
  }

  /** What comes after a folder of hashes. Nothing is known of it but the folder's own name. */
  followBeyond(range: OpenRange, names: ListedNames): void {
    this.#alphabet.note(names);
    const folder = (range.after ?? '').slice(0, -1);
    this.#addCut({ range, level: [...folder].length }, { first: `${folder}/`, after: range.after ?? '' });
  }

  #addCut(open: Pick<PageTask, 'range' | 'level'>, page: { first: string; after: string }): void {
    const { range, ...level } = open;
    const span = this.#alphabet.span(page.after, range.last);
    const mayCut = this.#tasks.idle > 1 && this.#budget.room > this.#tasks.widerThan(span);
    const cut = mayCut ? splitPoint(this.#alphabet, { ...page, last: range.last, ...level }) : undefined;
    if (cut === undefined) {
      // If the widest range cannot be cut, the others may.
      this.#add({ ...open, span: mayCut ? 0 : span });
      return;
    }
    this.#budget.spend(1);
    this.#add({
      range: { ...range, last: cut.name },
      ...level,
      span: this.#alphabet.span(page.after, cut.name),
    });
    this.#add({
      range: { ...range, after: cut.name },
      level: cut.level,
      cut,
      span: this.#alphabet.span(cut.name, range.last),
    });
  }

  #add({ range, ...cut }: Pick<PageTask, 'range' | 'level' | 'cut' | 'span'>): void {
    this.#found = true;
    this.#tasks.add({ range: { ...range, isUneven: true }, pages: 1, keysMax: pageKeysMax, ...cut });
  }
}

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
interface Place {
  readonly depth: number;
  readonly index: number;
}

/** The characters of a name, each with its place. */
interface PlacedCharacter extends Place {
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

/** Pages that the rest of a range must be expected to hold at least, to be worth a cut. */
const pagesToSplit = 2;

interface SplitInput {
  /** First and last name of the page. */
  readonly first: string;
  readonly after: string;
  /** The end of the range. null: it has none. */
  readonly last: string | null;
  /** Where the cut was made that began the range. See {@link SplitPoint.level}. */
  readonly level?: number;
}

interface SplitPoint {
  /** The range is cut after this name. */
  readonly name: string;
  /** The place of the character by which the cut jumps ahead. The smaller, the farther. */
  readonly level: number;
}

/**
 * Finds a name between the last name of a page and the end of its range, where names are likely on both sides. It
 * takes the name of the page, and raises one of its characters to one in the middle of those that are still possible
 * there.
 *
 * With an end, that is the first character by which the two differ. Without one, it jumps from the end of the name
 * towards its beginning: past the files, the folder, the folder above. Each range that such a jump begins jumps
 * farther.
 *
 * @returns undefined if there is no such place.
 */
export function splitPoint(alphabet: Alphabet, input: SplitInput): SplitPoint | undefined {
  const characters = charactersOf(input.after);
  const step = sameCharacters(characters, input.first);
  const found =
    input.last === null
      ? jumpAhead(alphabet, characters, { step, level: input.level ?? step })
      : halve(alphabet, characters, { step, first: input.first, last: input.last });
  if (found === undefined || compareKeys(found.name, input.after) <= 0) return undefined;
  return input.last !== null && compareKeys(found.name, input.last) >= 0 ? undefined : found;
}

function jumpAhead(
  alphabet: Alphabet,
  characters: readonly PlacedCharacter[],
  { step, level }: { step: number; level: number },
): SplitPoint | undefined {
  let nearest: SplitPoint | undefined;
  for (let at = Math.min(step, level, characters.length) - 1; at >= 0; at -= 1) {
    const found = raise(alphabet, characters, { at });
    if (found) return found;
  }
  for (let at = 0; at < Math.min(step, characters.length) && !nearest; at += 1) {
    nearest = raise(alphabet, characters, { at });
  }
  return nearest;
}

function halve(
  alphabet: Alphabet,
  characters: readonly PlacedCharacter[],
  { step, first, last }: { step: number; first: string; last: string },
): SplitPoint | undefined {
  const at = sameCharacters(characters, last);
  const end = [...last][at];
  const place = characters[at];
  // The page went farther than the range goes on.
  if (place === undefined || end === undefined || step < at) return undefined;
  const fractionOf = (name: string) => alphabet.fraction(charactersOf(name), at);
  const here = alphabet.fraction(characters, at);
  const passed = here - fractionOf(first);
  if (fractionOf(last) - here < pagesToSplit * passed) return undefined;
  const isWorth = ({ name }: SplitPoint) => fractionOf(name) - here >= passed;
  const between = alphabet.between(place, { above: place.character, below: end });
  const middle = between[Math.floor(between.length / 2)];
  if (middle !== undefined) {
    const found = { name: nameUpTo(characters, at) + middle, level: at };
    if (isWorth(found)) return found;
  }
  for (let deeper = at + 1; deeper <= step; deeper += 1) {
    const found =
      characters[deeper]?.character === '/' ? undefined : raise(alphabet, characters, { at: deeper });
    if (found && isWorth(found)) return found;
  }
  return undefined;
}

/** Raises the character at a place, if names are likely to differ there. */
function raise(
  alphabet: Alphabet,
  characters: readonly PlacedCharacter[],
  { at }: { at: number },
): SplitPoint | undefined {
  const place = characters[at];
  if (place === undefined) return undefined;
  const { character } = place;
  // The character after the slash: all names of the folder come before it.
  if (character === '/') return { name: `${nameUpTo(characters, at)}0`, level: at };
  if (place.index > 0 && !/[0-9]/.test(character) && !alphabet.varies(place)) return undefined;
  const above = alphabet.between(place, { above: character, below: undefined });
  const middle = above[Math.floor(above.length / 2)];
  return middle === undefined ? undefined : { name: nameUpTo(characters, at) + middle, level: at };
}

function nameUpTo(characters: readonly PlacedCharacter[], end: number): string {
  return characters
    .slice(0, end)
    .map(({ character }) => character)
    .join('');
}

/** Tells the alphabet if the names after a cut are in another folder or none: it went beyond the last ones. */
export function noteCut(alphabet: Alphabet, cut: SplitPoint, firstAfter: string | undefined): void {
  const characters = charactersOf(cut.name);
  const raised = characters[cut.level];
  if (raised === undefined || firstAfter?.startsWith(nameUpTo(characters, cut.level))) return;
  alphabet.noteUnreached(raised);
}

function sameCharacters(characters: readonly PlacedCharacter[], name: string): number {
  const others = [...name];
  let same = 0;
  while (same < others.length && characters[same]?.character === others[same]) same += 1;
  return same;
}
