import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { ClassicLevel } from 'classic-level';

/**
 * Opens a data folder, and dies before the n-th step that changes something on the disk. Prints how many there were.
 *
 * node --import tsx converting-child.ts FOLDER [N]
 */
const [, , folder = '', last = 'none'] = process.argv;
let steps = 0;

function countCallsOf(owner: object, names: readonly string[]): void {
  const methods = owner as Record<string, (...args: unknown[]) => unknown>;
  for (const name of names) {
    const method = methods[name];
    if (method === undefined) throw new Error(`There is no ${name}.`);
    methods[name] = function (this: unknown, ...args) {
      steps += 1;
      if (String(steps) === last) process.kill(process.pid, 'SIGKILL');
      return method.apply(this, args);
    };
  }
}

countCallsOf(fs, ['open', 'rename', 'rm', 'mkdir', 'writeFile', 'link']);
countCallsOf(ClassicLevel.prototype, ['open', 'batch', 'close']);
syncBuiltinESMExports();

const { openDataFolder } = await import('../../local/data/data-folder.ts');
const { release } = await openDataFolder(folder);
process.stdout.write(String(steps));
await release();
