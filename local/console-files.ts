import { packConsole } from '../console/build/pack.ts';
import type { ConsoleFiles, PackedConsole } from '../lambda/ports/console-files.ts';

/** Loopback is fast: what counts is when the page is there. */
const quality = 4;

/** The console, built from its source when somebody first opens it. */
export function builtConsoleFiles(): ConsoleFiles {
  let files: PackedConsole | undefined;
  return {
    async read() {
      files ??= packConsole({ quality });
      return files;
    },
  };
}
