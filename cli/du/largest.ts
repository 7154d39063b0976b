import type { FolderSum } from './folder-parts.ts';

export interface Folder extends Readonly<FolderSum> {
  readonly folder: string;
}

/** By bytes, the largest first; of equal ones the first name. */
export function compareFolders(a: Folder, b: Folder): number {
  if (a.bytes !== b.bytes) return a.bytes > b.bytes ? -1 : 1;
  return a.folder < b.folder ? -1 : 1;
}

/** The largest of all folders that were offered, at most `max`: a heap with the smallest of them on top. */
export class Largest {
  readonly #max: number;
  readonly #heap: Folder[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** @param offered each folder once. */
  offer(offered: Folder): void {
    const [smallest] = this.#heap;
    if (this.#heap.length < this.#max) {
      this.#heap.push(offered);
      this.#rise(this.#heap.length - 1);
    } else if (smallest !== undefined && compareFolders(offered, smallest) < 0) {
      this.#heap[0] = offered;
      this.#sink(0);
    }
  }

  /** In no order. */
  get all(): readonly Folder[] {
    return this.#heap;
  }

  #rise(index: number): void {
    const parent = (index - 1) >>> 1;
    if (index > 0 && this.#swapIfSmaller(index, parent)) this.#rise(parent);
  }

  #sink(index: number): void {
    for (const child of this.#smallerFirst(2 * index + 1)) {
      if (!this.#swapIfSmaller(child, index)) return;
      this.#sink(child);
      return;
    }
  }

  /** Of two children the smaller one; none if there are none. */
  #smallerFirst(left: number): readonly number[] {
    const [a, b] = [this.#heap[left], this.#heap[left + 1]];
    if (a === undefined) return [];
    return [b !== undefined && compareFolders(a, b) < 0 ? left + 1 : left];
  }

  #swapIfSmaller(below: number, above: number): boolean {
    const [a, b] = [this.#heap[below], this.#heap[above]];
    if (a === undefined || b === undefined || compareFolders(a, b) < 0) return false;
    this.#heap[above] = a;
    this.#heap[below] = b;
    return true;
  }
}
