import { type FileHandle, open } from 'node:fs/promises';
import type { StoredObject } from '../../lambda/domain/export/stored-object.ts';
import { readIfThere, writeDurably } from '../../local/system/durable-file.ts';

/** Hex digits of the oid in a line: enough to find a line that was not written as a whole. */
const checkDigits = 8;

/**
 * Which objects of an export lie in the archive, as a file to which a line is added for each. A line is written when the
 * object's bytes are on the disk: what it says holds after a kill and after a power cut.
 */
export class DoneList {
  readonly #archive: Pick<FileHandle, 'datasync'>;
  readonly #file: FileHandle;
  readonly #objects: readonly StoredObject[];
  readonly #onFailure: (error: unknown) => void;
  #waiting: number[] = [];
  #writing: Promise<void> | undefined;

  private constructor(input: {
    archive: Pick<FileHandle, 'datasync'>;
    file: FileHandle;
    objects: readonly StoredObject[];
    onFailure: (error: unknown) => void;
  }) {
    this.#archive = input.archive;
    this.#file = input.file;
    this.#objects = input.objects;
    this.#onFailure = input.onFailure;
  }

  /**
   * @param input.id the list of objects that the lines are about. A file about another one is begun anew.
   * @param input.isVoid nothing of the archive is there, whatever the file says.
   * @param input.onFailure called when a line cannot be written.
   * @returns the list, and the indices of the objects that it has already.
   */
  static async open(
    path: string,
    input: {
      id: string;
      archive: Pick<FileHandle, 'datasync'>;
      objects: readonly StoredObject[];
      isVoid: boolean;
      onFailure: (error: unknown) => void;
    },
  ): Promise<{ list: DoneList; done: ReadonlySet<number> }> {
    const { id, objects, isVoid } = input;
    const done = new Set(isVoid ? [] : indicesIn(await readIfThere(path), { id, objects }));
    // The last line may have been cut: what is added must not become a part of it.
    const lines = [...done].map((index) => lineOf(index, objects));
    await writeDurably(path, `${id}\n${lines.join('')}`);
    const list = new DoneList({ ...input, file: await open(path, 'a') });
    return { list, done };
  }

  /** Adds an object whose bytes were written. All that come while the disk is waited for are added together. */
  add(index: number): void {
    this.#waiting.push(index);
    this.#writing ??= this.#write().catch(this.#onFailure);
  }

  /** Waits for all that was added, and lets go of the file. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const indices = this.#waiting;
      this.#waiting = [];
      await this.#archive.datasync();
      await this.#file.appendFile(indices.map((index) => lineOf(index, this.#objects)).join(''));
      await this.#file.datasync();
    }
    this.#writing = undefined;
  }
}

function lineOf(index: number, objects: readonly StoredObject[]): string {
  return `${index} ${objects[index]?.oid.slice(0, checkDigits)}\n`;
}

function indicesIn(
  text: string | undefined,
  { id, objects }: { id: string; objects: readonly StoredObject[] },
): number[] {
  const [first, ...lines] = text?.split('\n') ?? [];
  if (first !== id) return [];
  return lines.slice(0, -1).flatMap((line) => {
    const index = Number.parseInt(line, 10);
    return objects[index] !== undefined && `${line}\n` === lineOf(index, objects) ? [index] : [];
  });
}
