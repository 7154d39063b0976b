import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import type { CountedPart } from '../../lambda/core/scan/rules/scan-plan.ts';
import { errorCode } from '../../local/system/durable-file.ts';
import { CliError } from '../errors.ts';

const heading = 'key,bytes,last_modified,storage_class\n';
const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A new file with a row for each key, in no order: CSV of RFC 4180. */
export class KeyRows {
  readonly #name: string;
  readonly #file: number;
  #bytes = 0;

  /** @throws {CliError} */
  constructor(name: string) {
    this.#name = name;
    this.#file = this.#try(() => openSync(name, 'wx'));
    this.begin();
  }

  /** Without what was written before. */
  begin(): void {
    this.#try(() => ftruncateSync(this.#file));
    this.#bytes = 0;
    this.#write(heading);
  }

  add({ page, keyCount }: CountedPart): void {
    let text = '';
    for (let index = 0; index < keyCount; index += 1) {
      const storedMs = page.lastModifiedMsAt(index);
      const time = storedMs === undefined ? '' : new Date(storedMs).toISOString();
      const row = [quoted(page.keyAt(index)), page.sizeAt(index), time, page.storageClassAt?.(index) ?? ''];
      text += `${row.join(',')}\n`;
    }
    this.#write(text);
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(text: string): void {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; )
      at += this.#try(() => writeSync(this.#file, bytes, at, bytes.length - at, this.#bytes + at));
    this.#bytes += bytes.length;
  }

  #try<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      const message = code === 'EEXIST' ? `${this.#name} exists.` : `Can't write ${this.#name} (${code}).`;
      throw new CliError(message, { hint: 'Pass another file to --csv.', cause: error });
    }
  }
}
