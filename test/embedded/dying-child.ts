import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { ClassicLevel } from 'classic-level';

/**
 * Does something with a data folder, and dies before the n-th step that changes something on the disk. Prints how many there
 * were.
 *
 * node --import tsx dying-child.ts open|restore|backup FOLDER N|none [BACKUP]
 */
const [, , what = '', folder = '', last = '', backup = ''] = process.argv;
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

const works: Record<string, () => Promise<unknown>> = {
  open: async () => {
    const { openDataFolder } = await import('../../local/data/data-folder.ts');
    await (await openDataFolder(folder)).release();
  },
  restore: async () => {
    const { restoreBackup } = await import('../../local/data/backups.ts');
    const { fileText } = await import('../../local/backup/backup-file.ts');
    await restoreBackup(folder, fileText(backup), { nowMs: 0, uploadsFromMs: 0 });
  },
  backup: async () => {
    const { backupOf } = await import('../../local/data/backups.ts');
    const { writeBackup } = await import('../../local/backup/backup-file.ts');
    await writeBackup(backup, backupOf(folder), async () => undefined);
  },
};
await works[what]?.();
process.stdout.write(String(steps));
