import { readFile } from 'node:fs/promises';
import type { ConsoleFiles, PackedConsole } from '../../ports/console-files.ts';

/** The files that a deployment puts beside the function's bundle. They are read once a container. */
export function createConsoleFiles(file: URL = new URL('console.json', import.meta.url)): ConsoleFiles {
  let files: Promise<PackedConsole> | undefined;
  return {
    read() {
      files ??= readFile(file, 'utf8').then((text): PackedConsole => JSON.parse(text));
      return files;
    },
  };
}
