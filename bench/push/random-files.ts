import { randomFillSync } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { PushCase } from './cases.ts';

const chunkBytes = 16 * 1024 * 1024;

/** Writes the files of a case: random bytes, other ones in each file. A folder holds a hundred of them. */
export async function writeRandomFiles(folder: string, { files, fileBytes }: PushCase): Promise<void> {
  const chunk = Buffer.alloc(Math.min(chunkBytes, fileBytes));
  for (let index = 0; index < files; index += 1) {
    const part = join(folder, `part-${Math.floor(index / 100)}`);
    mkdirSync(part, { recursive: true });
    const file = await open(join(part, `file-${index}.bin`), 'w');
    try {
      for (let written = 0; written < fileBytes; written += chunk.length) {
        randomFillSync(chunk);
        await file.write(chunk.subarray(0, Math.min(chunk.length, fileBytes - written)));
      }
    } finally {
      await file.close();
    }
  }
}
