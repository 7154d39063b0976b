import type { ListedNames } from './alphabet.ts';
import { DensityEstimator, type Sample } from './estimate.ts';
import { areSpreadEvenly } from './evenness.ts';
import type { KeyRange } from './key-space.ts';
import type { OpenRange } from './page-task.ts';

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
