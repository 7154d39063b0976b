import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { StoreDamage } from '../../lambda/frame/gauges/rules/gauges.ts';
import { errorCode } from '../system/durable-file.ts';
import { DamagedFileError } from './object-file.ts';

/** Files that are told of, beside objects that were served until then. */
const toldMax = 20;

/** A file that is ignored, or was moved away for an error. It had an object if there is a key. */
export interface DamagedFile {
  readonly file: string;
  readonly error?: unknown;
  readonly key?: string;
}

/** Whether an error is of the file. Others are of this process, such as too many open files. */
export const isOfFile = (error: unknown) =>
  error instanceof DamagedFileError ||
  /^E(?!MFILE|NFILE|NOMEM|AGAIN|PIPE|CONN|HOST|NET|STALE|TIMEDOUT|RR_)[A-Z]+$/.test(errorCode(error) ?? '');

/** What is wrong in the store's folder. None of it stops anything else. */
export class Damage {
  /** Called with the key of each object that is lost. */
  onLoss: (key: string) => void = () => {};
  readonly #folder: string;
  readonly #tell: (file: DamagedFile) => void;
  #told = 0;
  /** Objects that could not be read, and have no whole file since. */
  readonly lost = new Set<string>();
  #foreign = 0;
  #unmoved = 0;

  constructor(storeFolder: string, tell: (file: DamagedFile) => void) {
    this.#folder = path.join(storeFolder, 'set-aside');
    this.#tell = tell;
  }

  /** Notes what has no name of ours. */
  ignore(file: string): void {
    this.#foreign += 1;
    this.#tellOf({ file });
  }

  /** Removes what nobody needs any more. What can't be removed is told of. */
  remove(file: string): void {
    try {
      rmSync(file, { recursive: true, force: true });
    } catch (error) {
      this.setAside({ file, error });
    }
  }

  /** Moves away what has a name of ours, if it's there: it would be in the way of a good one. */
  setAside(damaged: DamagedFile): void {
    const { file, key } = damaged;
    try {
      // It may be whole, for another user.
      if (['EACCES', 'EPERM'].includes(errorCode(damaged.error) ?? '')) throw damaged.error;
      mkdirSync(this.#folder, { recursive: true });
      const name = path.relative(path.dirname(this.#folder), file).replaceAll(path.sep, '-');
      renameSync(file, path.join(this.#folder, name));
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') this.#unmoved += 1;
    }
    this.#tellOf(damaged);
    if (key === undefined) return;
    this.lost.add(key);
    this.onLoss(key);
  }

  async read(): Promise<StoreDamage> {
    const { length } = await readdir(this.#folder).catch(() => []);
    return { lost: this.lost.size, damaged: length + this.#unmoved, foreign: this.#foreign };
  }

  #tellOf(file: DamagedFile): void {
    if (file.key === undefined) this.#told += 1;
    if (file.key !== undefined || this.#told <= toldMax) this.#tell(file);
  }
}
