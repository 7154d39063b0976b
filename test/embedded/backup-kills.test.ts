import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileText, itemsIn, writeBackup } from '../../local/backup/backup-file.ts';
import { backupOf, restoreBackup } from '../../local/data/backups.ts';
import { openDataFolder } from '../../local/data/data-folder.ts';
import { openDatabase } from '../../local/data/database.ts';
import { useTempFolders } from '../support/temp-folder.ts';
import { dyingIn } from './dying-process.ts';

const tempFolder = useTempFolders();
const noOutput = async () => undefined;
const hold = { nowMs: 0, uploadsFromMs: 0 };

/** A backup of many items. */
async function backupIn(folder: string): Promise<{ data: string; file: string }> {
  const [data, file] = [join(folder, 'data'), join(folder, 'table.jsonl')];
  const { databasePath, release } = await openDataFolder(data);
  const database = await openDatabase(databasePath);
  const put = (index: number) =>
    database.client.send('PutItem', {
      TableName: database.tableName,
      Item: { pk: `P#${index}`, sk: 'ITEM' },
    });
  await Promise.all(Array.from({ length: 1_200 }, (_, index) => put(index)));
  await database.close();
  await release();
  expect(await writeBackup(file, backupOf(data), noOutput)).toBe(1_200);
  return { data, file };
}

async function countOf(file: string): Promise<number> {
  let count = 0;
  for await (const items of itemsIn(fileText(file))) count += items.length;
  return count;
}

/** What became of a process that died before a step, for each step of its work. */
async function eachStep<T>(steps: number, look: (step: number) => Promise<T>): Promise<Set<T>> {
  const seen = new Set<T>();
  for (let step = 1; step <= steps; step += 2)
    for (const each of await Promise.all([look(step), ...(step < steps ? [look(step + 1)] : [])]))
      seen.add(each);
  return seen;
}

describe('killed before any step of it', () => {
  it('a restore leaves a folder that is empty, refused with what to do, or right', async () => {
    const { file } = await backupIn(tempFolder());
    const dying = await dyingIn(tempFolder());
    const steps = await dying('restore', join(tempFolder(), 'new'), { backup: file });
    const seen = await eachStep(steps, async (step) => {
      const data = join(tempFolder(), 'data');
      const again = join(tempFolder(), 'again');
      const killed = dying('restore', data, { beforeStep: step, backup: file });
      await expect(killed).rejects.toMatchObject({ signal: 'SIGKILL' });
      const names = existsSync(data) ? readdirSync(data).filter((name) => !name.startsWith('lock')) : [];
      if (names.length === 0) return 'empty';
      if (!names.includes('format.json')) {
        await expect(openDataFolder(data)).rejects.toThrow('run it again: lfs-quota table restore');
        await expect(backupOf(data).next()).rejects.toThrow("isn't a data folder");
        await restoreBackup(data, fileText(file), hold);
      }
      // Whoever comes first: a server, or a backup.
      if (step % 2 === 0) await (await openDataFolder(data)).release();
      expect(await writeBackup(again, backupOf(data), noOutput)).toBe(1_200);
      await (await openDataFolder(data)).release();
      return names.includes('format.json') ? 'right' : 'refused';
    });
    expect(seen).toEqual(new Set(['empty', 'refused', 'right']));
  });

  it('a backup leaves no file or a whole one, and the table as it was', async () => {
    const { data } = await backupIn(tempFolder());
    const dying = await dyingIn(tempFolder());
    const steps = await dying('backup', data, { backup: join(tempFolder(), 'table.jsonl') });
    const seen = new Set<boolean>();
    for (let step = 1; step <= steps; step += 1) {
      const file = join(tempFolder(), 'table.jsonl');
      const killed = dying('backup', data, { beforeStep: step, backup: file });
      await expect(killed).rejects.toMatchObject({ signal: 'SIGKILL' });
      seen.add(existsSync(file));
      if (existsSync(file)) expect(await countOf(file)).toBe(1_200);
      expect(await writeBackup(file, backupOf(data), noOutput)).toBe(1_200);
    }
    expect(seen).toContain(false);
  });
});
