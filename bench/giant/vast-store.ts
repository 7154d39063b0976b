import { compareKeys } from '../../lambda/domain/key-order.ts';
import type { ListedPage, ListPageRequest, ObjectListing } from '../../lambda/ports/object-listing.ts';
import type { ObjectStore, StoredObject } from '../../lambda/ports/object-store.ts';

interface Entry {
  readonly name: string;
  readonly sizeBytes: number;
  readonly lastModifiedMs: number;
}

const digits = 13;
const keySpaceSize = 16 ** digits;

/**
 * A store with any number of objects below one prefix. Their names are computed: one in each of as many equal parts of
 * the key space. Objects can be put beside them, and any can be deleted.
 */
export class VastStore implements ObjectStore, ObjectListing {
  readonly #prefix: string;
  readonly #count: number;
  readonly #storedAtMs: number;
  readonly #removed = new Set<string>();
  /** In the order of their names. */
  #added: Entry[] = [];
  objectCount: number;
  storedBytes: number;
  lists = 0;
  heads = 0;

  /** @param input.storedAtMs what the store says of when the computed ones were put. */
  constructor(input: { prefix: string; count: number; storedAtMs: number }) {
    this.#prefix = input.prefix;
    this.#count = input.count;
    this.#storedAtMs = input.storedAtMs;
    this.objectCount = input.count;
    const rest = input.count % 1000;
    this.storedBytes =
      input.count * 1000 + Math.floor(input.count / 1000) * 499_500 + (rest * (rest - 1)) / 2;
  }

  /** The name of the i-th computed object: somewhere in the i-th part. */
  nameOf(index: number): string {
    const part = keySpaceSize / this.#count;
    const within = ((index * 2654435761) % 2 ** 32) / 2 ** 32;
    const position = Math.floor((index + within) * part);
    return position
      .toString(16)
      .padStart(digits, '0')
      .padEnd(64, (index % 16).toString(16));
  }

  put(name: string, object: { sizeBytes: number; lastModifiedMs: number }): void {
    const at = this.#added.findIndex((entry) => compareKeys(entry.name, name) >= 0);
    this.#added.splice(at < 0 ? this.#added.length : at, 0, { name, ...object });
    this.objectCount += 1;
    this.storedBytes += object.sizeBytes;
  }

  async head(key: string): Promise<StoredObject | undefined> {
    this.heads += 1;
    const found = this.#find(key.slice(this.#prefix.length));
    return found && { ...found, sha256: undefined };
  }

  async delete(keys: readonly string[]): Promise<Map<string, never>> {
    for (const key of keys) this.#delete(key);
    return new Map<string, never>();
  }

  #delete(key: string): void {
    const name = key.slice(this.#prefix.length);
    const found = this.#find(name);
    if (!found) return;
    if (this.#added.includes(found)) this.#added = this.#added.filter((entry) => entry !== found);
    else this.#removed.add(name);
    this.objectCount -= 1;
    this.storedBytes -= found.sizeBytes;
  }

  #find(name: string): Entry | undefined {
    const added = this.#added.find((entry) => entry.name === name);
    if (added) return added;
    const index = this.#indexAfter(name) - 1;
    return index >= 0 && this.nameOf(index) === name && !this.#removed.has(name)
      ? this.#entry(index)
      : undefined;
  }

  #entry(index: number): Entry {
    return { name: this.nameOf(index), sizeBytes: 1000 + (index % 1000), lastModifiedMs: this.#storedAtMs };
  }

  /** The first computed object after a name. */
  #indexAfter(name: string): number {
    if (name === '') return 0;
    const position = Number.parseInt(name.slice(0, digits).padEnd(digits, '0'), 16);
    let index = Math.max(0, Math.floor(position / (keySpaceSize / this.#count)) - 1);
    while (index < this.#count && compareKeys(this.nameOf(index), name) <= 0) index += 1;
    return index;
  }

  async listPage({ prefix, startAfter, maxKeys = 1000 }: ListPageRequest): Promise<ListedPage> {
    if (!this.#prefix.startsWith(prefix)) throw new RangeError(`Nothing is stored below "${prefix}".`);
    this.lists += 1;
    const after = startAfter?.slice(this.#prefix.length) ?? '';
    const first = this.#indexAfter(after);
    const keysMax = Math.min(maxKeys, 1000);
    const last = Math.min(this.#count, first + keysMax);
    const next = this.#added.findIndex((entry) => compareKeys(entry.name, after) > 0);
    const isPlain = next < 0 || last < this.#count ? this.#isPlain(next, last) : false;
    if (isPlain && this.#removed.size === 0) return this.#plainPage(first, last);
    return this.#mergedPage({ first, after, keysMax });
  }

  /** Whether no other object lies before the end of the page. */
  #isPlain(next: number, last: number): boolean {
    const entry = this.#added[next];
    return !entry || compareKeys(entry.name, this.nameOf(last - 1)) > 0;
  }

  #plainPage(first: number, last: number): ListedPage {
    let totalBytes = 0;
    for (let index = first; index < last; index += 1) totalBytes += 1000 + (index % 1000);
    return {
      keyCount: last - first,
      totalBytes,
      keyAt: (index) => this.#prefix + this.nameOf(first + index),
      sizeAt: (index) => 1000 + ((first + index) % 1000),
      lastModifiedMsAt: () => this.#storedAtMs,
      etagAt: () => '',
      isTruncated: last < this.#count,
      nextContinuationToken: undefined,
    };
  }

  #mergedPage(input: { first: number; after: string; keysMax: number }): ListedPage {
    const { first, after, keysMax } = input;
    const added = this.#added.filter((entry) => compareKeys(entry.name, after) > 0).slice(0, keysMax);
    const entries: Entry[] = [];
    let index = first;
    while (entries.length < keysMax && (index < this.#count || added.length > 0)) {
      const [other] = added;
      const own = index < this.#count ? this.#entry(index) : undefined;
      if (own && (!other || compareKeys(own.name, other.name) < 0)) {
        index += 1;
        if (!this.#removed.has(own.name)) entries.push(own);
      } else if (other) {
        entries.push(other);
        added.shift();
      }
    }
    const at = (position: number) => {
      const entry = entries[position];
      if (!entry) throw new RangeError(`The page has ${entries.length} keys, none at ${position}.`);
      return entry;
    };
    return {
      keyCount: entries.length,
      totalBytes: entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      keyAt: (position) => this.#prefix + at(position).name,
      sizeAt: (position) => at(position).sizeBytes,
      lastModifiedMsAt: (position) => at(position).lastModifiedMs,
      etagAt: () => '',
      isTruncated: index < this.#count || added.length > 0,
      nextContinuationToken: undefined,
    };
  }

  async listFolders({ prefix }: { prefix: string }) {
    this.lists += 1;
    return {
      commonPrefixes: this.#prefix.startsWith(prefix) ? [this.#prefix] : [],
      keys: [],
      nextContinuationToken: undefined,
    };
  }
}
